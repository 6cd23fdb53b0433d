//! Chunk files: many logs behind one another, appended to by one process at a time.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use groundplan_ports::error::PortResult;
use rustix::{
    fs::{FallocateFlags, FlockOperation, fallocate, flock},
    io::Errno,
};

use super::index::Piece;
use crate::failure::explain_io;

/// A chunk of this size gets no more logs.
const FULL: u64 = 64 * 1024 * 1024;

/// A chunk file under our lock, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Chunk {
    number: u64,
    path: PathBuf,
    file: File,
}

/// Where a chunk lies.
pub(super) fn path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number:08}.chunk"))
}

impl Chunk {
    /// Locks the first chunk that has room and that nobody appends to, or makes a new one.
    pub(super) fn acquire(directory: &Path) -> PortResult<Self> {
        loop {
            let numbers =
                numbers(directory).map_err(|error| explain_io("list", directory, error))?;
            for number in &numbers {
                let full = |chunk: &Chunk| chunk.size().is_ok_and(|size| size >= FULL);
                match Chunk::lock(directory, *number)? {
                    Some(chunk) if !full(&chunk) => return Ok(chunk),
                    _ => {}
                }
            }
            let number = numbers.last().map_or(1, |last| last + 1);
            if let Some(chunk) = Chunk::make(directory, number)? {
                return Ok(chunk);
            }
        }
    }

    /// Locks a chunk; `None` where it is gone or somebody else has it.
    pub(super) fn lock(directory: &Path, number: u64) -> PortResult<Option<Self>> {
        let path = path(directory, number);
        let file = match OpenOptions::new().read(true).write(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(explain_io("open", &path, error)),
        };
        Chunk::locked(number, path, file)
    }

    /// Makes and locks a chunk; `None` where another was faster.
    fn make(directory: &Path, number: u64) -> PortResult<Option<Self>> {
        let path = path(directory, number);
        let made = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        let file = match made {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            Err(error) => return Err(explain_io("make", &path, error)),
        };
        sync_directory(directory)?;
        Chunk::locked(number, path, file)
    }

    fn locked(number: u64, path: PathBuf, file: File) -> PortResult<Option<Self>> {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(explain_io("lock", &path, error.into())),
        }
        let metadata = file
            .metadata()
            .map_err(|error| explain_io("read", &path, error))?;
        // It may have been removed between opening and locking.
        Ok((metadata.nlink() > 0).then_some(Chunk { number, path, file }))
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Deletes the file, of which nothing is in the index any more.
    pub(super) fn remove(self) -> PortResult<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(explain_io("delete", &self.path, error))
            }
            _ => Ok(()),
        }
    }

    /// Gives the disk space of deleted pieces back, where the file system can do that.
    pub(super) fn release_space(self, pieces: &[Piece]) -> PortResult<()> {
        let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        for piece in pieces {
            match fallocate(&self.file, mode, piece.position, piece.size) {
                Ok(()) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(()),
                Err(error) => return Err(explain_io("shrink", &self.path, error.into())),
            }
        }
        Ok(())
    }
}

/// Makes the names in a directory outlive a power cut.
pub(crate) fn sync_directory(directory: &Path) -> PortResult<()> {
    File::open(directory)
        .and_then(|opened| opened.sync_all())
        .map_err(|error| explain_io("sync", directory, error))
}

/// The chunks that exist, ascending.
fn numbers(directory: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".chunk"));
        numbers.extend(number.and_then(|number| number.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}
