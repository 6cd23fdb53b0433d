//! Builders, scripted fakes (one per port), the virtual clock and the contract suites. A development
//! dependency only. Read first: [`scripted_runner::ScriptedRunner`] and [`clock::VirtualClock`].

pub mod clock;
pub mod contract;
pub mod memory;
pub mod memory_store;
pub mod scripted_runner;
