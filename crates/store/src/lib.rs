//! The data directory of an installation: the journal and its tables in SQLite, and beside it logs,
//! blobs, and secrets at rest.
//!
//! Several processes on one directory are normal. It decides nothing about runs: it keeps what it is
//! given, all or nothing, and refuses what somebody else has overtaken. Read first:
//! [`DataDirectory`] and [`Sqlite`].

pub mod owner;

mod database;
mod directory;
mod failure;
mod sqlite;

pub use database::Database;
pub use directory::DataDirectory;
pub use sqlite::Sqlite;
