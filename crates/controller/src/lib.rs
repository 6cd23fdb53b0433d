//! The loop: **load → decide → commit events and actions in one transaction → perform actions →
//! feed each result back as the next input**.
//!
//! The only place that is asynchronous and has effects, and it has them through ports alone. It
//! decides nothing: decisions are made by `engine::decide` and `engine::sync`. Read first:
//! [`Controller`] (what it is made of) and `drive.rs` (the loop for one run).

mod codec;
mod controller;
mod drive;
mod error;
mod intake;
mod journal;
mod perform;
pub mod preflight;
mod quantity;
mod settings;
mod step_spec;

pub use controller::{Controller, Options, Ports};
pub use drive::{Control, Ending, TurnView, Watcher};
pub use error::Error;
pub use intake::Submission;
pub use journal::{History, events_of};
pub use settings::RunSettings;
