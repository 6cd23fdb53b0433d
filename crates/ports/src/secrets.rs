//! Values that must not be seen.

use std::fmt;

use async_trait::async_trait;

use crate::error::PortResult;

/// A secret value. It has no serialization and shows itself as `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretValue(Vec<u8>);

impl SecretValue {
    /// Wraps bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        SecretValue(bytes.into())
    }

    /// The bytes. Every caller is a place to review.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Which kind of object a value lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecretSourceKind {
    /// A Kubernetes `Secret`: masked everywhere.
    Secret,
    /// A Kubernetes `ConfigMap`: not masked.
    ConfigMap,
}

/// A reference to one object, or to one key of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretRef {
    /// The kind of object.
    pub kind: SecretSourceKind,
    /// The object's name.
    pub name: String,
    /// A key; `None` means all keys.
    pub key: Option<String>,
}

/// The scope in which references are looked up; an implementation may give nothing outside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretScope {
    /// Kubernetes namespace of the run.
    pub namespace: String,
}

/// A value and the key it lies under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedSecret {
    /// The key.
    pub key: String,
    /// The value.
    pub value: SecretValue,
}

/// A source of secrets and configuration values, and the place that seals sensitive outputs.
#[async_trait]
pub trait Secrets: Send + Sync {
    /// The values behind a reference: one for a key, all of them in key order for a whole object.
    /// *Not found* names the object and the key. Repeating it is harmless.
    async fn resolve(
        &self,
        scope: &SecretScope,
        reference: &SecretRef,
    ) -> PortResult<Vec<ResolvedSecret>>;

    /// Stores a value encrypted and answers the token that stands for it in documents, events and
    /// pages. The same value twice gives two tokens.
    async fn seal(&self, value: &SecretValue) -> PortResult<String>;

    /// Every token within a text with the value it stands for; empty where there is none.
    async fn open(&self, text: &str) -> PortResult<Vec<(String, SecretValue)>>;
}
