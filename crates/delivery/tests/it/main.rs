//! Plans in, summaries and texts out.

mod corpus;
mod faults;
mod summaries;
