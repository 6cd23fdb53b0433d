//! From dotted names to the nested maps that expressions see.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::value::Value;
use crate::expr::scope::{Lookup, Scope};

/// The variables whose first name is in `roots`.
pub(super) fn variables(scope: &dyn Scope, roots: &BTreeSet<String>) -> BTreeMap<String, Value> {
    let mut tree = Tree::default();
    for root in roots {
        scope.visit_below(root, &mut |name, lookup| tree.insert(name, lookup));
    }
    tree.into_map()
}

/// The whole scope as nested maps: `a.b` lies in `a`; a plain value under a key that is also a
/// map is dropped.
pub fn expand(scope: &dyn Scope) -> Value {
    let mut tree = Tree::default();
    scope.visit(&mut |name, lookup| tree.insert(name, lookup));
    Value::Map(Arc::new(tree.into_map()))
}

/// Whether the scope knows the dotted `name`: as such, as the start of longer names, or inside
/// the data of a shorter one.
pub fn has_name(scope: &dyn Scope, name: &str) -> bool {
    if scope.get(name) != Lookup::Missing {
        return true;
    }
    let mut shorter = name;
    while let Some((head, _)) = shorter.rsplit_once('.') {
        shorter = head;
        if let Lookup::Data(data) = scope.get(head) {
            let path = name[head.len() + 1..].split('.');
            let found = path.into_iter().try_fold(data, |value, key| value.get(key));
            return found.is_some();
        }
    }
    let mut found = false;
    scope.visit_below(name, &mut |_, _| found = true);
    found
}

#[derive(Default)]
struct Tree {
    value: Option<Value>,
    below: BTreeMap<String, Tree>,
}

impl Tree {
    fn insert(&mut self, name: &str, lookup: Lookup<'_>) {
        let mut place = self;
        for part in name.split('.') {
            place = place.below.entry(part.to_owned()).or_default();
        }
        match lookup {
            Lookup::Missing => {}
            Lookup::Absent => place.value = Some(Value::Nil),
            Lookup::Text(text) => place.value = Some(Value::text(text)),
            Lookup::Data(data) => place.merge(data),
        }
    }

    fn merge(&mut self, data: &serde_json::Value) {
        match data {
            serde_json::Value::Object(map) => {
                for (key, value) in map {
                    self.below.entry(key.clone()).or_default().merge(value);
                }
                if map.is_empty() {
                    self.value = Some(Value::from(data));
                }
            }
            other => self.value = Some(Value::from(other)),
        }
    }

    fn into_map(self) -> BTreeMap<String, Value> {
        self.below
            .into_iter()
            .map(|(key, tree)| (key, tree.into_value()))
            .collect()
    }

    fn into_value(self) -> Value {
        if self.below.is_empty() {
            return self.value.unwrap_or(Value::Nil);
        }
        Value::Map(Arc::new(self.into_map()))
    }
}
