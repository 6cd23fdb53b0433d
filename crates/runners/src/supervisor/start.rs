//! Starting a step: its directory, its root, its descriptors, its process 1.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, IoSlice, Read, Write},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::{
            fs::{OpenOptionsExt, PermissionsExt},
            net::UnixStream,
        },
    },
    path::Path,
    process::{Child, Command, Stdio},
};

use command_fds::{CommandFdExt, FdMapping};
use groundplan_engine::{
    action::StopReason,
    report::{StepEnd, StepOutcome, StepReport},
};
use groundplan_redaction::{Masker, Needles};
use rustix::{
    fs::{MemfdFlags, memfd_create},
    net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg},
    pipe::{PipeFlags, fcntl_setpipe_size, pipe_with},
    process::{Pid, Signal},
};
use serde::Deserialize;

use super::{
    Supervisor, cgroup,
    live::{Live, Pipes},
    notice,
};
use crate::{
    init::{self, DESCRIPTORS},
    log_file::LogWriter,
    order::{PlacedFile, SandboxOrder, Start},
    processes::{self, Process},
    sandbox, step_dir,
    step_dir::{Facts, Report, StopRequest},
    take,
    wire::Wire,
};

/// The number under which every process of a step inherits the lock.
const LOCK_NUMBER: i32 = 3;
/// The number of bubblewrap's `--args`.
const WORDS_NUMBER: i32 = 4;
/// The number of bubblewrap's `--info-fd`.
const INFO_NUMBER: i32 = 5;
/// The number of the other end of the same pipe.
const INFO_READER_NUMBER: i32 = 6;
/// The first number of bubblewrap's files.
const FILES_NUMBER: i32 = 7;

/// Bytes that a pipe holds while nobody attends to the step, where the system allows it.
const PIPE_SIZE: usize = 1 << 20;

/// A step's descriptors before they are handed out.
struct Made {
    status: OwnedFd,
    control: [OwnedFd; 2],
    bell: [OwnedFd; 2],
    out: [OwnedFd; 2],
    err: [OwnedFd; 2],
    memory: [OwnedFd; 2],
}

impl Supervisor {
    /// Starts a step whose lock we hold.
    pub(super) fn start(&self, start: &Start, lock: File) -> Result<Live, NotStarted> {
        let mut facts = self.prepare(start)?;
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
        self.dir.write_json("step.json", &facts)?;
        let made = self.make_descriptors()?;
        let (socket, theirs) = UnixStream::pair()?;
        let flags = PipeFlags::CLOEXEC | PipeFlags::NONBLOCK;
        let (complaints, complain) = pipe_with(flags).map_err(io::Error::from)?;
        let mut spawned = match &start.sandbox {
            Some(order) => self.spawn_sandboxed(start, order, theirs, complain, lock)?,
            None => spawn_plain(start, theirs, complain, lock)?,
        };
        self.settle()?;
        let init = match spawned.info.take() {
            None => Pid::from_child(&spawned.child),
            Some(info) => {
                let pid = child_pid(info)?;
                pid.ok_or_else(|| self.not_made(&mut spawned.child, &complaints))?
            }
        };
        // Where it ended already, bubblewrap could not make the sandbox; that shows below.
        let init =
            Process::open(init).map_err(|_| self.not_made(&mut spawned.child, &complaints))?;
        cgroup::enter(&facts.cgroups, init.pid())?;
        if made.send(&socket, &start.init.to_message()).is_err() {
            return Err(self.not_made(&mut spawned.child, &complaints));
        }
        let (pipes, kept) = made.keep();
        let mut live = self.live(facts, pipes, (log, positions), Some(init));
        live.complaints = Some(complaints.into());
        live.child = Some(spawned.child);
        live.kept = kept;
        Ok(live)
    }

    /// Writes what a later supervisor must know, and makes what the step finds.
    fn prepare(&self, start: &Start) -> io::Result<Facts> {
        fs::write(self.dir.file("format"), format!("{}\n", step_dir::FORMAT))?;
        let mut facts: Facts = serde_json::from_str(&start.facts)?;
        let program = start.init.argv.first().map(|word| word.expose());
        facts.program = masked(&self.needles, program.unwrap_or_default());
        facts.working_dir = masked(&self.needles, start.init.working_dir.as_bytes());
        for (base, below) in &start.directories {
            take::make_beneath(base, below)?;
        }
        for file in &start.files {
            place(file)?;
        }
        if let Some(order) = &start.sandbox {
            sandbox::make_root(&self.dir.file("root"), order)?;
        }
        Ok(facts)
    }

    fn make_descriptors(&self) -> io::Result<Made> {
        let status = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(self.dir.file("status"))?;
        status.set_len(0)?;
        let pipe = |flags| pipe_with(PipeFlags::CLOEXEC | flags).map(<[OwnedFd; 2]>::from);
        let memory = |name| memfd_create(name, MemfdFlags::CLOEXEC);
        let (out, err) = (pipe(PipeFlags::empty())?, pipe(PipeFlags::empty())?);
        for pipe in [&out, &err] {
            // Where it is not allowed the pipe holds less.
            let _ = fcntl_setpipe_size(&pipe[0], PIPE_SIZE);
        }
        Ok(Made {
            status: status.into(),
            control: pipe(PipeFlags::empty())?,
            bell: pipe(PipeFlags::NONBLOCK)?,
            out,
            err,
            memory: [memory("groundplan-out")?, memory("groundplan-err")?],
        })
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

    fn spawn_sandboxed(
        &self,
        start: &Start,
        order: &SandboxOrder,
        socket: UnixStream,
        complain: OwnedFd,
        lock: File,
    ) -> io::Result<Spawned> {
        let root = self.dir.file("root");
        let words = sandbox::Words::of(order, &start.executable, &root, FILES_NUMBER)?;
        let (info, informed) = pipe_with(PipeFlags::CLOEXEC)?;
        let mut mappings = vec![
            map(lock.into(), LOCK_NUMBER),
            map(take::in_memory(&words.words)?, WORDS_NUMBER),
            map(informed, INFO_NUMBER),
            // Should we be killed before it tells us, it must not die of that: its child would
            // wait for it for ever.
            map(info.try_clone()?, INFO_READER_NUMBER),
        ];
        let numbers = FILES_NUMBER..;
        mappings.extend(
            words
                .descriptors
                .into_iter()
                .zip(numbers)
                .map(|(descriptor, number)| map(descriptor, number)),
        );
        let mut command = Command::new(&order.bubblewrap);
        command
            .args(["--args", &WORDS_NUMBER.to_string()])
            .args(["--info-fd", &INFO_NUMBER.to_string()])
            .args(["--", sandbox::OWN_PROGRAM, init::SUBCOMMAND]);
        let child = spawn(&mut command, socket, complain, mappings).map_err(|error| {
            let path = order.bubblewrap.display();
            let said = format!(
                "bubblewrap (`{path}`) cannot be started: {error}\n\
                 hint: `groundplan doctor` says what the sandbox lacks"
            );
            io::Error::new(error.kind(), said)
        })?;
        let info = Some(info.into());
        Ok(Spawned { child, info })
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

struct Spawned {
    child: Child,
    info: Option<File>,
}

fn map(parent_fd: OwnedFd, child_fd: i32) -> FdMapping {
    FdMapping {
        parent_fd,
        child_fd,
    }
}

fn spawn_plain(
    start: &Start,
    socket: UnixStream,
    complain: OwnedFd,
    lock: File,
) -> io::Result<Spawned> {
    let mut command = Command::new(&start.executable);
    command.arg(init::SUBCOMMAND);
    let mappings = vec![map(lock.into(), LOCK_NUMBER)];
    let child = spawn(&mut command, socket, complain, mappings)?;
    Ok(Spawned { child, info: None })
}

/// Starts a process of ours with nothing of our environment.
fn spawn(
    command: &mut Command,
    socket: UnixStream,
    complain: OwnedFd,
    mappings: Vec<FdMapping>,
) -> io::Result<Child> {
    command
        .env_clear()
        .current_dir("/")
        .stdin(OwnedFd::from(socket))
        .stdout(Stdio::null())
        .stderr(complain)
        .fd_mappings(mappings)
        .map_err(io::Error::other)?
        .spawn()
}

/// What bubblewrap says of its child: nothing, where it could not make one. It holds both ends of the
/// pipe, but the writing one only until it has spoken.
fn child_pid(mut info: File) -> io::Result<Option<Pid>> {
    #[derive(Deserialize)]
    struct Info {
        #[serde(rename = "child-pid")]
        child_pid: i32,
    }
    let mut text = String::new();
    info.read_to_string(&mut text)?;
    if text.is_empty() {
        return Ok(None);
    }
    let info: Info = serde_json::from_str(&text)?;
    Ok(Pid::from_raw(info.child_pid))
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

impl Made {
    /// Sends process 1 its order and its descriptors, in the order of `init::Kept`.
    fn send(&self, socket: &UnixStream, message: &[u8]) -> io::Result<()> {
        let descriptors: [_; DESCRIPTORS] = [
            self.status.as_fd(),
            self.control[0].as_fd(),
            self.control[1].as_fd(),
            self.bell[0].as_fd(),
            self.bell[1].as_fd(),
            self.out[0].as_fd(),
            self.out[1].as_fd(),
            self.err[0].as_fd(),
            self.err[1].as_fd(),
            self.memory[0].as_fd(),
            self.memory[1].as_fd(),
        ];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
            return Err(io::Error::other("the descriptors do not fit"));
        }
        let length = (message.len() as u64).to_le_bytes();
        sendmsg(
            socket,
            &[IoSlice::new(&length)],
            &mut control,
            SendFlags::NOSIGNAL,
        )?;
        let mut socket = socket;
        socket.write_all(message)
    }

    /// Our ends, and the others, which are kept open.
    fn keep(self) -> (Pipes, Vec<OwnedFd>) {
        let [control_reader, control] = self.control;
        let [bell, bell_writer] = self.bell;
        let [out, out_writer] = self.out;
        let [err, err_writer] = self.err;
        let [memory_out, memory_err] = self.memory;
        let pipes = Pipes {
            control,
            bell,
            out,
            err,
            memory_out,
            memory_err,
        };
        let kept = vec![control_reader, bell_writer, out_writer, err_writer];
        (pipes, kept)
    }
}
