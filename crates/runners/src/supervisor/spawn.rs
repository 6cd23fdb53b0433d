//! Bringing process 1 to life, in a sandbox or without.

use std::{
    fs::File,
    io::{self, Read},
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::{Child, Command, Stdio},
};

use command_fds::{CommandFdExt, FdMapping};
use rustix::{
    pipe::{PipeFlags, pipe_with},
    process::Pid,
};
use serde::Deserialize;

use crate::{
    init,
    order::{SandboxOrder, Start},
    sandbox,
    step_dir::StepDir,
    take,
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

/// Process 1 and whatever it was started through, waiting for its order.
pub(super) struct Spawned {
    /// What we started: bubblewrap, or process 1 itself.
    pub(super) child: Child,
    /// Where process 1 gets its order.
    pub(super) socket: UnixStream,
    /// What bubblewrap and process 1 complain of.
    pub(super) complaints: OwnedFd,
    /// What bubblewrap says of its child.
    info: Option<File>,
}

impl Spawned {
    /// Starts process 1. Every process of the step inherits `lock`.
    pub(super) fn new(start: &Start, dir: &StepDir, lock: File) -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        let (complaints, complain) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let (child, info) = match &start.sandbox {
            Some(order) => {
                let words =
                    sandbox::Words::of(order, &start.executable, &dir.file("root"), FILES_NUMBER)?;
                let (child, info) = sandboxed(order, words, theirs, complain, lock)?;
                (child, Some(info))
            }
            None => {
                let mut command = Command::new(&start.executable);
                command.arg(init::SUBCOMMAND);
                let mappings = vec![map(lock.into(), LOCK_NUMBER)];
                (spawn(&mut command, theirs, complain, mappings)?, None)
            }
        };
        Ok(Spawned {
            child,
            socket,
            complaints,
            info,
        })
    }

    /// The number of process 1; `None` where bubblewrap could not make one.
    pub(super) fn process_one(&mut self) -> io::Result<Option<Pid>> {
        match self.info.take() {
            Some(info) => child_pid(info),
            None => Ok(Some(Pid::from_child(&self.child))),
        }
    }
}

/// Starts bubblewrap, and answers where it says which process it made.
fn sandboxed(
    order: &SandboxOrder,
    words: sandbox::Words,
    socket: UnixStream,
    complain: OwnedFd,
    lock: File,
) -> io::Result<(Child, File)> {
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
    Ok((child, info.into()))
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

fn map(parent_fd: OwnedFd, child_fd: i32) -> FdMapping {
    FdMapping {
        parent_fd,
        child_fd,
    }
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
