//! Keys of maps: what may be one, which stand twice, and what `<<` brings.

use std::collections::BTreeSet;

use super::Composer;
use super::frame::{Frame, Open, PendingKey};
use crate::diagnostic::Position;
use crate::read::scalar;
use crate::read::tree::{Entry, Node, NodeValue};

impl Composer<'_> {
    /// Reports a key that stands twice; the later value counts.
    pub(super) fn duplicate(&mut self, entry: Entry) {
        let Some(Frame {
            open: Open::Map { entries, .. },
            ..
        }) = self.stack.last_mut()
        else {
            return;
        };
        let Some(earlier) = entries.iter_mut().find(|other| other.key == entry.key) else {
            return;
        };
        let first = earlier.key_position.line;
        let message = format!("key `{}` stands twice in one map", entry.key);
        let position = entry.key_position;
        *earlier = entry;
        self.report(
            "duplicate-key",
            message,
            position,
            Some(format!(
                "the first one is in line {first}; remove one of them"
            )),
        );
    }

    pub(super) fn key(&mut self, node: &Node) {
        let text = match &node.value {
            NodeValue::List(_) | NodeValue::Map(_) => None,
            _ => scalar::key_text(&node.to_json()),
        };
        let pending = match text {
            Some(text) => PendingKey::Named(text, node.position),
            None => {
                self.report(
                    "invalid-key",
                    format!("{} cannot be a key", node.describe()),
                    node.position,
                    Some("a key is text; quote a tag such as `\"{{item}}\"`".to_owned()),
                );
                PendingKey::Dropped
            }
        };
        self.set_key(pending);
    }

    /// Adds the entries of a map (or list of maps) that `<<` brings; what is written counts more.
    pub(super) fn merge(
        &mut self,
        entries: &mut Vec<Entry>,
        seen: &mut BTreeSet<String>,
        merged: Node,
        position: Position,
    ) {
        let maps = match merged.value {
            NodeValue::Map(new) => vec![new],
            NodeValue::List(items) => items
                .into_iter()
                .filter_map(|item| match item.value {
                    NodeValue::Map(new) => Some(new),
                    _ => {
                        self.not_a_map(item.position);
                        None
                    }
                })
                .collect(),
            _ => {
                self.not_a_map(merged.position);
                Vec::new()
            }
        };
        for entry in maps.into_iter().flatten() {
            if seen.insert(entry.key.clone()) {
                entries.push(entry);
            } else {
                self.report(
                    "duplicate-key",
                    format!("key `{}` is brought by `<<` and set already", entry.key),
                    position,
                    Some("Argo refuses a merge that sets a key twice".to_owned()),
                );
            }
        }
    }

    fn not_a_map(&mut self, position: Position) {
        self.report(
            "invalid-merge",
            "`<<` takes a map or a list of maps".to_owned(),
            position,
            None,
        );
    }
}
