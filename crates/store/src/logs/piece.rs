//! A piece of a log: frames, encoded behind one another and compressed as one.

use std::{fs::File, os::unix::fs::FileExt, path::Path};

use groundplan_engine::time::Timestamp;
use groundplan_ports::{
    error::{ErrorKind, PortError, PortResult},
    logs::{LogFrame, Stream},
};
use groundplan_sealing::digest;

use super::{
    chunk,
    index::{Piece, Place},
};
use crate::failure::explain_io;

/// How many encoded bytes make a piece.
pub(super) const PIECE: usize = 256 * 1024;

/// Longer frames are cut; their parts keep time and stream.
pub(super) const LONGEST: usize = 64 * 1024;

/// A piece is closed when it has [`PIECE`] bytes, so that one frame may reach beyond.
const LARGEST: usize = PIECE + HEAD + LONGEST;

/// Bytes before those of a frame: time, stream, length.
const HEAD: usize = 8 + 1 + 4;

/// Encodes part of a frame behind others.
pub(super) fn encode(frame: &LogFrame, bytes: &[u8], into: &mut Vec<u8>) {
    let length = u32::try_from(bytes.len()).expect("a part has at most 64 KiB");
    into.extend_from_slice(&frame.at.0.to_le_bytes());
    into.push(match frame.stream {
        Stream::Stdout => 1,
        Stream::Stderr => 2,
        Stream::Notice => 3,
    });
    into.extend_from_slice(&length.to_le_bytes());
    into.extend_from_slice(bytes);
}

/// Reads, checks and decodes a piece. Blocks; *broken* where it is not what was written.
pub(super) fn read(directory: &Path, place: &Place, piece: &Piece) -> PortResult<Vec<LogFrame>> {
    let path = chunk::path(directory, place.chunk);
    let size = usize::try_from(piece.size).unwrap_or(usize::MAX);
    // Compressing never makes a piece much longer, so that a damaged index costs no memory.
    if size > 2 * LARGEST {
        return Err(damaged(place, &path));
    }
    let mut compressed = vec![0; size];
    File::open(&path)
        .and_then(|file| file.read_exact_at(&mut compressed, piece.position))
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::UnexpectedEof => {
                damaged(place, &path).caused_by(error)
            }
            _ => explain_io("read", &path, error),
        })?;
    if digest(&compressed) != piece.checksum {
        return Err(damaged(place, &path));
    }
    let encoded = zstd::bulk::decompress(&compressed, LARGEST)
        .map_err(|error| damaged(place, &path).caused_by(error))?;
    decode(&encoded).ok_or_else(|| damaged(place, &path))
}

fn damaged(place: &Place, path: &Path) -> PortError {
    PortError::new(
        ErrorKind::Broken,
        format!(
            "the log of `{}` is damaged in `{}`",
            place.record.step,
            path.display()
        ),
    )
    .with_hint("restore the file from a backup; other logs are not concerned")
}

fn decode(mut encoded: &[u8]) -> Option<Vec<LogFrame>> {
    let mut frames = Vec::new();
    while !encoded.is_empty() {
        let (at, rest) = encoded.split_first_chunk::<8>()?;
        let (stream, rest) = rest.split_first()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (bytes, rest) = rest.split_at_checked(length)?;
        frames.push(LogFrame {
            at: Timestamp(i64::from_le_bytes(*at)),
            stream: match stream {
                1 => Stream::Stdout,
                2 => Stream::Stderr,
                3 => Stream::Notice,
                _ => return None,
            },
            bytes: bytes.to_vec(),
        });
        encoded = rest;
    }
    Some(frames)
}

/// The frames without their first `skip` bytes.
pub(super) fn from_offset(mut frames: Vec<LogFrame>, skip: u64) -> Vec<LogFrame> {
    let mut skip = usize::try_from(skip).unwrap_or(usize::MAX);
    for frame in &mut frames {
        let cut = skip.min(frame.bytes.len());
        frame.bytes.drain(..cut);
        skip -= cut;
    }
    frames.retain(|frame| !frame.bytes.is_empty());
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(stream: Stream, bytes: &[u8]) -> LogFrame {
        LogFrame {
            at: Timestamp(-5),
            stream,
            bytes: bytes.to_vec(),
        }
    }

    #[test]
    fn frames_survive_encoding_and_cuts_do_not() {
        let frames = [
            frame(Stream::Stdout, b"one"),
            frame(Stream::Stderr, b"\xff\0"),
            frame(Stream::Notice, b"three\n"),
        ];
        let mut encoded = Vec::new();
        let mut ends = vec![0];
        for frame in &frames {
            encode(frame, &frame.bytes, &mut encoded);
            ends.push(encoded.len());
        }
        assert_eq!(decode(&encoded).unwrap(), frames);
        for cut in 0..encoded.len() {
            assert_eq!(
                decode(&encoded[..cut]).is_some(),
                ends.contains(&cut),
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn reading_from_an_offset_cuts_frames() {
        let frames = || vec![frame(Stream::Stdout, b"abc"), frame(Stream::Stderr, b"de")];
        assert_eq!(from_offset(frames(), 0), frames());
        assert_eq!(
            from_offset(frames(), 2),
            [frame(Stream::Stdout, b"c"), frame(Stream::Stderr, b"de")]
        );
        assert_eq!(from_offset(frames(), 3), [frame(Stream::Stderr, b"de")]);
        assert!(from_offset(frames(), 9).is_empty());
    }
}
