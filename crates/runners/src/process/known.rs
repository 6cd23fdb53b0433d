//! A step that this process attends to, and its supervisor.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    process::{Child, Command},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use groundplan_ports::{runner::StepSpec, secrets::SecretValue};
use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
    process::{Pid, Signal},
};

use super::Options;
use crate::{
    order::Order,
    plan,
    processes::{self, Process},
    step_dir::StepDir,
    supervisor, take,
    watch::EndOfProcess,
    wire::Wire,
};

/// How often a supervisor that gives up is replaced; killed ones always are.
const TRIES: u32 = 5;

/// How long a supervisor may take to say who it is, in milliseconds.
const PATIENCE: i64 = 20_000;

/// What we must remember of a step to give it another supervisor.
#[derive(Debug)]
pub(super) struct Known {
    /// What to start, until it was begun.
    spec: Option<Box<StepSpec>>,
    needles: Vec<(String, SecretValue)>,
    supervisor: Option<Process>,
    /// Whether we started a supervisor at all.
    started: bool,
    /// How many of them gave up.
    failures: Arc<AtomicU32>,
}

impl Known {
    /// A step that we started.
    pub(super) fn started(spec: StepSpec) -> Self {
        Known {
            needles: plan::needles(&spec),
            spec: Some(Box::new(spec)),
            supervisor: None,
            started: false,
            failures: Arc::default(),
        }
    }

    /// A step that somebody else started.
    pub(super) fn attached(needles: Vec<(String, SecretValue)>) -> Self {
        Known {
            spec: None,
            needles,
            supervisor: None,
            started: false,
            failures: Arc::default(),
        }
    }

    /// Sees to it that a supervisor lives and answers its end; `None` where the step is over, or
    /// there is nothing to supervise.
    pub(super) fn supervise(
        &mut self,
        dir: &StepDir,
        options: &Options,
    ) -> io::Result<Option<EndOfProcess>> {
        if dir.report()?.is_some() {
            return Ok(None);
        }
        self.supervisor.take_if(|ours| ours.has_ended());
        if let Some(ours) = &self.supervisor {
            return ours.end().map(Some);
        }
        dir.create()?;
        let place = match take_place(dir)? {
            Place::Ours(place) => place,
            Place::Taken(living) => return living.end().map(Some),
        };
        // The one who had the place may just have spoken its last word.
        if dir.report()?.is_some() {
            return Ok(None);
        }
        let begun = dir.status()?.begun.is_some();
        if self.spec.is_none() && self.started && !begun {
            return Ok(None);
        }
        if self.failures.load(Ordering::Relaxed) >= TRIES {
            let said = fs::read_to_string(dir.file("supervisor.err")).unwrap_or_default();
            let said = said.lines().last().unwrap_or("nothing was said of why");
            return Err(io::Error::other(format!("its supervisor fails: {said}")));
        }
        self.started = true;
        let Some(child) = self.spawn(dir, options, place)? else {
            return Ok(None);
        };
        let process = Process::open(Pid::from_child(&child))?;
        reap(child, process.end()?, self.failures.clone());
        self.supervisor.insert(process).end().map(Some)
    }

    /// Starts a supervisor; `None` where the step cannot be started, which is reported.
    fn spawn(&self, dir: &StepDir, options: &Options, place: File) -> io::Result<Option<Child>> {
        let start = match &self.spec {
            None => None,
            Some(spec) => match plan::plan(spec, dir, options) {
                Ok(start) => Some(start),
                Err(outcome) => {
                    if dir.status()?.begun.is_none() {
                        let stopped = dir.stop()?.is_some();
                        dir.write_json("report", &supervisor::failure(outcome, stopped))?;
                        return Ok(None);
                    }
                    None
                }
            },
        };
        let order = Order {
            start,
            needles: self
                .needles
                .iter()
                .cloned()
                .chain(options.passwords())
                .collect(),
            key: SecretValue::new(options.key.encode()),
        };
        // It lies in memory, so that it can be as long as it wants and we never wait for a reader.
        let message = take::in_memory(&order.to_message())?;
        let complaints = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(dir.file("supervisor.err"))?;
        Command::new(&options.executable)
            .arg(supervisor::SUBCOMMAND)
            .arg(dir.path())
            .env_clear()
            .current_dir("/")
            .stdin(message)
            // It keeps the lock, from its first moment to its last.
            .stdout(place)
            .stderr(complaints)
            .spawn()
            .map(Some)
    }
}

/// The place of a step's supervisor: the lock on the file `supervisor`.
enum Place {
    /// We took it, for the one whom we start.
    Ours(File),
    /// Somebody has it.
    Taken(Process),
}

/// Takes the place of a step's supervisor, unless one lives. Between taking it and saying who it is a
/// supervisor needs a moment; so does another process that only looks.
fn take_place(dir: &StepDir) -> io::Result<Place> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(dir.file("supervisor"))?;
    let patience = processes::now().plus_millis(PATIENCE);
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Place::Ours(file)),
            Err(Errno::WOULDBLOCK) => {}
            Err(error) => return Err(error.into()),
        }
        if let Some(living) = living_supervisor(dir) {
            return Ok(Place::Taken(living));
        }
        if processes::now() > patience {
            let said = "somebody holds its place and does not say who it is";
            return Err(io::Error::new(io::ErrorKind::WouldBlock, said));
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Leaves no zombie of a supervisor that we started, and counts those that gave up.
fn reap(mut child: Child, end: EndOfProcess, failures: Arc<AtomicU32>) {
    tokio::spawn(async move {
        if end.ended().await.is_err() {
            return;
        }
        // It has ended, so this does not wait.
        let status = child.wait();
        if status.is_ok_and(|status| status.code().is_some_and(|code| code != 0)) {
            failures.fetch_add(1, Ordering::Relaxed);
        }
    });
}

/// The supervisor that says it is one, where it lives.
fn living_supervisor(dir: &StepDir) -> Option<Process> {
    let text = fs::read_to_string(dir.file("supervisor")).ok()?;
    let mut words = text.split_ascii_whitespace();
    let pid = Pid::from_raw(words.next()?.parse().ok()?)?;
    let start: u64 = words.next()?.parse().ok()?;
    if words.next()? != processes::boot_id() {
        return None;
    }
    let process = Process::open(pid).ok()?;
    (processes::start_time(pid) == Some(start) && !process.has_ended()).then_some(process)
}

/// Makes a living supervisor look at the step's directory. The signal does nothing to one that does
/// not listen for it yet: it will look by itself.
pub(super) fn wake_supervisor(dir: &StepDir) {
    if let Some(process) = living_supervisor(dir) {
        process.signal(Signal::URG);
    }
}
