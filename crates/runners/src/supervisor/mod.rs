//! The supervisor of a step: starts it or takes it up, masks and writes its log, asks it to stop,
//! enforces its deadline, takes its outputs and says how it ended.
//!
//! One thread, woken by descriptors only. It may be killed at any moment: what it knows lies in the
//! step's directory and in the descriptors that process 1 keeps, and the next supervisor goes on from
//! there.

mod cgroup;
mod descriptors;
mod finish;
mod live;
mod output;
mod spawn;
mod start;
mod stop;

use std::{
    ffi::OsString,
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    os::unix::{fs::OpenOptionsExt, net::UnixStream},
    process::ExitCode,
    time::Duration,
};

use groundplan_ports::{
    logs::{LogFrame, Stream},
    secrets::SecretValue,
};
use groundplan_redaction::{Needles, Position};
use rustix::fs::{FlockOperation, flock};

use crate::{
    log_file::LogWriter,
    order::{Order, Start},
    processes,
    step_dir::{Facts, Status, StepDir},
    wire::Wire,
};
use live::{How, Live};

pub(crate) use finish::sealing_context;
use start::NotStarted;
pub(crate) use start::failure;

/// The hidden subcommand that runs this, with the step's directory as its argument.
pub const SUBCOMMAND: &str = "step-supervisor";

/// How long to wait for a change that nothing tells of.
const SOON: Duration = Duration::from_millis(10);

/// How long what an earlier supervisor started may take to begin or to end, in milliseconds.
const ORPHAN_GRACE: i64 = 3000;

/// Runs a supervisor. It exits with 0 when a report was written or nothing was begun, with 64 where
/// the argument is missing and with 70 where it could not do its work.
pub fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(directory) = arguments.next() else {
        return ExitCode::from(64);
    };
    match run(StepDir::at(directory.into())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Standard error is a file of the step's directory; nobody else can be told.
            let _ = writeln!(io::stderr(), "supervisor: {error}");
            ExitCode::from(70)
        }
    }
}

fn run(dir: StepDir) -> io::Result<()> {
    let signals = wake_on_signals()?;
    // Ctrl-C in a terminal is not for us. It fails where we lead a session already.
    let _ = rustix::process::setsid();
    let mut message = Vec::new();
    io::stdin().read_to_end(&mut message)?;
    let order = Order::from_message(&message).map_err(io::Error::other)?;
    drop(message);
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    say_who_we_are(&dir)?;
    if dir.report()?.is_some() {
        return Ok(());
    }
    let values = order.needles.iter();
    let needles = Needles::new(values.map(|(name, value)| (name.as_str(), value.expose())))
        .map_err(io::Error::other)?;
    let supervisor = Supervisor {
        dir,
        needles,
        key: order.key,
        signals,
    };
    supervisor.supervise(order.start)
}

/// A stream that becomes readable when somebody signals us. No signal but SIGKILL ends a supervisor.
fn wake_on_signals() -> io::Result<UnixStream> {
    let (reader, writer) = UnixStream::pair()?;
    reader.set_nonblocking(true)?;
    for signal in [
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGHUP,
        signal_hook::consts::SIGQUIT,
        signal_hook::consts::SIGUSR1,
        signal_hook::consts::SIGURG,
    ] {
        signal_hook::low_level::pipe::register(signal, writer.try_clone()?)?;
    }
    Ok(reader)
}

/// Says who we are. Whoever started us took the lock on this file for us, as our standard output.
fn say_who_we_are(dir: &StepDir) -> io::Result<()> {
    let mut file = open_shared(dir, "supervisor")?;
    let pid = rustix::process::getpid();
    let start = processes::start_time(pid).unwrap_or_default();
    file.set_len(0)?;
    file.write_all(format!("{pid} {start} {}\n", processes::boot_id()).as_bytes())
}

/// Opens a file that others may have made already.
fn open_shared(dir: &StepDir, name: &str) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(dir.file(name))
}

struct Supervisor {
    dir: StepDir,
    needles: Needles,
    key: SecretValue,
    signals: UnixStream,
}

/// What there is of a step.
enum Situation {
    /// Nothing lives, and we hold the lock.
    Over(Status, File),
    /// Something lives.
    Alive(Box<Live>),
}

impl Supervisor {
    fn supervise(self, start: Option<Start>) -> io::Result<()> {
        match self.situation()? {
            Situation::Alive(mut live) => match self.attend(&mut live)? {
                Some(how) => self.finish(*live, how),
                None => Ok(()),
            },
            Situation::Over(status, lock) if status.begun.is_none() => match start {
                None => Ok(()),
                Some(start) => self.run(&start, lock),
            },
            Situation::Over(status, _lock) => self.conclude(&status),
        }
    }

    /// Runs a step that was not begun.
    fn run(&self, start: &Start, lock: File) -> io::Result<()> {
        if let Some(stop) = self.dir.stop()? {
            return self.stopped_before(start, stop);
        }
        let mut live = match self.start(start, lock) {
            Ok(live) => live,
            Err(error) => return self.not_started(start, error),
        };
        if let Some(how) = self.attend(&mut live)? {
            return self.finish(live, how);
        }
        match (live.child, live.complaints) {
            (Some(mut child), Some(complaints)) => {
                let why = self.not_made(&mut child, &complaints);
                self.not_started(start, why)
            }
            _ => Ok(()),
        }
    }

    fn not_started(&self, start: &Start, why: NotStarted) -> io::Result<()> {
        match why {
            NotStarted::Failed(error) => self.could_not_start(start, &error),
            // Whoever drives the run starts it again.
            NotStarted::Killed => Err(io::Error::other("process 1 was killed before it began")),
        }
    }

    /// Finds out what there is. A process that waits for its order ends by itself, since whoever had
    /// to give it is dead; one that was made and then forgotten by a killed bubblewrap does not.
    fn situation(&self) -> io::Result<Situation> {
        let lock = open_shared(&self.dir, "lock")?;
        let patience = processes::now().plus_millis(ORPHAN_GRACE);
        loop {
            match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Situation::Over(self.dir.status()?, lock)),
                Err(rustix::io::Errno::WOULDBLOCK) => {}
                Err(error) => return Err(error.into()),
            }
            let status = self.dir.status()?;
            if status.begun.is_some()
                && let Some(live) = self.take_up(&status)?
            {
                return Ok(Situation::Alive(Box::new(live)));
            }
            if status.begun.is_none() && processes::now() > patience {
                self.kill_holders();
            }
            std::thread::sleep(SOON);
        }
    }

    fn facts(&self) -> io::Result<Facts> {
        self.dir
            .facts()?
            .ok_or_else(|| io::Error::other("`step.json` is missing"))
    }

    /// The step ended while no supervisor lived, and nothing of it is left.
    fn conclude(&self, status: &Status) -> io::Result<()> {
        if self.dir.file("report.pending").exists() {
            return self.publish();
        }
        let how = match status.ended {
            Some((end, at)) => How::Ended(end, at),
            None => How::Vanished,
        };
        let facts = self.facts()?;
        let (mut log, _) = LogWriter::open(&self.dir.file("log"))?;
        let report = self.report(&facts, how, None, &mut log)?;
        self.dir.write_json("report.pending", &report)?;
        cgroup::remove(&facts.cgroups);
        self.publish()
    }

    fn publish(&self) -> io::Result<()> {
        std::fs::rename(self.dir.file("report.pending"), self.dir.file("report"))
    }
}

/// Says something of our own in the log.
fn notice(log: &mut LogWriter, text: &str) -> io::Result<()> {
    let frame = LogFrame {
        at: processes::now(),
        stream: Stream::Notice,
        bytes: format!("{text}\n").into_bytes(),
    };
    log.write(&frame, Position::default())
}
