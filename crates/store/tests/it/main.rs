//! The store on real files.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "in tests a panic is the answer, and what did not run is said"
)]

mod blobs;
mod database;
mod directory;
mod interleavings;
mod journal;
mod key;
mod logs;
mod process;
mod secrets;
