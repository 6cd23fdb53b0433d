//! A step that this process attends to, and its supervisor.

use std::{
    fs::{self, OpenOptions},
    io,
    os::unix::{fs::OpenOptionsExt, process::CommandExt},
    process::{Child, Command, Stdio},
};

use groundplan_ports::{runner::StepSpec, secrets::SecretValue};
use rustix::process::{Pid, Signal};

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

/// How often a supervisor that ends without a report is replaced.
const TRIES: u32 = 20;

/// What we must remember of a step to give it another supervisor.
#[derive(Debug)]
pub(super) struct Known {
    /// What to start, until it was begun.
    spec: Option<Box<StepSpec>>,
    needles: Vec<(String, SecretValue)>,
    supervisor: Option<Process>,
    started: u32,
}

impl Known {
    /// A step that we started.
    pub(super) fn started(spec: StepSpec) -> Self {
        Known {
            needles: plan::needles(&spec),
            spec: Some(Box::new(spec)),
            supervisor: None,
            started: 0,
        }
    }

    /// A step that somebody else started.
    pub(super) fn attached(needles: Vec<(String, SecretValue)>) -> Self {
        Known {
            spec: None,
            needles,
            supervisor: None,
            started: 0,
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
        if let Some(living) = living_supervisor(dir) {
            return living.end().map(Some);
        }
        let begun = dir.status()?.begun.is_some();
        if self.spec.is_none() && self.started > 0 && !begun {
            return Ok(None);
        }
        if self.started >= TRIES {
            let said = fs::read_to_string(dir.file("supervisor.err")).unwrap_or_default();
            let said = said.lines().last().unwrap_or("nothing was said of why");
            return Err(io::Error::other(format!("its supervisor fails: {said}")));
        }
        self.started += 1;
        let Some(child) = self.spawn(dir, options)? else {
            return Ok(None);
        };
        let process = Process::open(Pid::from_child(&child))?;
        reap(child, process.end()?);
        self.supervisor.insert(process).end().map(Some)
    }

    /// Starts a supervisor; `None` where the step cannot be started, which is reported.
    fn spawn(&self, dir: &StepDir, options: &Options) -> io::Result<Option<Child>> {
        dir.create()?;
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
            needles: self.needles.clone(),
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
            .stdout(Stdio::null())
            .stderr(complaints)
            // Ctrl-C in a terminal is not for it.
            .process_group(0)
            .spawn()
            .map(Some)
    }
}

/// Leaves no zombie of a supervisor that we started.
fn reap(mut child: Child, end: EndOfProcess) {
    tokio::spawn(async move {
        if end.ended().await.is_ok() {
            // It has ended, so this does not wait.
            let _ = child.wait();
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
