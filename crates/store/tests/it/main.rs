//! The store on real files.

mod blobs;
mod journal;
mod logs;
mod secrets;
