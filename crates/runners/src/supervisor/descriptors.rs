//! The descriptors of a step that begins: made by its supervisor, kept by its process 1.

use std::{
    fs::OpenOptions,
    io::{self, IoSlice, Write},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{fs::OpenOptionsExt, net::UnixStream},
    },
};

use rustix::{
    fs::{MemfdFlags, memfd_create},
    net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg},
    pipe::{PipeFlags, fcntl_setpipe_size, pipe_with},
};

use super::live::Pipes;
use crate::{init::DESCRIPTORS, step_dir::StepDir};

/// Bytes that a pipe holds while nobody attends to the step, where the system allows it.
const PIPE_SIZE: usize = 1 << 20;

/// A step's descriptors before they are handed out. Pipes are reader and writer.
pub(super) struct Descriptors {
    status: OwnedFd,
    control: [OwnedFd; 2],
    bell: [OwnedFd; 2],
    out: [OwnedFd; 2],
    err: [OwnedFd; 2],
    memory: [OwnedFd; 2],
}

impl Descriptors {
    /// Makes those of a step that begins.
    pub(super) fn make(dir: &StepDir) -> io::Result<Self> {
        let status = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(dir.file("status"))?;
        status.set_len(0)?;
        let pipe = |flags| pipe_with(PipeFlags::CLOEXEC | flags).map(<[OwnedFd; 2]>::from);
        let memory = |name| memfd_create(name, MemfdFlags::CLOEXEC);
        let (out, err) = (pipe(PipeFlags::empty())?, pipe(PipeFlags::empty())?);
        for pipe in [&out, &err] {
            // Where it is not allowed the pipe holds less.
            let _ = fcntl_setpipe_size(&pipe[0], PIPE_SIZE);
        }
        Ok(Descriptors {
            status: status.into(),
            control: pipe(PipeFlags::empty())?,
            bell: pipe(PipeFlags::NONBLOCK)?,
            out,
            err,
            memory: [memory("groundplan-out")?, memory("groundplan-err")?],
        })
    }

    /// Sends process 1 its order and its descriptors, in the order of `init::Kept`.
    pub(super) fn send(&self, socket: &UnixStream, message: &[u8]) -> io::Result<()> {
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
    pub(super) fn keep(self) -> (Pipes, Vec<OwnedFd>) {
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
