//! What a person chose for one run, beside the document: remembered, so that a resumed run goes on
//! in the same way. Never a secret's value.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

/// Settings of a run. Values of passed variables and secrets are not among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSettings {
    /// The file that the document was read from, as the person named it.
    pub document: String,
    /// Directories behind claims and volumes, by name (`--volume name=DIR`).
    pub volumes: BTreeMap<String, PathBuf>,
    /// Names of variables handed to every step (`--pass-env`).
    pub passed_variables: Vec<String>,
    /// Read-only host paths that every step sees (`--bind-ro`).
    pub read_only_paths: Vec<PathBuf>,
    /// The file of secrets (`--secrets F`).
    pub secrets_file: Option<PathBuf>,
    /// Whether steps run in a sandbox.
    pub sandbox: bool,
    /// Whether steps may reach the network.
    pub network: bool,
    /// Milliseconds that a step which was asked to stop may take.
    pub grace_millis: u64,
    /// Host paths that documents may mount (`hostPath`).
    pub allowed_host_paths: Vec<PathBuf>,
}
