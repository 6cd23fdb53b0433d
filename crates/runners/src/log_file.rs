//! The log of a step while it runs: masked frames, one after the other.
//!
//! A frame is a header of [`LOG_HEADER`] bytes and what was printed. The header holds, little-endian:
//! number of bytes (u32), stream (u8: 0 standard output, 1 standard error, 2 Groundplan itself),
//! three zero bytes, time in milliseconds of the epoch (i64), and how far the raw stream is accounted
//! for once the frame is there: offset (u64) and covered bytes (u64), see [`Position`].
//!
//! A frame without bytes only moves the position.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use groundplan_engine::time::Timestamp;
use groundplan_ports::logs::{LogFrame, Stream};
use groundplan_redaction::Position;

/// Bytes of a frame's header.
pub const LOG_HEADER: usize = 32;

/// The most bytes that a reader believes a frame to hold.
const FRAME_LIMIT: u32 = 64 << 20;

/// How far the two streams of a tool are in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Positions {
    /// Standard output.
    pub(crate) out: Position,
    /// Standard error.
    pub(crate) err: Position,
}

/// Appends frames.
#[derive(Debug)]
pub(crate) struct LogWriter {
    file: File,
    length: u64,
}

impl LogWriter {
    /// Opens a log to go on with it: a frame that was cut off by a kill is removed.
    pub(crate) fn open(path: &Path) -> io::Result<(Self, Positions)> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        let whole = file.metadata()?.len();
        let (mut length, mut positions) = (0, Positions::default());
        while let Some(header) = Header::read(&mut file)? {
            let end = length + LOG_HEADER as u64 + u64::from(header.length);
            if end > whole {
                break;
            }
            match header.stream {
                Stream::Stdout => positions.out = header.position,
                Stream::Stderr => positions.err = header.position,
                Stream::Notice => {}
            }
            length = file.seek(SeekFrom::Start(end))?;
        }
        file.set_len(length)?;
        file.seek(SeekFrom::Start(length))?;
        Ok((LogWriter { file, length }, positions))
    }

    /// Appends one frame. Where that fails, nothing of it is in the log.
    pub(crate) fn write(&mut self, frame: &LogFrame, position: Position) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(LOG_HEADER + frame.bytes.len());
        let length = u32::try_from(frame.bytes.len()).map_err(io::Error::other)?;
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&[stream_number(frame.stream), 0, 0, 0]);
        bytes.extend_from_slice(&frame.at.0.to_le_bytes());
        bytes.extend_from_slice(&position.offset.to_le_bytes());
        bytes.extend_from_slice(&position.covered.to_le_bytes());
        bytes.extend_from_slice(&frame.bytes);
        if let Err(error) = self.file.write_all(&bytes) {
            self.file.set_len(self.length)?;
            self.file.seek(SeekFrom::Start(self.length))?;
            return Err(error);
        }
        self.length += bytes.len() as u64;
        Ok(())
    }
}

struct Header {
    length: u32,
    stream: Stream,
    at: Timestamp,
    position: Position,
}

impl Header {
    /// The next header; `None` where there is no whole one or it makes no sense.
    fn read(file: &mut impl Read) -> io::Result<Option<Self>> {
        let mut bytes = Vec::with_capacity(LOG_HEADER);
        file.take(LOG_HEADER as u64).read_to_end(&mut bytes)?;
        Ok(Header::parse(&bytes))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let number = |from: usize| {
            let bytes = bytes.get(from..from + 8)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        let stream = match bytes.get(4)? {
            0 => Stream::Stdout,
            1 => Stream::Stderr,
            2 => Stream::Notice,
            _ => return None,
        };
        let length = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
        (length <= FRAME_LIMIT).then_some(Header {
            length,
            stream,
            at: Timestamp(number(8)?.cast_signed()),
            position: Position {
                offset: number(16)?,
                covered: number(24)?,
            },
        })
    }
}

fn stream_number(stream: Stream) -> u8 {
    match stream {
        Stream::Stdout => 0,
        Stream::Stderr => 1,
        Stream::Notice => 2,
    }
}

/// Reads frames from the first on, while they are still written.
#[derive(Debug)]
pub(crate) struct LogReader {
    file: File,
    offset: u64,
}

impl LogReader {
    /// Opens a log; `None` where none was begun.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        match File::open(path) {
            Ok(file) => Ok(Some(LogReader { file, offset: 0 })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The whole frames that are there, up to about `limit` bytes of them.
    pub(crate) fn read(&mut self, limit: usize) -> io::Result<Vec<LogFrame>> {
        let mut frames = Vec::new();
        let mut total = 0;
        while total < limit {
            self.file.seek(SeekFrom::Start(self.offset))?;
            let Some(header) = Header::read(&mut self.file)? else {
                break;
            };
            let mut bytes = Vec::new();
            let wanted = u64::from(header.length);
            (&mut self.file).take(wanted).read_to_end(&mut bytes)?;
            if bytes.len() as u64 != wanted {
                break;
            }
            self.offset += LOG_HEADER as u64 + wanted;
            total += bytes.len();
            if !bytes.is_empty() {
                frames.push(LogFrame {
                    at: header.at,
                    stream: header.stream,
                    bytes,
                });
            }
        }
        Ok(frames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(text: &str) -> LogFrame {
        LogFrame {
            at: Timestamp(7),
            stream: Stream::Stderr,
            bytes: text.into(),
        }
    }

    #[test]
    fn a_frame_cut_off_anywhere_is_removed_and_the_position_before_it_holds() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log");
        let position = |offset| Position { offset, covered: 0 };
        let (mut log, _) = LogWriter::open(&path).expect("it opens");
        log.write(&frame("one"), position(3))
            .expect("it is written");
        let first = log.length;
        log.write(&frame("two"), position(6))
            .expect("it is written");
        let bytes = std::fs::read(&path).expect("it is there");
        for cut in usize::try_from(first).expect("small")..bytes.len() {
            std::fs::write(&path, &bytes[..cut]).expect("it is written");
            let (mut log, positions) = LogWriter::open(&path).expect("it opens");
            assert_eq!(positions.err, position(3), "cut at {cut}");
            log.write(&frame("2"), position(6)).expect("it is written");
            let mut reader = LogReader::open(&path).expect("it opens").expect("it is");
            let frames = reader.read(1 << 20).expect("it reads");
            assert_eq!(frames, [frame("one"), frame("2")]);
        }
    }
}
