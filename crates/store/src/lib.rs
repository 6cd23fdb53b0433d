//! The data directory of an installation: the journal and its tables in SQLite, and beside it logs,
//! blobs, and secrets at rest.
//!
//! Several processes on one directory are normal. It decides nothing about runs: it keeps what it is
//! given, all or nothing, and refuses what somebody else has overtaken. Read first:
//! [`DataDirectory`] and [`Sqlite`].

pub mod owner;

mod blobs;
mod database;
mod directory;
mod failure;
mod key;
mod logs;
mod secrets;
mod sqlite;

pub use blobs::BlobStore;
pub use database::Database;
pub use directory::DataDirectory;
pub use key::installation_key;
pub use logs::LogArchive;
pub use secrets::{FileSecrets, without_tokens};
pub use sqlite::Sqlite;
