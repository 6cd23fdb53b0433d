//! Placeholder.

pub mod tools;
