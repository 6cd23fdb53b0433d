//! Stopping a step: one path for Ctrl-C, a command, and the deadline.
//!
//! A lone tool gets SIGINT and time to finish. A shell would go on to its next line when its tool
//! ends, so it is frozen, what runs below it gets SIGINT, and it is killed when that has ended. What
//! only reads the output of another process below gets no SIGINT: it ends when its input does, and
//! the other one never writes into a broken pipe. After the grace everything is killed.

use std::{collections::BTreeSet, io};

use groundplan_engine::{action::StopReason, time::Timestamp};
use rustix::process::{Pid, Signal};

use super::{SOON, live::Live};
use crate::{
    init,
    processes::{self, Process},
    step_dir::{Status, StepDir, StopRequest},
};

/// How long process 1 may take to kill everything before it is killed itself, in milliseconds.
const KILL_GRACE: i64 = 2000;

#[derive(Debug, Default)]
pub(super) struct Stopping {
    request: Option<StopRequest>,
    phase: Phase,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Running,
    /// A lone tool was asked.
    Asked,
    /// A shell is frozen.
    Frozen(Frozen),
    /// Process 1 was told to kill everything.
    Killing { since: Timestamp },
    /// Process 1 was killed.
    Severed,
}

impl Stopping {
    /// Processes whose end is waited for.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Process> {
        let waiting = match &self.phase {
            Phase::Frozen(frozen) => frozen.waiting.as_slice(),
            Phase::Running | Phase::Asked | Phase::Killing { .. } | Phase::Severed => &[],
        };
        waiting.iter()
    }

    /// Does what is to be done now and answers when it is to be looked at again. `survivors` is what
    /// lives although process 1 does not.
    pub(super) fn go_on(
        &mut self,
        dir: &StepDir,
        live: &mut Live,
        status: &Status,
        survivors: &[Process],
    ) -> io::Result<Option<Timestamp>> {
        let now = processes::now();
        let Some(request) = self.request(dir, live, now)? else {
            return Ok(live.facts.deadline);
        };
        let grace = live.facts.grace_millis;
        let over = grace.map(|grace| {
            let grace = i64::try_from(grace).unwrap_or(i64::MAX);
            request.at.plus_millis(grace)
        });
        let kill = request.kill || over.is_some_and(|over| now >= over);
        match &mut self.phase {
            Phase::Killing { since } => {
                let patience = since.plus_millis(KILL_GRACE);
                if now < patience {
                    return Ok(Some(patience));
                }
                if let Some(init) = &live.init {
                    init.signal(Signal::KILL);
                }
                self.phase = Phase::Severed;
                Ok(None)
            }
            Phase::Severed => {
                kill_all(survivors);
                Ok(None)
            }
            Phase::Running | Phase::Asked | Phase::Frozen(_) if kill => {
                live.tell(init::KILL);
                kill_all(survivors);
                self.phase = Phase::Killing { since: now };
                Ok(Some(now.plus_millis(KILL_GRACE)))
            }
            Phase::Running => {
                let Some(phase) = ask(live, status, survivors) else {
                    let soon = i64::try_from(SOON.as_millis()).unwrap_or(i64::MAX);
                    return Ok(Some(now.plus_millis(soon)));
                };
                self.phase = phase;
                Ok(over)
            }
            Phase::Asked => Ok(over),
            Phase::Frozen(frozen) => {
                frozen.look();
                Ok(over)
            }
        }
    }

    /// The newest request; a passed deadline makes one. A request may become one to kill, so it is
    /// read each time.
    fn request(
        &mut self,
        dir: &StepDir,
        live: &Live,
        now: Timestamp,
    ) -> io::Result<Option<StopRequest>> {
        self.request = dir.stop()?.or(self.request);
        if self.request.is_none() && live.facts.deadline.is_some_and(|deadline| now >= deadline) {
            let request = StopRequest {
                reason: StopReason::Deadline,
                at: now,
                kill: false,
            };
            dir.write_json("stop", &request)?;
            self.request = Some(request);
        }
        Ok(self.request)
    }
}

fn kill_all(processes: &[Process]) {
    for process in processes {
        process.signal(Signal::KILL);
    }
}

/// Asks the tool to stop; `None` where it was not executed yet.
fn ask(live: &Live, status: &Status, survivors: &[Process]) -> Option<Phase> {
    let Some(init) = &live.init else {
        for survivor in survivors {
            survivor.signal(Signal::INT);
        }
        return Some(Phase::Asked);
    };
    let main = processes::child_with_inner_pid(init.pid(), status.running?)?;
    if !processes::is_shell(main.pid()) {
        main.signal(Signal::INT);
        return Some(Phase::Asked);
    }
    main.signal(Signal::STOP);
    let mut frozen = Frozen {
        shells: BTreeSet::from([raw(main.pid())]),
        asked: BTreeSet::new(),
        waiting: Vec::new(),
        main,
    };
    frozen.look();
    Some(Phase::Frozen(frozen))
}

/// A shell that was frozen, and what runs below it.
#[derive(Debug)]
struct Frozen {
    main: Process,
    /// Shells that were frozen, the main one included.
    shells: BTreeSet<i32>,
    /// Processes that got SIGINT, or need none.
    asked: BTreeSet<i32>,
    /// Those that live.
    waiting: Vec<Process>,
}

impl Frozen {
    /// Freezes and asks what is new, and kills the shell when nothing but shells is left.
    fn look(&mut self) {
        let first = self.asked.is_empty();
        let below = self.freeze();
        let tools: Vec<Process> = below
            .into_iter()
            .filter(|process| is_new(&self.shells, process))
            .collect();
        if tools.is_empty() {
            self.main.signal(Signal::KILL);
        }
        for tool in tools.iter().filter(|tool| is_new(&self.asked, tool)) {
            // What a tool itself starts later, to finish its work, is left alone.
            let of_shell = processes::parent(tool.pid())
                .is_some_and(|parent| self.shells.contains(&raw(parent)));
            if (first || of_shell) && !reads_from_another(tool, &tools) {
                tool.signal(Signal::INT);
            }
        }
        self.asked.extend(tools.iter().map(|tool| raw(tool.pid())));
        self.waiting = tools;
    }

    /// Freezes every shell and answers what runs below the main one.
    fn freeze(&mut self) -> Vec<Process> {
        loop {
            let below = processes::descendants(self.main.pid());
            let before = self.shells.len();
            for process in &below {
                if is_new(&self.shells, process) && processes::is_shell(process.pid()) {
                    process.signal(Signal::STOP);
                    self.shells.insert(raw(process.pid()));
                }
            }
            if self.shells.len() == before {
                return below;
            }
        }
    }
}

fn raw(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}

fn is_new(known: &BTreeSet<i32>, process: &Process) -> bool {
    !known.contains(&raw(process.pid()))
}

/// Whether a process' standard input is the output of another one.
fn reads_from_another(process: &Process, others: &[Process]) -> bool {
    let pipe_of = |process: &Process, number: i32| {
        let link = std::fs::read_link(format!("/proc/{}/fd/{number}", process.pid())).ok()?;
        link.to_string_lossy().starts_with("pipe:").then_some(link)
    };
    let Some(input) = pipe_of(process, 0) else {
        return false;
    };
    others
        .iter()
        .filter(|other| other.pid() != process.pid())
        .any(|other| (1..=2).any(|number| pipe_of(other, number).as_ref() == Some(&input)))
}
