//! Kind `run`: each document by the real binary, in a sandbox and a data directory of its own.
//!
//! A row has *passed* when its run ended in the expected phase and every assertion holds. It is
//! *refused* when nothing was started and the answer names a field as not supported yet. Anything
//! else has *failed*.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::Mutex,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    Score, claims,
    stand_ins::{self, StandIns},
    table::{self, Case},
};
use crate::{
    failure::{Failure, Outcome},
    process,
    workspace::Workspace,
};

/// Rows side by side: most of them only sleep.
const SIDE_BY_SIDE: usize = 6;
/// A row that takes longer is stopped.
const LIMIT: Duration = Duration::from_secs(280);
/// How long a row that was stopped may take to end.
const GRACE: Duration = Duration::from_secs(20);

/// How a row went.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Passed,
    /// The fields that are not supported yet.
    Refused(Vec<String>),
    Failed(Vec<String>),
}

/// Runs the rows, or those whose names are given, and sums them up.
pub(super) fn run(workspace: &Workspace, data: &Path, only: &[String]) -> Outcome<Score> {
    let documents = data.join("run");
    let mut cases = table::cases(&documents.join("expected.tsv"))?;
    if !only.is_empty() {
        let bare = |file: &str| file.trim_end_matches(".yaml").to_owned();
        cases.retain(|case| only.iter().any(|name| bare(name) == bare(&case.file)));
        if cases.is_empty() {
            return Err(Failure::new("no document of that name"));
        }
    }
    process::run(process::cargo(workspace.root()).args([
        "build",
        "--locked",
        "-p",
        "groundplan-cli",
    ]))?;
    let scratch = Scratch::new()?;
    let stand_ins = stand_ins::write(&scratch.0)?;
    if !stand_ins.missing.is_empty() {
        let line = format!(
            "  run            not run: no {} here",
            stand_ins.missing.join(", ")
        );
        return Ok(Score {
            lines: vec![line],
            failed: false,
        });
    }
    let bench = Bench {
        binary: workspace.root().join("target/debug/groundplan"),
        documents,
        scratch: scratch.0.clone(),
        stand_ins,
    };
    Ok(sum(&side_by_side(&bench, &cases)))
}

/// All rows, a few at a time, in the order of the table.
fn side_by_side(bench: &Bench, cases: &[Case]) -> Vec<(String, Verdict)> {
    let next = Mutex::new(cases.iter());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                loop {
                    let taken = next.lock().expect("no thread panics with it").next();
                    let Some(case) = taken else { return };
                    let began = Instant::now();
                    let verdict = match bench.play(case) {
                        Ok(verdict) => verdict,
                        Err(failure) => Verdict::Failed(vec![failure.to_string()]),
                    };
                    println!("{}", line(case, &verdict, began.elapsed()));
                    let mut done = done.lock().expect("no thread panics with it");
                    done.push((case.file.clone(), verdict));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread panics with it");
    done.sort_by(|one, other| one.0.cmp(&other.0));
    done
}

fn line(case: &Case, verdict: &Verdict, took: Duration) -> String {
    let (word, details) = match verdict {
        Verdict::Passed => ("passed", String::new()),
        Verdict::Refused(fields) => ("refused", format!("  {}", fields.join(", "))),
        Verdict::Failed(why) => ("FAILED", format!("\n    {}", why.join("\n    "))),
    };
    let seconds = took.as_secs_f64();
    format!("{word:<8} {seconds:>6.1} s  {}{details}", case.file)
}

fn sum(rows: &[(String, Verdict)]) -> Score {
    let named = |chosen: fn(&Verdict) -> bool| -> Vec<&str> {
        rows.iter()
            .filter(|(_, verdict)| chosen(verdict))
            .map(|(file, _)| file.trim_end_matches(".yaml"))
            .collect()
    };
    let passed = named(|verdict| *verdict == Verdict::Passed);
    let failed = named(|verdict| matches!(verdict, Verdict::Failed(_)));
    let mut lines = vec![format!(
        "  run            {} of {} passed, {} refused, {} failed",
        passed.len(),
        rows.len(),
        rows.len() - passed.len() - failed.len(),
        failed.len()
    )];
    for (file, verdict) in rows {
        match verdict {
            Verdict::Refused(fields) => {
                lines.push(format!("    refused {file}: {}", fields.join(", ")));
            }
            Verdict::Failed(why) => {
                lines.push(format!("    FAILED  {file}: {}", why.join("; ")));
            }
            Verdict::Passed => {}
        }
    }
    Score {
        lines,
        failed: !failed.is_empty(),
    }
}

/// A folder of its own that is deleted at the end.
#[derive(Debug)]
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Outcome<Self> {
        let folder = std::env::temp_dir().join(format!("groundplan-rows-{}", std::process::id()));
        stand_ins::make(&folder)?;
        Ok(Scratch(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left lies in the folder of temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What every row is run with.
#[derive(Debug)]
struct Bench {
    binary: PathBuf,
    documents: PathBuf,
    scratch: PathBuf,
    stand_ins: StandIns,
}

/// A run that has ended, as the binary tells it.
struct Told<'bench> {
    bench: &'bench Bench,
    folder: PathBuf,
    run: Value,
    seconds: f64,
}

impl claims::Finished for Told<'_> {
    fn run(&self) -> &Value {
        &self.run
    }

    fn printed(&self, node: &str) -> String {
        let id = self.run["new"]["id"].as_str().unwrap_or_default();
        let output = self
            .bench
            .groundplan(&self.folder, &["logs", id, node])
            .output();
        output.map_or_else(
            |error| format!("no log: {error}"),
            |output| String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }
}

impl Bench {
    /// The binary with its data in a folder, and nothing of a person's.
    fn groundplan(&self, folder: &Path, words: &[&str]) -> Command {
        let mut command = process::program(&self.binary, folder);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GROUNDPLAN_") {
                command.env_remove(name);
            }
        }
        command
            .env("GROUNDPLAN_CONFIG", &self.stand_ins.config)
            .env("GROUNDPLAN_DATA_DIR", folder.join("data"))
            .env("HOME", folder)
            .stdin(Stdio::null())
            .args(words);
        command
    }

    fn play(&self, case: &Case) -> Outcome<Verdict> {
        let folder = self.scratch.join(case.file.trim_end_matches(".yaml"));
        stand_ins::make(&folder)?;
        let document = self.documents.join(&case.file).display().to_string();
        let library = stand_ins::library_words(case, &self.documents, &folder)?;
        let secrets = stand_ins::secret_values(case, &self.documents);
        let mut words = vec!["run", "--json", "--grace", "5", &document];
        words.extend(library.iter().map(String::as_str));
        let began = Instant::now();
        let said = folder.join("stderr");
        let mut command = self.groundplan(&folder, &words);
        command.stdout(Stdio::null()).stderr(create(&said)?);
        let mut child = command
            .spawn()
            .map_err(|error| Failure::new(format!("cannot start the binary: {error}")))?;
        let status = self.wait(&mut child, &folder)?;
        let seconds = began.elapsed().as_secs_f64();
        let said = fs::read_to_string(&said).unwrap_or_default();
        let Some(run) = self.only_run(&folder)? else {
            return Ok(refusal(&said, status));
        };
        let told = Told {
            bench: self,
            folder,
            run,
            seconds,
        };
        let verdict = judge(case, &secrets, &told, status, &said);
        if verdict == Verdict::Passed {
            let _ = fs::remove_dir_all(&told.folder);
        }
        Ok(verdict)
    }

    /// Waits for its end; one that takes too long is stopped as a person would.
    fn wait(&self, child: &mut Child, folder: &Path) -> Outcome<Option<ExitStatus>> {
        let began = Instant::now();
        let mut asked = false;
        loop {
            let ended = child
                .try_wait()
                .map_err(|error| Failure::new(format!("cannot wait for the binary: {error}")))?;
            if let Some(status) = ended {
                return Ok((!asked).then_some(status));
            }
            if !asked && began.elapsed() > LIMIT {
                asked = true;
                if let Some(run) = self.only_run(folder)? {
                    let id = run["new"]["id"].as_str().unwrap_or_default();
                    let _ = process::succeeds(&mut self.groundplan(folder, &["runs", "stop", id]));
                }
            }
            if asked && began.elapsed() > LIMIT + GRACE {
                let _ = child.kill();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The one run of a data directory, if any was made.
    fn only_run(&self, folder: &Path) -> Outcome<Option<Value>> {
        let listed = self.groundplan(folder, &["runs", "list"]).output();
        let listed = listed
            .ok()
            .filter(|listed| listed.status.success())
            .ok_or_else(|| Failure::new("`groundplan runs list` failed"))?;
        let listed = String::from_utf8_lossy(&listed.stdout);
        let Some(id) = listed
            .lines()
            .nth(1)
            .and_then(|row| row.split(' ').next_back())
        else {
            return Ok(None);
        };
        let json = process::output(&mut self.groundplan(folder, &["runs", "show", "--json", id]))?;
        serde_json::from_slice(&json)
            .map(Some)
            .map_err(|error| Failure::new(format!("`runs show --json` prints no JSON: {error}")))
    }
}

fn create(path: &Path) -> Outcome<File> {
    File::create(path)
        .map_err(|error| Failure::new(format!("cannot write `{}`: {error}", path.display())))
}

/// Nothing was started: a refusal is one that names what is not supported yet.
fn refusal(said: &str, status: Option<ExitStatus>) -> Verdict {
    const CODE: &str = "[not-supported-yet]: ";
    let mut fields: Vec<String> = said
        .lines()
        .filter_map(|line| line.split_once(CODE))
        .map(|(_, message)| message.trim_end_matches(" is not supported yet").to_owned())
        .collect();
    fields.sort();
    fields.dedup();
    // A requirement that is not met, or errors of the document beside it.
    let ended_so = matches!(status.and_then(|status| status.code()), Some(1 | 4));
    match !fields.is_empty() && ended_so {
        true => Verdict::Refused(fields),
        false => Verdict::Failed(vec![format!("nothing started: {}", said.trim())]),
    }
}

/// The assertions as they hold for logs in which secrets are masked.
fn masked(checks: &[Value], secrets: &[String]) -> Vec<Value> {
    let mut checks = checks.to_vec();
    for check in &mut checks {
        if let Some(Value::String(text)) = check.get_mut("stdout_has") {
            for secret in secrets {
                *text = text.replace(secret, "***");
            }
        }
    }
    checks
}

fn judge(
    case: &Case,
    secrets: &[String],
    told: &Told<'_>,
    status: Option<ExitStatus>,
    said: &str,
) -> Verdict {
    let mut faults = Vec::new();
    let phase = told.run["phase"].as_str().unwrap_or_default();
    let good = match case.expected.as_str() {
        "random" => ["Succeeded", "Failed"].contains(&phase),
        expected => expected == phase,
    };
    if !good {
        let message = &told.run["message"];
        faults.push(format!(
            "it is {phase}, {message}; {} is right",
            case.expected
        ));
        faults.extend(bad_nodes(&told.run));
    }
    let code = status.and_then(|status| status.code());
    let right_code = i32::from(phase != "Succeeded");
    match code {
        None => faults.push("it did not end by itself in time".to_owned()),
        Some(code) if code != right_code => faults.push(format!("exit code {code}: {said}")),
        Some(_) => {}
    }
    faults.extend(claims::faults(&masked(&case.checks, secrets), told));
    match faults.is_empty() {
        true => Verdict::Passed,
        false => Verdict::Failed(faults),
    }
}

fn bad_nodes(run: &Value) -> Vec<String> {
    claims::nodes(run)
        .iter()
        .filter(|node| node["kind"] == "Pod" && node["phase"] != "Succeeded")
        .map(|node| format!("{} is {}, {}", node["name"], node["phase"], node["message"]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exited(code: i32) -> Option<ExitStatus> {
        use std::os::unix::process::ExitStatusExt;
        Some(ExitStatus::from_raw(code << 8))
    }

    #[test]
    fn a_refusal_names_what_is_not_supported_yet() {
        let said = "error: `a.yaml` cannot be run\n  because error[not-supported-yet]: `http` is not supported yet\n";
        let refused = Verdict::Refused(vec!["`http`".to_owned()]);
        assert_eq!(refusal(said, exited(1)), refused);
        let panicked = refusal(said, exited(101));
        assert!(matches!(panicked, Verdict::Failed(_)));
        let other = refusal(
            "error[unknown-field]: unknown field `conainer`\n",
            exited(1),
        );
        assert!(matches!(other, Verdict::Failed(_)));
    }

    #[test]
    fn a_secret_is_looked_for_as_the_log_shows_it() {
        let checks = [serde_json::json!({"path": "", "stdout_has": "is pw!"})];
        let masked = masked(&checks, &["pw".to_owned()]);
        assert_eq!(masked[0]["stdout_has"], "is ***!");
    }

    #[test]
    fn rows_are_counted_and_named() {
        let rows = [
            ("a.yaml".to_owned(), Verdict::Passed),
            (
                "b.yaml".to_owned(),
                Verdict::Refused(vec!["`http`".to_owned()]),
            ),
            ("c.yaml".to_owned(), Verdict::Failed(vec!["why".to_owned()])),
        ];
        let score = sum(&rows);
        assert!(score.failed);
        assert_eq!(
            score.lines.join("\n"),
            "  run            1 of 3 passed, 1 refused, 1 failed\n    \
             refused b.yaml: `http`\n    FAILED  c.yaml: why"
        );
    }
}
