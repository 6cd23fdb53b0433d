//! Locks that a document asks for.

use serde::{Deserialize, Serialize};

/// `synchronization` of a workflow or a template. The singular form that Argo 4 removed is folded
/// into `mutexes` by the reader, with a warning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Synchronization {
    /// Mutexes, all of which are needed at once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mutexes: Vec<MutexReference>,
}

/// A mutex by name within a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MutexReference {
    /// Name; may hold tags.
    pub name: String,
    /// Namespace; empty means that of the workflow.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}
