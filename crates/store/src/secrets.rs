//! Secrets and configuration values from files, and the place that seals sensitive outputs.

use std::{collections::BTreeMap, path::PathBuf};

use async_trait::async_trait;
use groundplan_ports::{
    error::{ErrorKind, PortError, PortResult},
    secrets::{ResolvedSecret, SecretRef, SecretScope, SecretSourceKind, SecretValue, Secrets},
};
use groundplan_sealing::Key;
use groundplan_workflow::nearest::nearest;

use self::{
    object::{Object, read_file},
    sealed::Vault,
};
use crate::database::Database;

mod object;
mod sealed;

pub use sealed::without_tokens;

/// Secrets of the files that a person named, and a vault for sensitive outputs in the database.
#[derive(Debug)]
pub struct FileSecrets {
    objects: BTreeMap<Name, Object>,
    vault: Vault,
}

/// Kind, name, and the namespace where the document has one.
type Name = (SecretSourceKind, String, Option<String>);

impl FileSecrets {
    /// Reads files of Kubernetes Secrets and ConfigMaps, YAML or JSON, several documents a file.
    /// *Invalid*, naming file, line and way out, where one cannot be read, holds anything else, gives
    /// an object twice, or holds a Secret and can be read by others. Blocks.
    pub fn read(files: &[PathBuf], database: Database, key: Key) -> PortResult<Self> {
        let mut objects: BTreeMap<Name, Object> = BTreeMap::new();
        for file in files {
            for object in read_file(file)? {
                let name = (object.kind, object.name.clone(), object.namespace.clone());
                if let Some(first) = objects.get(&name) {
                    return Err(given_twice(first, &object));
                }
                objects.insert(name, object);
            }
        }
        Ok(FileSecrets {
            objects,
            vault: Vault::new(database, key),
        })
    }

    /// The object of a scope: one of its namespace before one that names none.
    fn find(&self, scope: &SecretScope, reference: &SecretRef) -> Option<&Object> {
        [Some(scope.namespace.clone()), None]
            .into_iter()
            .find_map(|namespace| {
                self.objects
                    .get(&(reference.kind, reference.name.clone(), namespace))
            })
    }

    fn no_object(&self, scope: &SecretScope, reference: &SecretRef) -> PortError {
        let kind = kind_name(reference.kind);
        let in_scope = self.objects.keys().filter(|(kind, _, namespace)| {
            *kind == reference.kind
                && namespace
                    .as_ref()
                    .is_none_or(|namespace| *namespace == scope.namespace)
        });
        let nearest = nearest(&reference.name, in_scope.map(|(_, name, _)| name.as_str()));
        let wanted = match &reference.key {
            Some(key) => format!("key `{key}` of {kind} `{}`", reference.name),
            None => format!("{kind} `{}`", reference.name),
        };
        let hint = match nearest {
            Some(nearest) => format!("`{nearest}` is there; is that meant?"),
            None => format!(
                "give a file with a {kind} `{}` by `--secrets FILE`",
                reference.name
            ),
        };
        PortError::new(
            ErrorKind::NotFound,
            format!("there is no {wanted} in namespace `{}`", scope.namespace),
        )
        .with_hint(hint)
    }
}

fn kind_name(kind: SecretSourceKind) -> &'static str {
    match kind {
        SecretSourceKind::Secret => "Secret",
        SecretSourceKind::ConfigMap => "ConfigMap",
    }
}

fn given_twice(first: &Object, second: &Object) -> PortError {
    PortError::new(
        ErrorKind::Invalid,
        format!(
            "{} `{}` is given twice: in `{}` line {} and in `{}` line {}",
            kind_name(first.kind),
            first.name,
            first.file.display(),
            first.line,
            second.file.display(),
            second.line,
        ),
    )
    .with_hint("remove one of them")
}

fn no_key(object: &Object, key: &str) -> PortError {
    let known: Vec<_> = object.data.keys().map(String::as_str).collect();
    let hint = match nearest(key, known.iter().copied()) {
        Some(nearest) => format!("key `{nearest}` is there; is that meant?"),
        None if known.is_empty() => "it has no keys at all".to_owned(),
        None => format!("its keys are `{}`", known.join("`, `")),
    };
    PortError::new(
        ErrorKind::NotFound,
        format!(
            "{} `{}` of `{}` has no key `{key}`",
            kind_name(object.kind),
            object.name,
            object.file.display()
        ),
    )
    .with_hint(hint)
}

#[async_trait]
impl Secrets for FileSecrets {
    async fn resolve(
        &self,
        scope: &SecretScope,
        reference: &SecretRef,
    ) -> PortResult<Vec<ResolvedSecret>> {
        let object = self
            .find(scope, reference)
            .ok_or_else(|| self.no_object(scope, reference))?;
        let resolved = |(key, value): (&String, &SecretValue)| ResolvedSecret {
            key: key.clone(),
            value: value.clone(),
        };
        match &reference.key {
            None => Ok(object.data.iter().map(resolved).collect()),
            Some(key) => match object.data.get_key_value(key) {
                Some(entry) => Ok(vec![resolved(entry)]),
                None => Err(no_key(object, key)),
            },
        }
    }

    async fn seal(&self, value: &SecretValue) -> PortResult<String> {
        self.vault.seal(value).await
    }

    async fn open(&self, text: &str) -> PortResult<Vec<(String, SecretValue)>> {
        self.vault.open(text).await
    }
}
