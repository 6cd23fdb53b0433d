//! The document: Argo-compatible types, reading YAML with positions, expressions and variables,
//! linting, and resolving templates into a [`ResolvedWorkflow`](resolve::ResolvedWorkflow).
//!
//! It does no input or output, reads no clock, environment or random source, and knows nothing of
//! runs, nodes or processes. Read first: [`document::Workflow`] (what the author wrote) and
//! [`diagnostic::Diagnostic`] (what is wrong with it, and where).

#![warn(missing_docs)]

pub mod diagnostic;
pub mod document;
pub mod expr;
mod fields;
pub mod lint;
pub mod nearest;
pub mod read;
pub mod resolve;
pub mod support;
pub mod variables;
