//! Why work on the directory failed, and how that is said.

use std::{io, path::Path};

use groundplan_ports::error::{ErrorKind, PortError};
use rusqlite::{Error as SqlError, ErrorCode};

use crate::directory::free_bytes;

/// Fewer free bytes than this make a failed write one of a full disk.
const FULL_BELOW: u64 = 256 * 1024;

/// Why a piece of work in the database failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// SQLite said no.
    Sql(SqlError),
    /// The work itself said no.
    Port(PortError),
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Self {
        Failure::Sql(error)
    }
}

impl From<PortError> for Failure {
    fn from(error: PortError) -> Self {
        Failure::Port(error)
    }
}

impl Failure {
    /// What the caller of a port hears. `database` is the file.
    pub(crate) fn explain(self, database: &Path) -> PortError {
        match self {
            Failure::Port(error) => error,
            Failure::Sql(error) => explain_sql(error, database),
        }
    }
}

fn explain_sql(error: SqlError, database: &Path) -> PortError {
    let shown = database.display();
    let code = error.sqlite_error_code();
    let said = match code {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => busy(database),
        Some(ErrorCode::DiskFull) => full(database),
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) if is_full(database) => {
            full(database)
        }
        Some(ErrorCode::NotADatabase) => PortError::new(
            ErrorKind::Broken,
            format!("`{shown}` is not a database of Groundplan"),
        )
        .with_hint("move the file away, or give another data directory with `--data-dir`"),
        Some(ErrorCode::DatabaseCorrupt) => PortError::new(
            ErrorKind::Broken,
            format!("the database `{shown}` is damaged"),
        )
        .with_hint("restore the data directory from a backup, or move it away to begin anew"),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            PortError::new(
                ErrorKind::Broken,
                format!("the database `{shown}` cannot be written"),
            )
            .with_hint("it and its directory must belong to you and lie on a writable file system")
        }
        _ => PortError::new(
            ErrorKind::Broken,
            format!("work in the database `{shown}` failed"),
        ),
    };
    said.caused_by(error)
}

/// Another process does not let go of the database.
pub(crate) fn busy(database: &Path) -> PortError {
    PortError::new(
        ErrorKind::Transient { retry_after: None },
        format!("another process keeps `{}` locked", database.display()),
    )
    .with_hint(format!(
        "`fuser {}` names the processes that have it open",
        database.display()
    ))
}

/// What is said of a failed operation on a file of the data directory.
pub(crate) fn explain_io(doing: &str, path: &Path, error: io::Error) -> PortError {
    let said = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => full(path),
        _ => PortError::new(
            ErrorKind::Broken,
            format!("cannot {doing} `{}`", path.display()),
        ),
    };
    said.caused_by(error)
}

/// The file system of this path has no room.
pub(crate) fn full(path: &Path) -> PortError {
    PortError::new(
        ErrorKind::Broken,
        format!("the file system of `{}` is full", path.display()),
    )
    .with_hint("free some space there, or give another data directory with `--data-dir`")
}

fn is_full(path: &Path) -> bool {
    free_bytes(path.parent().unwrap_or(path)).is_ok_and(|free| free < FULL_BELOW)
}
