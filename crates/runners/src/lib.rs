//! Placeholder.

pub mod doctor;
pub mod tools;
