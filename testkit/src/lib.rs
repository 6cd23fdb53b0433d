//! Builders, scripted fakes (one per port), the virtual clock and the contract suites. A development
//! dependency only. Read first: [`scripted_runner::ScriptedRunner`] and [`clock::VirtualClock`].
#![expect(
    clippy::unwrap_used,
    reason = "all of it runs inside tests, where a panic is the answer"
)]

pub mod clock;
pub mod contract;
pub mod engine;
pub mod memory;
pub mod memory_store;
pub mod scripted_runner;
