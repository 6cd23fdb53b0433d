//! Process steps: supervisor, sandbox, staging, capture; and the tools they need.
//!
//! [`ProcessRunner`] starts each step under a supervisor of its own, which outlives the process that
//! asked for it, and a small process 1 inside the sandbox that keeps the step's output and writes its
//! exit status. [`step_dir`] describes the files by which these processes find each other.
//!
//! What it does not do: decide which step runs, archive logs, resolve secrets.
//!
//! Read first: [`ProcessRunner`] and [`step_dir`].

pub mod doctor;
pub mod image;
pub mod init;
mod log_file;
mod order;
mod plan;
mod process;
mod processes;
mod remove;
mod sandbox;
pub mod step_dir;
pub mod supervisor;
mod take;
pub mod tools;
mod watch;
mod wire;

pub use process::{Options, ProcessRunner};
