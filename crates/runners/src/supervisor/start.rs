//! Starting a step: its directory, its root, its descriptors, its process 1.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::fs::{OpenOptionsExt, PermissionsExt},
    },
    path::Path,
    process::Child,
};

use groundplan_engine::{
    action::StopReason,
    report::{StepEnd, StepOutcome, StepReport},
};
use groundplan_redaction::{Masker, Needles};
use rustix::process::Signal;

use super::{Supervisor, cgroup, descriptors::Descriptors, live::Live, notice, spawn::Spawned};
use crate::{
    log_file::{LogWriter, Positions},
    order::{PlacedFile, Start},
    processes::{self, Process},
    sandbox, step_dir,
    step_dir::{Facts, Report, StopRequest},
    take,
    wire::Wire,
};

impl Supervisor {
    /// Starts a step whose lock we hold. Process 1 comes to life while we write what a later
    /// supervisor must know; it executes nothing before it is told to.
    pub(super) fn start(&self, start: &Start, lock: File) -> Result<Live, NotStarted> {
        let mut facts: Facts = serde_json::from_str(&start.facts).map_err(io::Error::from)?;
        for (base, below) in &start.directories {
            take::make_beneath(base, below)?;
        }
        if let Some(order) = &start.sandbox {
            sandbox::make_root(&self.dir.file("root"), order)?;
        }
        let descriptors = Descriptors::make(&self.dir)?;
        let mut spawned = Spawned::new(start, &self.dir, lock)?;
        for file in &start.files {
            place(file)?;
        }
        let log = self.write_down(start, &mut facts)?;
        let init = match spawned.process_one()? {
            Some(pid) => Process::open(pid).ok(),
            None => None,
        };
        // Where there is none, bubblewrap could not make the sandbox.
        let Some(init) = init else {
            return Err(self.not_made(&mut spawned.child, &spawned.complaints));
        };
        cgroup::enter(&facts.cgroups, init.pid())?;
        let order = start.init.to_message();
        if descriptors.send(&spawned.socket, &order).is_err() {
            return Err(self.not_made(&mut spawned.child, &spawned.complaints));
        }
        let (pipes, kept) = descriptors.keep();
        let mut live = self.live(facts, pipes, log, Some(init));
        live.complaints = Some(spawned.complaints.into());
        live.child = Some(spawned.child);
        live.kept = kept;
        Ok(live)
    }

    /// Writes what a later supervisor must know, and what there is to say beforehand.
    fn write_down(&self, start: &Start, facts: &mut Facts) -> io::Result<(LogWriter, Positions)> {
        fs::write(self.dir.file("format"), format!("{}\n", step_dir::FORMAT))?;
        let program = start.init.argv.first().map(|word| word.expose());
        facts.program = masked(&self.needles, program.unwrap_or_default());
        facts.working_dir = masked(&self.needles, start.init.working_dir.as_bytes());
        let (mut log, positions) = LogWriter::open(&self.dir.file("log"))?;
        for name in self.needles.unmasked_names() {
            let said = format!("the value of `{name}` is too short to be masked in this log");
            notice(&mut log, &said)?;
        }
        for text in &start.notices {
            notice(&mut log, text)?;
        }
        let limits = (start.memory_limit, start.cpu_limit_millis);
        match cgroup::create(&facts.step, limits) {
            Ok(groups) => facts.cgroups = groups,
            Err(error) => {
                let said = format!("the step's resource limits are not enforced here: {error}");
                notice(&mut log, &said)?;
            }
        }
        self.dir.write_json("step.json", facts)?;
        self.settle()?;
        Ok((log, positions))
    }

    /// Makes sure that what was written survives the machine: a tool must never be executed twice.
    fn settle(&self) -> io::Result<()> {
        let mut directory = Some(self.dir.path());
        for _ in 0..3 {
            let Some(path) = directory else { break };
            File::open(path)?.sync_all()?;
            directory = path.parent();
        }
        Ok(())
    }

    /// Why nothing was executed. What is left of the attempt is killed.
    pub(super) fn not_made(&self, child: &mut Child, complaints: &impl AsFd) -> NotStarted {
        self.kill_holders();
        let killed = match child.wait() {
            // Bubblewrap passes on the signal of its child in this way.
            Ok(status) => status.code().is_none_or(|code| code >= 128),
            Err(_) => false,
        };
        if killed {
            return NotStarted::Killed;
        }
        let said = complaints_of(complaints.as_fd());
        NotStarted::Failed(io::Error::other(format!(
            "the sandbox could not be made: {said}\nhint: `groundplan doctor` says what it lacks"
        )))
    }

    /// Kills what holds the lock without having begun.
    pub(super) fn kill_holders(&self) {
        // Without a list there is nobody whom we may kill.
        for holder in processes::holders(&self.dir.file("lock")).unwrap_or_default() {
            holder.signal(Signal::KILL);
        }
    }

    /// Reports that a step could not be started.
    pub(super) fn could_not_start(&self, start: &Start, error: &io::Error) -> io::Result<()> {
        fs::write(self.dir.file("format"), format!("{}\n", step_dir::FORMAT))?;
        if let Ok(facts) = serde_json::from_str::<Facts>(&start.facts) {
            self.dir.write_json("step.json", &facts)?;
        }
        let message = masked(&self.needles, error.to_string().as_bytes());
        let stopped = self.dir.stop()?.is_some();
        let report = failure(StepOutcome::StartFailure { message }, stopped);
        self.dir.write_json("report.pending", &report)?;
        self.publish()
    }

    /// Reports that a step was asked to stop before it began.
    pub(super) fn stopped_before(&self, start: &Start, stop: StopRequest) -> io::Result<()> {
        if stop.reason == StopReason::Deadline {
            let report = failure(StepOutcome::TimedOut, true);
            self.dir.write_json("report.pending", &report)?;
            return self.publish();
        }
        let said = io::Error::other("it was asked to stop before it began");
        self.could_not_start(start, &said)
    }
}

/// The report of a step of which nothing ran.
pub(crate) fn failure(outcome: StepOutcome, asked_to_stop: bool) -> Report {
    Report {
        report: StepReport::Ended(StepEnd {
            at: processes::now(),
            outcome,
            asked_to_stop,
            exit_code: None,
            result: None,
            parameters: Default::default(),
        }),
        sealed: Default::default(),
    }
}

/// Why a step was not started.
#[derive(Debug)]
pub(super) enum NotStarted {
    /// It cannot be.
    Failed(io::Error),
    /// Somebody killed what should have executed it; it can be tried again.
    Killed,
}

impl From<io::Error> for NotStarted {
    fn from(error: io::Error) -> Self {
        NotStarted::Failed(error)
    }
}

/// What bubblewrap or process 1 complained of.
fn complaints_of(complaints: BorrowedFd<'_>) -> String {
    let mut space = [0; 4096];
    let length = rustix::io::read(complaints, &mut space).unwrap_or(0);
    let text = String::from_utf8_lossy(&space[..length]);
    let text = text.trim();
    if text.is_empty() {
        "nothing was said of why".to_owned()
    } else {
        text.to_owned()
    }
}

fn place(file: &PlacedFile) -> io::Result<()> {
    let path = Path::new(&file.path);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut placed = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    placed.write_all(file.content.expose())?;
    placed.set_permissions(fs::Permissions::from_mode(file.mode & 0o777))
}

/// Text without secrets.
pub(super) fn masked(needles: &Needles, text: &[u8]) -> String {
    let mut masker = Masker::new(needles);
    let mut masked = masker.feed(text);
    masked.extend(masker.finish());
    String::from_utf8_lossy(&masked).into_owned()
}
