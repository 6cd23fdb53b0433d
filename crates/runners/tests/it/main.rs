//! Integration tests of the runners.

mod tools;
