//! The fakes keep the contracts that the real implementations keep.

mod memory;
mod memory_store;
