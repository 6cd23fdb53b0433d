//! Fields that are unknown or misplaced, and values of a wrong type.

use super::Walk;
use crate::diagnostic::Severity;
use crate::fields::later::Origin;
use crate::fields::{self, Field, Shape, TABLE, struct_of};
use crate::nearest::nearest;
use crate::read::{Entry, Node, NodeValue, Path};
use crate::support::{Support, support};

impl Walk<'_> {
    pub(super) fn unknown(&mut self, owner: &'static str, entry: &Entry, path: &Path) {
        let name = entry.key.as_str();
        let place = match path.last_key() {
            Some(key) => format!("`{key}`"),
            None if path.as_str().is_empty() => "the document".to_owned(),
            None => format!("`{path}`"),
        };
        let path = path.key(name);
        if let Some(hint) = self.belongs(owner, name) {
            self.report(
                Severity::Error,
                "misplaced-field",
                format!("`{name}` is no field of {place}"),
                entry.key_position,
                &path,
                Some(hint),
            );
            return;
        }
        let known = TABLE.get(owner).map(Vec::as_slice).unwrap_or_default();
        let hint = nearest(name, known.iter().map(|field| field.name))
            .map(|near| format!("did you mean `{near}`?"))
            .or_else(|| odd_key(name));
        self.report(
            Severity::Error,
            "unknown-field",
            format!("`{name}` is no field of {place}"),
            entry.key_position,
            &path,
            hint,
        );
    }

    /// Where a field of this name would be right: around here, or one level below.
    fn belongs(&self, owner: &str, name: &str) -> Option<String> {
        let holders = TABLE
            .get(owner)
            .into_iter()
            .flatten()
            .filter(|field| field.origin == Origin::Argo)
            .filter(|field| support(owner, field.name) == Some(Support::Supported))
            .filter(|field| {
                struct_of(&field.shape).is_some_and(|inner| fields::field(inner, name).is_some())
            });
        let (direct, listed): (Vec<&Field>, Vec<&Field>) =
            holders.partition(|field| matches!(field.shape, Shape::Struct(_)));
        let below: Vec<&str> = if direct.is_empty() { listed } else { direct }
            .iter()
            .map(|field| field.name)
            .collect();
        if !below.is_empty() {
            return Some(format!("it belongs under `{}`", below.join("` or `")));
        }
        let around = self
            .owners
            .iter()
            .rev()
            .skip(1)
            .find(|(outer, _)| fields::field(outer, name).is_some());
        around.map(|(_, path)| {
            if path.as_str().is_empty() {
                "it belongs at the top of the document; check the indentation".to_owned()
            } else {
                format!("it belongs under `{path}`; check the indentation")
            }
        })
    }

    pub(super) fn wrong_type(&mut self, node: &Node, shape: &Shape, path: &Path) {
        let name = path
            .last_key()
            .map_or_else(|| path.to_string(), str::to_owned);
        let hint = match (shape, &node.value) {
            (Shape::Text, NodeValue::Bool(_) | NodeValue::Number(_)) => {
                Some("put the value in quotes".to_owned())
            }
            (Shape::Int | Shape::Float | Shape::Bool, NodeValue::Text(text))
                if !text.contains("{{") =>
            {
                Some("write the value without quotes".to_owned())
            }
            (Shape::Int | Shape::Float | Shape::Bool, NodeValue::Text(_)) => {
                Some("this field takes no tags".to_owned())
            }
            (Shape::Text | Shape::AnyString, NodeValue::Map(_)) => {
                Some("quote a text that begins with `{`".to_owned())
            }
            (Shape::List(_), NodeValue::Map(_) | NodeValue::Text(_)) => {
                Some("begin each item with `- `".to_owned())
            }
            _ => None,
        };
        self.report(
            Severity::Error,
            "wrong-type",
            format!(
                "`{name}` takes {}, not {}",
                shape.describe(),
                node.describe()
            ),
            node.position,
            path,
            hint,
        );
    }

    pub(super) fn lost_value(&mut self, node: &Node, path: &Path) {
        self.report(
            Severity::Warning,
            "lost-value",
            format!("Argo reads {} here as empty text", node.describe()),
            node.position,
            path,
            Some("quote the value to hand it on as JSON text".to_owned()),
        );
    }
}

impl Shape {
    /// What the shape takes, in words.
    fn describe(&self) -> &'static str {
        match self {
            Shape::Text | Shape::AnyString => "text",
            Shape::Int => "an integer",
            Shape::Float => "a number",
            Shape::Bool => "true or false",
            Shape::IntOrString => "an integer or text",
            Shape::Quantity => "a quantity such as `500m` or `1Gi`",
            Shape::Any => "any value",
            Shape::List(_) => "a list",
            Shape::Subtree | Shape::Map(_) | Shape::Struct(_) => "a map",
        }
    }
}

/// A hint for keys that YAML 1.1 turned into something else.
fn odd_key(name: &str) -> Option<String> {
    match name {
        "true" | "false" => Some(
            "an unquoted `y`, `n`, `yes`, `no`, `on` or `off` is a boolean; quote it".to_owned(),
        ),
        _ => None,
    }
}
