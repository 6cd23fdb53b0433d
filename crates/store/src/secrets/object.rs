//! Kubernetes Secrets and ConfigMaps in files.
//!
//! What is said of a fault never quotes the file: it may be part of a secret.

use std::{
    collections::BTreeMap,
    fs::File,
    io::Read,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use groundplan_ports::{
    error::{ErrorKind, PortError, PortResult},
    secrets::{SecretSourceKind, SecretValue},
};
use groundplan_workflow::read::{Limits, Node, NodeValue, SourceFile, trees};

/// One object of a file.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) kind: SecretSourceKind,
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    pub(super) data: BTreeMap<String, SecretValue>,
    pub(super) file: PathBuf,
    /// Line in which it begins.
    pub(super) line: u32,
}

/// The objects of a file. Blocks.
pub(super) fn read_file(path: &Path) -> PortResult<Vec<Object>> {
    let source = Source { path };
    let limits = Limits::default();
    let cannot = |error| source.invalid("cannot be read").caused_by(error);
    let file = File::open(path).map_err(cannot)?;
    // Of the opened file, so that nobody can exchange it in between.
    let mode = file.metadata().map_err(cannot)?.mode() & 0o7777;
    let mut bytes = Vec::new();
    file.take(limits.bytes as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(cannot)?;
    let (trees, faults) = trees(&SourceFile::new(path.display().to_string(), bytes), limits);
    if let Some(fault) = faults.first() {
        let line = fault.position.map_or_else(String::new, |position| {
            format!("in line {} ", position.line)
        });
        return Err(source
            .invalid(format!("{line}is not readable: {}", fault.code))
            .with_hint(
                "it holds Kubernetes Secrets and ConfigMaps as YAML or JSON; put a text with \
                 special characters in quotes",
            ));
    }
    let mut objects = Vec::new();
    for tree in &trees {
        source.objects(&tree.root, &mut objects)?;
    }
    let holds_secret = objects
        .iter()
        .any(|object| object.kind == SecretSourceKind::Secret);
    if holds_secret && mode & 0o077 != 0 {
        return Err(source
            .invalid(format!(
                "holds a Secret and others can read it (mode {mode:04o})"
            ))
            .with_hint(format!("`chmod 600 {}`", path.display())));
    }
    Ok(objects)
}

struct Source<'a> {
    path: &'a Path,
}

impl Source<'_> {
    fn invalid(&self, what: impl std::fmt::Display) -> PortError {
        PortError::new(
            ErrorKind::Invalid,
            format!("the file `{}` {what}", self.path.display()),
        )
    }

    fn invalid_at(&self, node: &Node, what: impl std::fmt::Display) -> PortError {
        let line = node.position.line;
        PortError::new(
            ErrorKind::Invalid,
            format!("`{}` line {line}: {what}", self.path.display()),
        )
    }

    /// The objects of a document: one, or those of a `List`.
    fn objects(&self, root: &Node, into: &mut Vec<Object>) -> PortResult<()> {
        let kind = match root.text_at("kind") {
            Some("List" | "SecretList" | "ConfigMapList") => {
                let items = root.get("items").map_or(&[][..], Node::items);
                return items.iter().try_for_each(|item| self.objects(item, into));
            }
            Some("Secret") => SecretSourceKind::Secret,
            Some("ConfigMap") => SecretSourceKind::ConfigMap,
            Some(other) => {
                return Err(self
                    .invalid_at(root, format!("a `{other}` is neither Secret nor ConfigMap"))
                    .with_hint("take it out of the file"));
            }
            None => {
                return Err(self
                    .invalid_at(root, "the document has no `kind`")
                    .with_hint("write `kind: Secret` or `kind: ConfigMap`"));
            }
        };
        let metadata = root.get("metadata");
        let name = metadata.and_then(|metadata| metadata.text_at("name"));
        let name = name.ok_or_else(|| {
            self.invalid_at(root, "the object has no name")
                .with_hint("write it under `metadata.name`, in quotes if it is a number")
        })?;
        let namespace = metadata.and_then(|metadata| metadata.text_at("namespace"));
        let mut data = BTreeMap::new();
        for (field, encoding) in fields(kind) {
            if let Some(node) = root.get(field) {
                self.values(field, node, *encoding, &mut data)?;
            }
        }
        into.push(Object {
            kind,
            name: name.to_owned(),
            namespace: namespace.map(str::to_owned),
            data,
            file: self.path.to_path_buf(),
            line: root.position.line,
        });
        Ok(())
    }

    fn values(
        &self,
        field: &str,
        node: &Node,
        encoding: Encoding,
        into: &mut BTreeMap<String, SecretValue>,
    ) -> PortResult<()> {
        if !matches!(node.value, NodeValue::Map(_)) {
            return Err(self.invalid_at(node, format!("`{field}` is no map of keys to texts")));
        }
        for entry in node.entries() {
            let key = &entry.key;
            let text = entry.value.text();
            let text = match (&entry.value.value, text) {
                (_, Some(text)) => text,
                (NodeValue::Null, None) => "",
                _ => {
                    return Err(self
                        .invalid_at(&entry.value, format!("key `{key}` of `{field}` is no text"))
                        .with_hint("put the value in quotes"));
                }
            };
            let value = match encoding {
                Encoding::Text => text.as_bytes().to_vec(),
                Encoding::Base64 => {
                    let text: String = text.split_ascii_whitespace().collect();
                    STANDARD.decode(text).map_err(|_| {
                        self.invalid_at(
                            &entry.value,
                            format!("key `{key}` of `{field}` is no base64"),
                        )
                        .with_hint(instead(field))
                    })?
                }
            };
            into.insert(key.clone(), SecretValue::new(value));
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Encoding {
    Text,
    Base64,
}

/// The fields that hold values, a later one going before an earlier.
fn fields(kind: SecretSourceKind) -> &'static [(&'static str, Encoding)] {
    match kind {
        SecretSourceKind::Secret => &[("data", Encoding::Base64), ("stringData", Encoding::Text)],
        SecretSourceKind::ConfigMap => {
            &[("binaryData", Encoding::Base64), ("data", Encoding::Text)]
        }
    }
}

fn instead(field: &str) -> &'static str {
    match field {
        "data" => "encode it with `base64 -w0`, or write it as it is under `stringData`",
        _ => "encode it with `base64 -w0`, or write it as it is under `data`",
    }
}
