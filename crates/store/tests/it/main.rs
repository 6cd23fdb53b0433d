//! The store on real files.

mod blobs;
mod database;
mod directory;
mod interleavings;
mod journal;
mod key;
mod logs;
mod process;
mod secrets;
