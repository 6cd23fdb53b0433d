//! Containers, scripts, and the volumes and variables they see.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{AnyString, Metadata};

/// The part of a Kubernetes container that is honoured here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Container {
    /// Container name; Argo calls the main one `main`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Image reference; the process runner maps it to tools of this machine.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub image: String,
    /// Program and leading arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<AnyString>,
    /// Further arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<AnyString>,
    /// Variables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvVar>,
    /// Variables taken from whole secrets and config maps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env_from: Vec<EnvFromSource>,
    /// Directory the program starts in.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub working_dir: String,
    /// Where volumes appear.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volume_mounts: Vec<VolumeMount>,
    /// Memory and processor limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,
}

/// A container whose last argument is the path of a file that holds `source`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Script {
    /// The container.
    #[serde(flatten)]
    pub container: Container,
    /// The file's text.
    pub source: String,
}

/// One variable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvVar {
    /// Name.
    pub name: String,
    /// Literal value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<AnyString>,
    /// Reference to a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_from: Option<EnvVarSource>,
}

/// Where a variable's value lies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvVarSource {
    /// A key of a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<KeySelector>,
    /// A key of a config map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<KeySelector>,
}

/// A key of a named object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KeySelector {
    /// Name of the secret or config map.
    pub name: String,
    /// Key within it.
    pub key: String,
    /// Whether its absence is tolerated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// All keys of an object as variables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvFromSource {
    /// Put before each name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// A secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<ObjectReference>,
    /// A config map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<ObjectReference>,
}

/// A secret or config map by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectReference {
    /// Name.
    pub name: String,
    /// Whether its absence is tolerated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// Where a volume appears in a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeMount {
    /// Name of a volume or claim.
    pub name: String,
    /// Absolute path in the container.
    pub mount_path: String,
    /// Path below the volume's root.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sub_path: String,
    /// Whether writing is refused.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

/// Limits by resource name (`cpu`, `memory`), as Kubernetes quantities.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceRequirements {
    /// What may not be exceeded.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, AnyString>,
    /// What is asked for; without meaning on one machine.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<String, AnyString>,
}

/// A volume and what is behind it: exactly one source is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Volume {
    /// Name that mounts refer to.
    pub name: String,
    /// A directory that lives as long as the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty_dir: Option<EmptyDir>,
    /// Files from a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretSource>,
    /// Files from a config map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ConfigMapSource>,
    /// A directory of this machine, only where the machine's configuration allows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_path: Option<HostPath>,
    /// A claim by name: `--volume name=DIR` says where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<ClaimReference>,
}

/// A fresh directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EmptyDir {}

/// Files from a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SecretSource {
    /// The secret's name.
    pub secret_name: String,
    /// Which keys become which files; empty means every key under its own name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<SelectorItem>,
    /// File mode where an item gives none; `None` means 0644.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<u32>,
    /// Whether its absence is tolerated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// Files from a config map.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigMapSource {
    /// The config map's name.
    pub name: String,
    /// Which keys become which files; empty means every key under its own name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<SelectorItem>,
    /// File mode where an item gives none; `None` means 0644.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<u32>,
    /// Whether its absence is tolerated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// One key and the file it becomes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SelectorItem {
    /// Key.
    pub key: String,
    /// Path below the mount.
    pub path: String,
    /// File mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// A directory of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostPath {
    /// Absolute path.
    pub path: String,
}

/// A claim by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimReference {
    /// The claim's name.
    pub claim_name: String,
    /// Whether writing is refused.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

/// A claim that every run gets anew; a directory per run here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeClaimTemplate {
    /// Its name is what mounts refer to.
    pub metadata: Metadata,
}
