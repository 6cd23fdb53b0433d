//! Builders, scripted fakes, the simulator and the contract suites. A development dependency only.

pub mod contract;
pub mod memory_store;
