//! The directory of a step: how a supervisor, process 1 and whoever drives the run find each other.
//! Format 1. A later version must attach to directories of every earlier format.
//!
//! `<data_dir>/steps/<run>/<node>-<execution>/` holds:
//!
//! | name | written by | holds |
//! |---|---|---|
//! | `format` | supervisor, first | the number of the format and a newline |
//! | `step.json` | supervisor, before process 1 | [`Facts`]: what a later supervisor must know; no secrets |
//! | `lock` | – | empty; every process of the step inherits it opened and locked (`flock`) |
//! | `supervisor` | supervisor | `<pid> <start time in ticks> <boot id>`; locked (`flock`) while it lives, by whoever started it at first |
//! | `status` | process 1 | lines, see [`Status`]; the mark `begun` is on disk before the tool is executed |
//! | `log` | supervisor | masked frames, see [`LOG_HEADER`] |
//! | `stop` | runner, supervisor | [`StopRequest`]: somebody asked the step to stop |
//! | `report.pending` | supervisor | the report, while processes of the step still end |
//! | `report` | supervisor, last | [`Report`]: the step is over and nothing of it lives |
//! | `root/` | supervisor | the step's own `/`, bound writable in the sandbox |
//! | `volumes/` | supervisor | volumes that end with the step, one directory each |
//! | `supervisor.err` | supervisor | its own complaints, usually empty |
//!
//! JSON files are replaced as a whole, by renaming.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use groundplan_engine::{action::StopReason, id::StepId, report::StepReport, time::Timestamp};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

pub use crate::log_file::LOG_HEADER;

/// The format that this version writes.
pub const FORMAT: u32 = 1;

/// The directory of one step.
#[derive(Clone, Debug)]
pub struct StepDir(PathBuf);

/// What a later supervisor must know of a step, secrets left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Which execution.
    pub step: StepId,
    /// Full node name, for messages.
    pub node_name: String,
    /// Its program, for messages.
    #[serde(default)]
    pub program: String,
    /// Where it starts, for messages.
    #[serde(default)]
    pub working_dir: String,
    /// Whether it runs in a sandbox.
    pub sandboxed: bool,
    /// When everything must have ended.
    pub deadline: Option<Timestamp>,
    /// How many milliseconds it may take to stop; none means for ever.
    pub grace_millis: Option<u64>,
    /// Whether standard output is taken as the result.
    pub result: ResultTake,
    /// Files to take.
    pub take: Vec<TakeFrom>,
    /// Names of the secrets that its output is masked with.
    pub needles: Vec<String>,
    /// Directories outside this one that go with the step.
    pub scratch: Vec<PathBuf>,
    /// Its control groups, where its resources are limited.
    pub cgroups: Vec<PathBuf>,
}

/// Whether standard output is taken, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultTake {
    /// It is only logged.
    No,
    /// It is taken.
    Plain,
    /// It is taken and stored encrypted.
    Sensitive,
}

/// A file to take, as a place on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeFrom {
    /// Output parameter's name.
    pub name: String,
    /// Path as the document names it, for messages.
    pub path: String,
    /// Directory that it must not leave; a relative one is below the step's.
    pub beneath: PathBuf,
    /// Path below that directory.
    pub relative: String,
    /// Whether a missing file is no fault.
    pub optional: bool,
    /// Whether the value is stored encrypted.
    pub sensitive: bool,
}

/// Somebody asked the step to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopRequest {
    /// Why.
    pub reason: StopReason,
    /// When.
    pub at: Timestamp,
    /// Whether it is not to be asked but killed.
    pub kill: bool,
}

/// The last word on a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// What the runner says of it.
    pub report: StepReport,
    /// Sensitive outputs by name, encrypted with the installation's key, as base64.
    #[serde(default)]
    pub sealed: BTreeMap<String, String>,
}

/// What process 1 wrote, line by line: `keeper <pid> <descriptors>` and `begun <at>` together,
/// `running <pid>`, and one of `exited <code> <at>`, `signaled <number> <at>`,
/// `failed <errno> <at>` (the tool could not be executed) and `nowhere <errno> <at>` (its working
/// directory could not be entered). Process ids are those within the sandbox,
/// times are milliseconds of the epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Who keeps the step's pipes and memory files, and under which numbers.
    pub keeper: Option<Keeper>,
    /// When the tool was about to be executed.
    pub begun: Option<Timestamp>,
    /// The tool's process.
    pub running: Option<i32>,
    /// How it ended.
    pub ended: Option<(ToolEnd, Timestamp)>,
}

/// How a tool ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolEnd {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signaled(i32),
    /// It could not be executed, for this error number.
    Failed(i32),
    /// Its working directory could not be entered, for this error number.
    NoDirectory(i32),
}

/// Numbers of the descriptors that process 1 keeps open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeper {
    /// Its own process id, as it sees it.
    pub pid: i32,
    /// In the order of [`Keeper::NAMES`].
    pub numbers: [i32; 6],
}

impl Keeper {
    /// What is kept: the pipe by which it is told what to do, the pipe by which it rings, the pipes
    /// and the memory files of standard output and standard error.
    pub const NAMES: [&'static str; 6] =
        ["control", "bell", "out", "err", "memory-out", "memory-err"];

    /// The line of the status file.
    pub fn line(&self) -> String {
        let mut line = format!("keeper {}", self.pid);
        for (name, number) in Keeper::NAMES.iter().zip(self.numbers) {
            line.push_str(&format!(" {name}={number}"));
        }
        line
    }

    fn parse(words: &[&str]) -> Option<Self> {
        let (pid, rest) = words.split_first()?;
        let mut numbers = [0; 6];
        for (name, number) in Keeper::NAMES.iter().zip(&mut numbers) {
            let value = rest.iter().find_map(|word| {
                let (key, value) = word.split_once('=')?;
                (key == *name).then_some(value)
            })?;
            *number = value.parse().ok()?;
        }
        let pid = pid.parse().ok()?;
        Some(Keeper { pid, numbers })
    }
}

impl Status {
    /// Reads a status file's text. A line without its newline does not count.
    pub fn parse(text: &str) -> Self {
        let mut status = Status::default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for line in whole.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let time = |word: &str| word.parse().ok().map(Timestamp);
            match *words.as_slice() {
                ["keeper", ref rest @ ..] => status.keeper = Keeper::parse(rest),
                ["begun", at] => status.begun = time(at),
                ["running", pid] => status.running = pid.parse().ok(),
                [how, number, at] => {
                    let end = number.parse().ok().and_then(|number| match how {
                        "exited" => Some(ToolEnd::Exited(number)),
                        "signaled" => Some(ToolEnd::Signaled(number)),
                        "failed" => Some(ToolEnd::Failed(number)),
                        "nowhere" => Some(ToolEnd::NoDirectory(number)),
                        _ => None,
                    });
                    status.ended = end.zip(time(at)).or(status.ended);
                }
                _ => {}
            }
        }
        status
    }
}

impl StepDir {
    /// The directory of a step below a data directory; `None` where the id holds what is no name.
    pub fn of(data_dir: &Path, step: &StepId) -> Option<Self> {
        let run = name(&step.run.0)?;
        let node = name(&step.node.0)?;
        let leaf = format!("{node}-{}", step.execution);
        Some(StepDir(data_dir.join("steps").join(run).join(leaf)))
    }

    /// A directory by its path.
    pub fn at(path: PathBuf) -> Self {
        StepDir(path)
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A file or directory within.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Makes it, for its owner only.
    pub fn create(&self) -> io::Result<()> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.0)
    }

    /// The format that it was written in; `None` where nothing was written yet.
    pub fn format(&self) -> io::Result<Option<u32>> {
        let Some(text) = read_if_there(&self.file("format"))? else {
            return Ok(None);
        };
        text.trim().parse().map(Some).map_err(|_| {
            let said = format!("`{text}` is no format of a step directory");
            io::Error::new(io::ErrorKind::InvalidData, said)
        })
    }

    /// What process 1 wrote so far.
    pub fn status(&self) -> io::Result<Status> {
        Ok(read_if_there(&self.file("status"))?
            .map(|text| Status::parse(&text))
            .unwrap_or_default())
    }

    /// What a later supervisor must know.
    pub fn facts(&self) -> io::Result<Option<Facts>> {
        self.read_json("step.json")
    }

    /// Whether somebody asked the step to stop.
    pub fn stop(&self) -> io::Result<Option<StopRequest>> {
        self.read_json("stop")
    }

    /// The last word, where it was said.
    pub fn report(&self) -> io::Result<Option<Report>> {
        self.read_json("report")
    }

    /// Reads a JSON file; `None` where it is missing.
    pub(crate) fn read_json<T: DeserializeOwned>(&self, name: &str) -> io::Result<Option<T>> {
        let Some(text) = read_if_there(&self.file(name))? else {
            return Ok(None);
        };
        Ok(Some(serde_json::from_str(&text)?))
    }

    /// Replaces a JSON file.
    pub(crate) fn write_json<T: Serialize>(&self, name: &str, value: &T) -> io::Result<()> {
        let text = serde_json::to_vec(value)?;
        let new = self.file(&format!("{name}.{}", std::process::id()));
        fs::write(&new, text)?;
        fs::rename(&new, self.file(name))
    }
}

/// One path component, where the text is one.
pub(crate) fn name(text: &str) -> Option<&str> {
    let fine = !text.is_empty() && text != "." && text != ".." && !text.contains(['/', '\0']);
    fine.then_some(text)
}

fn read_if_there(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_is_read_line_by_line() {
        let keeper = Keeper {
            pid: 1,
            numbers: [3, 4, 5, 6, 7, 8],
        };
        let text = format!("{}\nbegun 1000\nrunning 2\nexited 3 2000\n", keeper.line());
        assert_eq!(
            Status::parse(&text),
            Status {
                keeper: Some(keeper),
                begun: Some(Timestamp(1000)),
                running: Some(2),
                ended: Some((ToolEnd::Exited(3), Timestamp(2000))),
            }
        );
    }

    #[test]
    fn a_torn_line_does_not_count() {
        assert_eq!(Status::parse("begun 1000\nexited 0 20").ended, None);
        assert_eq!(Status::parse("begun 10").begun, None);
    }
}
