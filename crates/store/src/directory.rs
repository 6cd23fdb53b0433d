//! The data directory: made, checked, refused.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use groundplan_ports::error::{ErrorKind, PortError, PortResult};
use rustix::{fs::statvfs, process::geteuid};

use self::network::network_file_system;
use crate::failure::full;

mod network;

/// With fewer free bytes no run would get far.
const NEEDED: u64 = 1024 * 1024;

/// A directory of ours that can be read and written, on a local file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataDirectory {
    path: PathBuf,
}

impl DataDirectory {
    /// Opens the directory, or makes it with mode 0700. *Broken*, with a hint, where it lies on a
    /// network file system, is read-only, full, somebody else's, or open to others. Blocks.
    pub fn open(path: &Path) -> PortResult<Self> {
        if !path.exists() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(path)
                .map_err(|error| unusable(path, "cannot be made", error))?;
        }
        let path = path
            .canonicalize()
            .map_err(|error| unusable(path, "cannot be opened", error))?;
        check_owner(&path)?;
        check_file_system(&path)?;
        check_mode(&path)?;
        check_room(&path)?;
        Ok(DataDirectory { path })
    }

    /// Its canonical path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A directory of this name within it, made with mode 0700 where it is missing. Blocks.
    pub fn subdirectory(&self, name: &str) -> PortResult<PathBuf> {
        let path = self.path.join(name);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .map_err(|error| unusable(&path, "cannot be made", error))?;
        Ok(path)
    }
}

/// Free bytes for us on the file system of a path.
pub(crate) fn free_bytes(path: &Path) -> io::Result<u64> {
    let stat = statvfs(path)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

fn refuse(path: &Path, why: impl std::fmt::Display, hint: impl Into<String>) -> PortError {
    PortError::new(
        ErrorKind::Broken,
        format!("the data directory `{}` {why}", path.display()),
    )
    .with_hint(hint)
}

fn unusable(path: &Path, why: &str, error: io::Error) -> PortError {
    if matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    ) {
        return full(path);
    }
    let why = match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem => "lies on a read-only file system",
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => "is not a directory",
        _ => why,
    };
    refuse(
        path,
        why,
        "give another with `--data-dir` or `GROUNDPLAN_DATA_DIR`",
    )
    .caused_by(error)
}

fn check_owner(path: &Path) -> PortResult<()> {
    let metadata = fs::metadata(path).map_err(|error| unusable(path, "cannot be read", error))?;
    if !metadata.is_dir() {
        return Err(refuse(
            path,
            "is not a directory",
            "give another with `--data-dir` or `GROUNDPLAN_DATA_DIR`",
        ));
    }
    let ours = geteuid().as_raw();
    if metadata.uid() != ours {
        return Err(refuse(
            path,
            format!("belongs to user {}, not to user {ours}", metadata.uid()),
            "run as its owner, or give another with `--data-dir` or `GROUNDPLAN_DATA_DIR`",
        ));
    }
    Ok(())
}

fn check_file_system(path: &Path) -> PortResult<()> {
    let found =
        network_file_system(path).map_err(|error| unusable(path, "cannot be read", error))?;
    match found {
        None => Ok(()),
        Some(kind) => Err(refuse(
            path,
            format!("lies on a network file system ({kind}), where a database is not safe"),
            "give a directory of a local disk with `--data-dir` or `GROUNDPLAN_DATA_DIR`",
        )),
    }
}

/// An empty directory is closed to others; one with something in it may serve others as well.
fn check_mode(path: &Path) -> PortResult<()> {
    let explain = |error| unusable(path, "cannot be read", error);
    let mode = fs::metadata(path).map_err(explain)?.mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    if fs::read_dir(path).map_err(explain)?.next().is_none() {
        return fs::set_permissions(path, fs::Permissions::from_mode(0o700))
            .map_err(|error| unusable(path, "cannot be closed to others", error));
    }
    Err(refuse(
        path,
        format!("has mode {mode:04o}, so that others can get at it"),
        format!("`chmod 700 {}`, if it is meant for this", path.display()),
    ))
}

fn check_room(path: &Path) -> PortResult<()> {
    let free = free_bytes(path).map_err(|error| unusable(path, "cannot be read", error))?;
    write_probe(path).map_err(|error| unusable(path, "cannot be written", error))?;
    if free < NEEDED {
        return Err(full(path));
    }
    Ok(())
}

/// Whether a file can be made, filled and deleted.
fn write_probe(path: &Path) -> io::Result<()> {
    let probe = path.join(format!(".probe-{}", std::process::id()));
    let written = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(&probe)
        .and_then(|mut file: File| file.write_all(&[0; 4096]));
    match fs::remove_file(&probe) {
        Err(error) if written.is_ok() && error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => written,
    }
}
