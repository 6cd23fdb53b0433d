//! What names a document.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The part of Kubernetes object metadata that has a meaning here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// The object's name; empty where `generate_name` is used.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Prefix of a name that is made when the run is created.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub generate_name: String,
    /// Kubernetes namespace; part of lock names. Empty means `default`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Labels by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}
