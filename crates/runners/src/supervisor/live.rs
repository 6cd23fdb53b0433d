//! A step that lives: the descriptors that process 1 keeps, and waiting for what happens.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{fs::OpenOptionsExt, net::UnixStream},
    },
    path::{Path, PathBuf},
    process::Child,
};

use groundplan_engine::time::Timestamp;
use groundplan_ports::logs::Stream;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{SOON, Supervisor, output::Output, stop::Stopping};
use crate::{
    log_file::{LogWriter, Positions},
    processes::{self, Process},
    step_dir::{Facts, Keeper, ResultTake, Status, ToolEnd},
    take,
};

/// How long to wait before the log is tried again, in milliseconds.
const RETRY_LOG: i64 = 1000;

/// How a step came to its end.
#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    /// Process 1 said so.
    Ended(ToolEnd, Timestamp),
    /// Nothing lives, and process 1 said nothing.
    Vanished,
}

/// A step that lives.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) facts: Facts,
    pub(super) control: File,
    pub(super) bell: File,
    pub(super) out: Output,
    pub(super) err: Output,
    pub(super) log: LogWriter,
    /// Process 1; `None` where it was killed and the tool lives on without it.
    pub(super) init: Option<Process>,
    /// Complaints of bubblewrap and process 1, where we started them.
    pub(super) complaints: Option<File>,
    /// What we started.
    pub(super) child: Option<Child>,
    /// The other ends of the pipes, so that none is ever broken.
    pub(super) kept: Vec<OwnedFd>,
}

/// The descriptors of a step, however they were got.
pub(super) struct Pipes {
    pub(super) control: OwnedFd,
    pub(super) bell: OwnedFd,
    pub(super) out: OwnedFd,
    pub(super) err: OwnedFd,
    pub(super) memory_out: OwnedFd,
    pub(super) memory_err: OwnedFd,
}

impl Supervisor {
    /// Puts together what a living step is.
    pub(super) fn live(
        &self,
        facts: Facts,
        pipes: Pipes,
        (log, positions): (LogWriter, Positions),
        init: Option<Process>,
    ) -> Live {
        let kept = match facts.result {
            ResultTake::No => 0,
            ResultTake::Plain | ResultTake::Sensitive => take::RESULT_LIMIT,
        };
        let out = (pipes.out, pipes.memory_out);
        let err = (pipes.err, pipes.memory_err);
        Live {
            facts,
            control: pipes.control.into(),
            bell: pipes.bell.into(),
            out: Output::new(Stream::Stdout, out, &self.needles, positions.out, kept),
            err: Output::new(Stream::Stderr, err, &self.needles, positions.err, 0),
            log,
            init,
            complaints: None,
            child: None,
            kept: Vec::new(),
        }
    }

    /// Takes up a step that an earlier supervisor left; `None` where it is just ending.
    pub(super) fn take_up(&self, status: &Status) -> io::Result<Option<Live>> {
        let Some(keeper) = status.keeper else {
            return Ok(None);
        };
        let mut holders = processes::holders(&self.dir.file("lock"))?;
        let init = holders.iter().position(|holder| {
            processes::inner_pid(holder.pid()) == Some(keeper.pid)
                && Pipes::open(holder, &keeper).is_ok()
        });
        let init = init.map(|index| holders.swap_remove(index));
        let pipes = match &init {
            Some(init) => Pipes::open(init, &keeper).ok(),
            None => holders
                .iter()
                .find_map(|holder| Pipes::open(holder, &keeper).ok()),
        };
        let Some(pipes) = pipes else {
            return Ok(None);
        };
        let log = LogWriter::open(&self.dir.file("log"))?;
        Ok(Some(self.live(self.facts()?, pipes, log, init)))
    }

    /// Attends to a step until it has ended; `None` where process 1 never executed anything.
    pub(super) fn attend(&self, live: &mut Live) -> io::Result<Option<How>> {
        let mut stopping = Stopping::default();
        let mut log_fails_until = None;
        loop {
            let mut moved = false;
            if log_fails_until.is_none_or(|until| processes::now() >= until) {
                match live.advance() {
                    Ok(more) => {
                        moved = more;
                        log_fails_until = None;
                    }
                    // A full disk makes the tool wait; nothing is lost.
                    Err(error) if is_full(&error) => {
                        log_fails_until = Some(processes::now().plus_millis(RETRY_LOG));
                    }
                    Err(error) => return Err(error),
                }
            }
            live.forget_rings(&self.signals);
            let status = self.dir.status()?;
            if let Some((end, at)) = status.ended {
                return Ok(Some(How::Ended(end, at)));
            }
            let survivors = live.survivors(&self.dir.file("lock"))?;
            if survivors.as_ref().is_some_and(Vec::is_empty) {
                // It may have spoken its last word since we looked.
                let status = self.dir.status()?;
                return Ok(match (status.ended, status.begun) {
                    (Some((end, at)), _) => Some(How::Ended(end, at)),
                    (None, Some(_)) => Some(How::Vanished),
                    (None, None) => None,
                });
            }
            let survivors = survivors.unwrap_or_default();
            let wake = stopping.go_on(&self.dir, live, &status, &survivors)?;
            if !moved {
                let processes = survivors.iter().chain(stopping.waiting());
                let wake = [wake, log_fails_until].into_iter().flatten().min();
                self.wait(live, processes, log_fails_until.is_none(), wake)?;
            }
        }
    }

    /// Waits until something happens, at most until `wake`.
    fn wait<'a>(
        &self,
        live: &'a Live,
        processes: impl Iterator<Item = &'a Process>,
        outputs: bool,
        wake: Option<Timestamp>,
    ) -> io::Result<()> {
        let mut fds = vec![
            PollFd::new(&self.signals, PollFlags::IN),
            PollFd::new(&live.bell, PollFlags::IN),
        ];
        if outputs {
            fds.push(PollFd::from_borrowed_fd(live.out.pipe(), PollFlags::IN));
            fds.push(PollFd::from_borrowed_fd(live.err.pipe(), PollFlags::IN));
        }
        let processes = live.init.iter().chain(processes);
        fds.extend(
            processes.map(|process| PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN)),
        );
        let timeout = wake.map(|wake| {
            let millis = (wake.0 - processes::now().0).max(0);
            Timespec {
                tv_sec: millis / 1000,
                tv_nsec: millis % 1000 * 1_000_000,
            }
        });
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Live {
    /// Moves a chunk of each output on; whether there was one.
    pub(super) fn advance(&mut self) -> io::Result<bool> {
        let out = self.out.advance(&mut self.log)?;
        let err = self.err.advance(&mut self.log)?;
        Ok(out || err)
    }

    /// Moves everything that was printed into the log. The step must have ended.
    pub(super) fn drain(&mut self) -> io::Result<()> {
        loop {
            match self.drain_once() {
                Err(error) if is_full(&error) => std::thread::sleep(SOON * 100),
                result => return result,
            }
        }
    }

    fn drain_once(&mut self) -> io::Result<()> {
        while self.advance()? {}
        self.out.finish(&mut self.log)?;
        self.err.finish(&mut self.log)
    }

    /// Tells process 1 something.
    pub(super) fn tell(&mut self, word: u8) {
        // A full pipe holds the same word already; a dead process 1 needs no telling.
        let _ = self.control.write(&[word]);
    }

    /// Empties what rang.
    fn forget_rings(&mut self, mut signals: &UnixStream) {
        let mut space = [0; 256];
        while matches!(self.bell.read(&mut space), Ok(read) if read > 0) {}
        while matches!(signals.read(&mut space), Ok(read) if read > 0) {}
    }

    /// What lives although process 1 does not; `None` while it does.
    fn survivors(&mut self, lock: &Path) -> io::Result<Option<Vec<Process>>> {
        if self.init.as_ref().is_some_and(|init| !init.has_ended()) {
            return Ok(None);
        }
        self.init = None;
        if self.facts.sandboxed {
            // The namespace went with its process 1.
            return Ok(Some(Vec::new()));
        }
        processes::holders(lock).map(Some)
    }
}

impl Pipes {
    /// Opens what a process keeps.
    fn open(holder: &Process, keeper: &Keeper) -> io::Result<Self> {
        let path = |index: usize| {
            let number = keeper.numbers[index];
            PathBuf::from(format!("/proc/{}/fd/{number}", holder.pid()))
        };
        let reader = |index: usize| nonblocking().read(true).open(path(index));
        let writer = |index: usize| nonblocking().write(true).open(path(index));
        let memory = |index: usize| {
            let name = std::fs::read_link(path(index))?;
            if !name.to_string_lossy().starts_with("/memfd:") {
                return Err(io::Error::other("not a file in memory"));
            }
            OpenOptions::new().read(true).write(true).open(path(index))
        };
        let memory_out = memory(4)?.into();
        Ok(Pipes {
            // The tool keeps no control pipe and no bell for a killed process 1.
            control: writer(0).or_else(|_| null())?.into(),
            bell: reader(1).or_else(|_| null())?.into(),
            out: reader(2)?.into(),
            err: reader(3)?.into(),
            memory_out,
            memory_err: memory(5)?.into(),
        })
    }
}

fn null() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/null")
}

fn nonblocking() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    options
}

/// Whether an error says that a disk is full or a quota is used up.
fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}
