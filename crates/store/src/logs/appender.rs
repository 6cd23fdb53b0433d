//! Appending one log to a chunk.

use std::os::unix::fs::FileExt;

use groundplan_ports::{error::PortResult, logs::LogFrame};
use groundplan_sealing::{Hasher, digest};

use super::{
    chunk::Chunk,
    index::Piece,
    piece::{LONGEST, PIECE, encode},
};
use crate::failure::explain_io;

/// How hard the compressor tries: fast, and small enough for text.
const LEVEL: i32 = 3;

/// A log on its way into a chunk. Dropped, nothing of it stays.
pub(super) struct Appender {
    tail: Tail,
    /// Encoded frames of the piece in the making.
    encoded: Vec<u8>,
    /// Offset of that piece's first byte within the log.
    offset: u64,
    length: u64,
    hasher: Hasher,
    pieces: Vec<Piece>,
}

/// A log that is in its chunk and not yet in the index. Dropped, nothing of it stays.
#[derive(Debug)]
pub(super) struct Appended {
    tail: Tail,
    length: u64,
    digest: String,
    pieces: Vec<Piece>,
}

/// The end of a chunk from where the log begins.
#[derive(Debug)]
struct Tail {
    chunk: Chunk,
    begin: u64,
    position: u64,
    keep: bool,
}

impl Tail {
    fn write(&mut self, bytes: &[u8]) -> PortResult<u64> {
        let position = self.position;
        self.chunk
            .file()
            .write_all_at(bytes, position)
            .map_err(|error| explain_io("append to", self.chunk.path(), error))?;
        self.position += bytes.len() as u64;
        Ok(position)
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        if !self.keep {
            // What stays where this fails is cut off when the chunk is next appended to.
            let _ = self.chunk.file().set_len(self.begin);
        }
    }
}

impl Appender {
    /// Appends behind `end`; what lies there was left by somebody who died, and is cut off. Blocks.
    pub(super) fn new(chunk: Chunk, end: u64) -> PortResult<Self> {
        chunk
            .file()
            .set_len(end)
            .map_err(|error| explain_io("cut", chunk.path(), error))?;
        Ok(Appender {
            tail: Tail {
                chunk,
                begin: end,
                position: end,
                keep: false,
            },
            encoded: Vec::new(),
            offset: 0,
            length: 0,
            hasher: Hasher::new(),
            pieces: Vec::new(),
        })
    }

    /// Takes the next frames. Blocks.
    pub(super) fn take(mut self, frames: &[LogFrame]) -> PortResult<Self> {
        for frame in frames {
            self.hasher.update(&frame.bytes);
            for bytes in frame.bytes.chunks(LONGEST) {
                encode(frame, bytes, &mut self.encoded);
                self.length += bytes.len() as u64;
                if self.encoded.len() >= PIECE {
                    self.close_piece()?;
                }
            }
        }
        Ok(self)
    }

    fn close_piece(&mut self) -> PortResult<()> {
        if self.encoded.is_empty() {
            return Ok(());
        }
        let compressed = zstd::bulk::compress(&self.encoded, LEVEL)
            .map_err(|error| explain_io("compress for", self.tail.chunk.path(), error))?;
        let position = self.tail.write(&compressed)?;
        self.pieces.push(Piece {
            offset: self.offset,
            position,
            size: compressed.len() as u64,
            checksum: digest(&compressed),
        });
        self.encoded.clear();
        self.offset = self.length;
        Ok(())
    }

    /// Brings everything to the disk. Blocks.
    pub(super) fn finish(mut self) -> PortResult<Appended> {
        self.close_piece()?;
        let chunk = &self.tail.chunk;
        chunk
            .file()
            .sync_data()
            .map_err(|error| explain_io("sync", chunk.path(), error))?;
        Ok(Appended {
            tail: self.tail,
            length: self.length,
            digest: self.hasher.finish(),
            pieces: self.pieces,
        })
    }
}

impl Appended {
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn digest(&self) -> &str {
        &self.digest
    }

    pub(super) fn chunk(&self) -> u64 {
        self.tail.chunk.number()
    }

    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// From now on what was appended stays.
    pub(super) fn keep(mut self) -> Self {
        self.tail.keep = true;
        self
    }
}
