//! Plans in, summaries and texts out.

#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps")]

mod corpus;
mod faults;
mod summaries;
