//! One walk over a positioned tree along the table: unknown and misplaced fields, wrong types, and
//! what support says of the fields in use, all at once. What comes out decodes without a fault.

mod faults;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::later::{Fold, Origin};
use super::{Field, Shape};
use crate::diagnostic::{Diagnostic, Position, Severity};
use crate::read::{Entry, Node, NodeValue, Path};
use crate::support::{Ignored, Refused, Support, support};

/// What a walk found.
pub(crate) struct Checked {
    /// The document as JSON: wrong and refused fields left out, removed forms folded.
    pub(crate) value: Value,
    /// Faults and warnings.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// One notice per reason for what is ignored here.
    pub(crate) ignored: Vec<Diagnostic>,
    /// One notice per use of what is refused here.
    pub(crate) refused: Vec<Diagnostic>,
}

/// Walks a document of the given type.
pub(crate) fn check(file: &str, root: &Node, owner: &'static str) -> Checked {
    let mut walk = Walk {
        file,
        diagnostics: Vec::new(),
        ignored: BTreeMap::new(),
        refused: Vec::new(),
        owners: Vec::new(),
        beneath: 0,
    };
    let value = walk
        .value(root, &Shape::Struct(owner), &Path::root())
        .unwrap_or(Value::Null);
    let ignored = walk.ignored_notices();
    Checked {
        value,
        diagnostics: walk.diagnostics,
        ignored,
        refused: walk.refused,
    }
}

struct Walk<'a> {
    file: &'a str,
    diagnostics: Vec<Diagnostic>,
    /// Uses of ignored fields by reason: names in order of their first use.
    ignored: BTreeMap<Ignored, IgnoredUse>,
    refused: Vec<Diagnostic>,
    /// The types that enclose the current one, with their paths.
    owners: Vec<(&'static str, Path)>,
    /// How many ignored or refused fields enclose the current value.
    beneath: usize,
}

struct IgnoredUse {
    names: Vec<String>,
    position: Position,
    path: Path,
}

impl Walk<'_> {
    /// The value as JSON, or `None` where it does not fit the shape.
    fn value(&mut self, node: &Node, shape: &Shape, path: &Path) -> Option<Value> {
        if node.value == NodeValue::Null {
            return None;
        }
        match (shape, &node.value) {
            (Shape::Struct(owner), NodeValue::Map(entries)) => {
                Some(Value::Object(self.fields(owner, entries, path)))
            }
            (Shape::Map(inner), NodeValue::Map(entries)) => Some(Value::Object(
                entries
                    .iter()
                    .filter_map(|entry| {
                        let value = self.value(&entry.value, inner, &path.key(&entry.key))?;
                        Some((entry.key.clone(), value))
                    })
                    .collect(),
            )),
            (Shape::List(inner), NodeValue::List(items)) => {
                let mut list = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    let path = path.index(index);
                    list.push(
                        self.value(item, inner, &path)
                            .unwrap_or_else(|| empty(inner)),
                    );
                }
                Some(Value::Array(list))
            }
            (Shape::AnyString, NodeValue::List(_) | NodeValue::Map(_)) => {
                self.lost_value(node, path);
                Some(Value::String(String::new()))
            }
            _ if fits(shape, node) => Some(node.to_json()),
            _ => {
                self.wrong_type(node, shape, path);
                None
            }
        }
    }

    fn fields(
        &mut self,
        owner: &'static str,
        entries: &[Entry],
        path: &Path,
    ) -> Map<String, Value> {
        let mut object = Map::new();
        let mut folded: Vec<(&'static str, Value)> = Vec::new();
        self.owners.push((owner, path.clone()));
        for entry in entries {
            let Some(field) = super::field(owner, &entry.key) else {
                self.unknown(owner, entry, path);
                continue;
            };
            let path = path.key(field.name);
            let answer = self.answer(owner, field, entry, &path);
            let hidden = answer != Some(Support::Supported);
            self.beneath += usize::from(hidden);
            let value = self.value(&entry.value, &field.shape, &path);
            self.beneath -= usize::from(hidden);
            let Some(value) = value else { continue };
            match field.origin {
                _ if matches!(answer, Some(Support::Refused(_))) => {}
                Origin::RemovedIn {
                    fold: Fold::Into(list),
                    ..
                } => folded.push((list, value)),
                Origin::RemovedIn {
                    fold: Fold::Dropped(_),
                    ..
                } => {}
                Origin::Argo | Origin::NewIn { .. } => {
                    object.insert(field.name.to_owned(), value);
                }
            }
        }
        self.owners.pop();
        for (list, value) in folded {
            let slot = object
                .entry(list)
                .or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(items) = slot {
                items.push(value);
            }
        }
        object
    }

    /// Says what becomes of a field here, where it is not simply supported.
    fn answer(
        &mut self,
        owner: &'static str,
        field: &Field,
        entry: &Entry,
        path: &Path,
    ) -> Option<Support> {
        let answer = support(owner, field.name);
        if self.beneath > 0 || is_unset(&entry.value) {
            return answer;
        }
        if let Origin::RemovedIn { version, fold } = field.origin {
            let (Fold::Into(new) | Fold::Dropped(new)) = fold;
            self.report(
                Severity::Warning,
                "removed-field",
                format!("Argo {version} removed `{}`", field.name),
                entry.key_position,
                path,
                Some(match fold {
                    Fold::Into(_) => format!("write `{new}`, a list"),
                    Fold::Dropped(_) => format!("`{new}` took its place"),
                }),
            );
        }
        match answer {
            Some(Support::Ignored(reason)) => {
                let name = self.short_name(field.name, path);
                let found = self.ignored.entry(reason).or_insert_with(|| IgnoredUse {
                    names: Vec::new(),
                    position: entry.key_position,
                    path: path.clone(),
                });
                if !found.names.contains(&name) {
                    found.names.push(name);
                }
            }
            Some(Support::Refused(reason)) => self.refuse(reason, field.name, entry, path),
            Some(Support::Supported | Support::Beneath) | None => {}
        }
        answer
    }

    fn refuse(&mut self, reason: Refused, name: &str, entry: &Entry, path: &Path) {
        let code = match reason {
            Refused::NotYet => "not-supported-yet",
            Refused::NeedsCluster => "needs-cluster",
        };
        self.refused.push(Diagnostic {
            code: code.to_owned(),
            severity: Severity::Notice,
            message: format!("`{name}` {}", reason.reason()),
            file: self.file.to_owned(),
            position: Some(entry.key_position),
            path: path.to_string(),
            hint: Some("Argo runs this document; this machine refuses to start it".to_owned()),
        });
    }

    /// A field's name, with that of the field around it where it says little by itself.
    fn short_name(&self, name: &str, path: &Path) -> String {
        const COMMON: [&str; 6] = ["spec", "status", "type", "requests", "medium", "ports"];
        if !COMMON.contains(&name) {
            return name.to_owned();
        }
        let mut keys = path
            .as_str()
            .rsplit('.')
            .map(|key| key.split('[').next().unwrap_or(key));
        match (keys.next(), keys.next()) {
            (Some(last), Some(before)) if before != "spec" => format!("{before}.{last}"),
            _ => name.to_owned(),
        }
    }

    fn ignored_notices(&self) -> Vec<Diagnostic> {
        self.ignored
            .iter()
            .map(|(reason, found)| Diagnostic {
                code: match reason {
                    Ignored::Schedule => "ignored-schedule",
                    Ignored::Scheduler | Ignored::Cluster | Ignored::Process => "ignored-field",
                }
                .to_owned(),
                severity: Severity::Notice,
                message: format!("{}: `{}`", reason.notice(), found.names.join("`, `")),
                file: self.file.to_owned(),
                position: Some(found.position),
                path: found.path.to_string(),
                hint: None,
            })
            .collect()
    }

    fn report(
        &mut self,
        severity: Severity,
        code: &str,
        message: String,
        position: Position,
        path: &Path,
        hint: Option<String>,
    ) {
        self.diagnostics.push(Diagnostic {
            code: code.to_owned(),
            severity,
            message,
            file: self.file.to_owned(),
            position: Some(position),
            path: path.to_string(),
            hint,
        });
    }
}

/// Whether a value that is no list or map with a shape of its own fits.
fn fits(shape: &Shape, node: &Node) -> bool {
    match &node.value {
        NodeValue::Null => true,
        NodeValue::Text(_) => matches!(
            shape,
            Shape::Text | Shape::AnyString | Shape::IntOrString | Shape::Quantity | Shape::Any
        ),
        NodeValue::Bool(_) => matches!(shape, Shape::Bool | Shape::AnyString | Shape::Any),
        NodeValue::Number(number) => match shape {
            Shape::Int | Shape::IntOrString => number.is_i64(),
            Shape::Float | Shape::AnyString | Shape::Quantity | Shape::Any => true,
            _ => false,
        },
        NodeValue::List(_) => *shape == Shape::Any,
        NodeValue::Map(_) => matches!(shape, Shape::Any | Shape::Subtree),
    }
}

/// What an item that is null or wrong stands for, so that the others keep their places.
fn empty(shape: &Shape) -> Value {
    match shape {
        Shape::Text | Shape::AnyString | Shape::IntOrString | Shape::Quantity => {
            Value::String(String::new())
        }
        Shape::Int | Shape::Float => Value::from(0),
        Shape::Bool => Value::Bool(false),
        Shape::Any => Value::Null,
        Shape::List(_) => Value::Array(Vec::new()),
        Shape::Subtree | Shape::Map(_) | Shape::Struct(_) => Value::Object(Map::new()),
    }
}

/// Whether a value says no more than leaving the field out.
fn is_unset(node: &Node) -> bool {
    match &node.value {
        NodeValue::Null => true,
        NodeValue::Bool(value) => !value,
        NodeValue::Number(number) => number.as_i64() == Some(0),
        NodeValue::Text(text) => text.is_empty(),
        NodeValue::List(items) => items.is_empty(),
        NodeValue::Map(_) => false,
    }
}
