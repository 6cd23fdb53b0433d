//! The pure workflow machine: a [`Run`](run::Run), [`decide`](decide::decide) and
//! [`evolve`](evolve::evolve), and the lock space between runs ([`sync`]).
//!
//! It knows workflows and nodes, and nothing of pull requests, processes, files, clocks or
//! databases: `now` is an argument, random functions draw from the seed in the event *run created*,
//! and whatever must be done comes out as an [`Action`](action::Action). Read first: `run.rs` and
//! `decide.rs`.

#![warn(clippy::wildcard_enum_match_arm)]

pub mod action;
mod call;
mod deadline;
pub mod decide;
pub mod event;
pub mod evolve;
pub mod explain;
pub mod id;
pub mod input;
mod intake;
mod locks;
pub mod node;
mod outputs;
mod pass;
pub mod report;
pub mod run;
mod scope;
mod shape;
pub mod sync;
pub mod time;
