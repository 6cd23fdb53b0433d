//! Which names an expression mentions, and which of them it cannot do without.

use std::collections::BTreeSet;

use super::syntax::{Binary, Kind, Node};

/// Names that have no variable behind them unless the scope shadows them.
const LIBRARIES: [&str; 2] = ["sprig", "$env"];

#[derive(Clone, Copy, PartialEq)]
enum Guard {
    None,
    Guarded,
}

pub(super) fn required(node: &Node) -> BTreeSet<String> {
    let mut collector = Collector {
        found: BTreeSet::new(),
        bound: Vec::new(),
        guarded_too: false,
    };
    collector.walk(node, Guard::None);
    collector.found
}

pub(super) fn used(node: &Node) -> BTreeSet<String> {
    let mut collector = Collector {
        found: BTreeSet::new(),
        bound: Vec::new(),
        guarded_too: true,
    };
    collector.walk(node, Guard::None);
    collector.found
}

/// Where the variable `name` first stands.
pub(super) fn offset_of(node: &Node, name: &str) -> Option<usize> {
    if matches!(&node.kind, Kind::Name(found) if found == name) {
        return Some(node.offset);
    }
    let mut offset = None;
    node.for_each_part(&mut |part| {
        if offset.is_none() {
            offset = offset_of(part, name);
        }
    });
    offset
}

/// Whether the dotted `path` is `name` or lies below it.
pub(super) fn is_or_below(path: &str, name: &str) -> bool {
    path.strip_prefix(name)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

struct Collector<'a> {
    found: BTreeSet<String>,
    /// Names bound by `let` around the part that is looked at.
    bound: Vec<&'a str>,
    guarded_too: bool,
}

impl<'a> Collector<'a> {
    fn walk(&mut self, node: &'a Node, guard: Guard) {
        match &node.kind {
            Kind::Name(name) => {
                if !self.bound.contains(&name.as_str()) && !LIBRARIES.contains(&name.as_str()) {
                    self.found.insert(name.clone());
                }
            }
            Kind::Member {
                base,
                key,
                optional,
            } => {
                let inner = if *optional { Guard::Guarded } else { guard };
                let wanted = guard == Guard::None && !*optional || self.guarded_too;
                if wanted && let Some(path) = self.path(node) {
                    self.found.insert(path);
                }
                self.walk(base, inner);
                self.walk(key, Guard::None);
            }
            Kind::Binary(Binary::Coalesce, left, right) => {
                self.walk(left, Guard::Guarded);
                self.walk(right, guard);
            }
            Kind::Let { name, value, body } => {
                self.walk(value, Guard::None);
                self.bound.push(name);
                self.walk(body, guard);
                self.bound.pop();
            }
            _ => {
                let mut parts = Vec::new();
                node.for_each_part(&mut |part| parts.push(part));
                for part in parts {
                    self.walk(part, Guard::None);
                }
            }
        }
    }

    /// The dotted path of a chain of members whose keys are literal, starting at a variable.
    fn path(&self, node: &Node) -> Option<String> {
        match &node.kind {
            Kind::Name(name) => {
                let is_variable =
                    !self.bound.contains(&name.as_str()) && !LIBRARIES.contains(&name.as_str());
                is_variable.then(|| name.clone())
            }
            Kind::Member { base, key, .. } => match &key.kind {
                Kind::Text(key) => Some(format!("{}.{key}", self.path(base)?)),
                _ => None,
            },
            _ => None,
        }
    }
}
