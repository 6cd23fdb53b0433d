//! The fakes keep the contracts that the real implementations keep.

mod memory_store;
