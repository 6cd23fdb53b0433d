//! Integration tests of the runners.

mod doctor;
mod tools;
