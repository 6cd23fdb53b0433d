//! What is wrong with a document, and where: values, many at a time.

use serde::{Deserialize, Serialize};

/// How much a diagnostic matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// What this machine ignores or refuses, said once.
    Notice,
    /// Argo accepts it, but it is probably not what the author meant.
    Warning,
    /// Argo rejects it, or it cannot run.
    Error,
}

/// A place in a source text. Lines and columns count from 1, columns in characters.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Byte offset from the start of the file, from 0.
    pub offset: u32,
    /// Length of the marked text in bytes; 0 where only the start is known.
    pub length: u32,
}

/// One fault or remark about one place of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// Stable code such as `unknown-field`; what `groundplan explain` takes.
    pub code: String,
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong: a lowercase fragment without a final stop, names in backticks.
    pub message: String,
    /// The file as the caller named it.
    pub file: String,
    /// Where; `None` only for faults of a whole file (missing, empty, binary).
    pub position: Option<Position>,
    /// Path within the document such as `spec.templates[0].dag.tasks[1].template`.
    pub path: String,
    /// The way out, where there is one.
    pub hint: Option<String>,
}
