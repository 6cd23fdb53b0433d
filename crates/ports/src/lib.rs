//! The traits at the boundary, their plain data and their errors. No logic, no defaults.
//!
//! Every trait is `async` and object-safe. Each method's comment says what a repeat does and what
//! cancellation (dropping the future) leaves behind. Read first: [`Store`](store::Store) and
//! [`Runner`](runner::Runner).

#![warn(missing_docs)]

pub mod blobs;
pub mod clock;
pub mod error;
pub mod logs;
pub mod runner;
pub mod secrets;
pub mod source_tree;
pub mod store;
