//! One output of the tool on its way into the log.
//!
//! The bytes wait in a pipe, are moved into a file in memory that process 1 keeps (`splice`, which a
//! kill cannot tear apart), are masked, and are written as a frame that says how far the stream is
//! accounted for. Only then their memory is given back. Whoever comes next goes on from the last
//! frame. A full pipe makes the tool wait.

use std::{
    fs::File,
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::FileExt,
    },
};

use groundplan_ports::logs::{LogFrame, Stream};
use groundplan_redaction::{Masker, Needles, Position};
use rustix::{fs::FallocateFlags, io::Errno, pipe::SpliceFlags};

use crate::{log_file::LogWriter, processes};

/// Most bytes that become one frame.
const CHUNK: usize = 64 << 10;

/// Memory is given back in pieces of this size.
const PIECE: u64 = 256 << 10;

#[derive(Debug)]
pub(super) struct Output {
    stream: Stream,
    pipe: OwnedFd,
    memory: File,
    masker: Masker,
    /// Raw bytes that were given to the masker.
    fed: u64,
    /// The last position that the log knows.
    logged: Position,
    /// Raw bytes whose memory was given back.
    given_back: u64,
    /// Raw bytes before the end that are kept for the result.
    kept: u64,
    /// A masked frame that the log did not take.
    unwritten: Option<LogFrame>,
}

impl Output {
    pub(super) fn new(
        stream: Stream,
        (pipe, memory): (OwnedFd, OwnedFd),
        needles: &Needles,
        position: Position,
        kept: u64,
    ) -> Self {
        Output {
            stream,
            pipe,
            memory: memory.into(),
            masker: Masker::resume(needles, position),
            fed: position.offset,
            logged: position,
            given_back: position.offset.saturating_sub(kept) / PIECE * PIECE,
            kept,
            unwritten: None,
        }
    }

    /// The pipe, to wait for.
    pub(super) fn pipe(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// Moves a chunk on; whether there was one.
    pub(super) fn advance(&mut self, log: &mut LogWriter) -> io::Result<bool> {
        self.write(log)?;
        let mut end = self.memory.metadata()?.len();
        if end == self.fed {
            end += self.fetch(end)?;
        }
        if end == self.fed {
            return Ok(false);
        }
        let wanted = usize::try_from(end - self.fed).map_or(CHUNK, |waiting| waiting.min(CHUNK));
        let mut chunk = vec![0; wanted];
        self.memory.read_exact_at(&mut chunk, self.fed)?;
        self.fed += wanted as u64;
        let masked = self.masker.feed(&chunk);
        self.frame(masked, log)?;
        Ok(true)
    }

    /// Ends the stream: what might have become a secret did not.
    pub(super) fn finish(&mut self, log: &mut LogWriter) -> io::Result<()> {
        self.write(log)?;
        let masked = self.masker.finish();
        self.frame(masked, log)
    }

    /// The last raw bytes, at most `limit`, and whether there were more.
    pub(super) fn tail(&self, limit: u64) -> io::Result<(Vec<u8>, bool)> {
        let end = self.memory.metadata()?.len();
        let from = end.saturating_sub(limit);
        let length = usize::try_from(end - from).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        self.memory.read_exact_at(&mut bytes, from)?;
        Ok((bytes, from > 0))
    }

    /// Moves what waits in the pipe behind `end`; how many bytes.
    fn fetch(&self, end: u64) -> io::Result<u64> {
        let mut offset = end;
        let flags = SpliceFlags::NONBLOCK;
        match rustix::pipe::splice(
            &self.pipe,
            None,
            &self.memory,
            Some(&mut offset),
            CHUNK,
            flags,
        ) {
            Ok(moved) => Ok(moved as u64),
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    fn frame(&mut self, masked: Vec<u8>, log: &mut LogWriter) -> io::Result<()> {
        if masked.is_empty() && self.masker.position() == self.logged {
            return Ok(());
        }
        self.unwritten = Some(LogFrame {
            at: processes::now(),
            stream: self.stream,
            bytes: masked,
        });
        self.write(log)
    }

    fn write(&mut self, log: &mut LogWriter) -> io::Result<()> {
        if let Some(frame) = &self.unwritten {
            let position = self.masker.position();
            log.write(frame, position)?;
            self.logged = position;
            self.unwritten = None;
            self.give_back()?;
        }
        Ok(())
    }

    /// Gives back the memory of what is in the log and not kept.
    fn give_back(&mut self) -> io::Result<()> {
        let until = self.logged.offset.saturating_sub(self.kept) / PIECE * PIECE;
        if until > self.given_back {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let length = until - self.given_back;
            rustix::fs::fallocate(&self.memory, flags, self.given_back, length)?;
            self.given_back = until;
        }
        Ok(())
    }
}
