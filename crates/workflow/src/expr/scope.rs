//! What dotted names mean: present, absent as an optional, or unknown.

use std::collections::BTreeMap;
use std::ops::Bound;

use serde_json::Value;

/// What a scope knows about one name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lookup<'a> {
    /// The scope does not know the name.
    Missing,
    /// The name exists, but its producer was skipped or omitted and gives no default.
    Absent,
    /// The name's value, as text.
    Text(&'a str),
    /// The name's value, as data; only expressions can use it.
    Data(&'a Value),
}

/// Dotted names and their values. Names are whole: `steps.a.outputs.result`.
pub trait Scope {
    /// What is known about `name`, which carries no blanks at its ends.
    fn get(&self, name: &str) -> Lookup<'_>;

    /// Calls `visit` for every name that is not [`Lookup::Missing`]; a name that several layers
    /// know may come more than once, the deciding one last.
    fn visit(&self, visit: &mut dyn FnMut(&str, Lookup<'_>));

    /// Calls `visit` for `root` and every name below it (`root.…`).
    fn visit_below(&self, root: &str, visit: &mut dyn FnMut(&str, Lookup<'_>)) {
        self.visit(&mut |name, lookup| {
            let rest = name.strip_prefix(root);
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.')) {
                visit(name, lookup);
            }
        });
    }
}

/// A value of a [`MapScope`].
#[derive(Clone, Debug, PartialEq)]
enum Entry {
    Absent,
    Text(String),
    Data(Value),
}

impl Entry {
    fn lookup(&self) -> Lookup<'_> {
        match self {
            Entry::Absent => Lookup::Absent,
            Entry::Text(text) => Lookup::Text(text),
            Entry::Data(value) => Lookup::Data(value),
        }
    }
}

/// A scope of its own: an ordered map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MapScope {
    entries: BTreeMap<String, Entry>,
}

impl MapScope {
    /// An empty scope.
    pub fn new() -> Self {
        MapScope::default()
    }

    /// Gives `name` a text, in place of what it had.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.entries.insert(name.into(), Entry::Text(value.into()));
    }

    /// Says that `name` exists without a value: its producer was skipped or omitted.
    pub fn set_absent(&mut self, name: impl Into<String>) {
        self.entries.insert(name.into(), Entry::Absent);
    }

    /// Gives `name` data that only expressions can use; a string becomes plain text and null
    /// becomes absent.
    pub fn set_data(&mut self, name: impl Into<String>, value: Value) {
        let entry = match value {
            Value::Null => Entry::Absent,
            Value::String(text) => Entry::Text(text),
            value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                Entry::Data(value)
            }
        };
        self.entries.insert(name.into(), entry);
    }

    /// Forgets `name`.
    pub fn remove(&mut self, name: &str) {
        self.entries.remove(name);
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for MapScope {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let mut scope = MapScope::new();
        scope.extend(pairs);
        scope
    }
}

impl<N: Into<String>, V: Into<String>> Extend<(N, V)> for MapScope {
    fn extend<I: IntoIterator<Item = (N, V)>>(&mut self, pairs: I) {
        for (name, value) in pairs {
            self.set(name, value);
        }
    }
}

impl Scope for MapScope {
    fn get(&self, name: &str) -> Lookup<'_> {
        self.entries
            .get(name)
            .map_or(Lookup::Missing, Entry::lookup)
    }

    fn visit(&self, visit: &mut dyn FnMut(&str, Lookup<'_>)) {
        for (name, entry) in &self.entries {
            visit(name, entry.lookup());
        }
    }

    fn visit_below(&self, root: &str, visit: &mut dyn FnMut(&str, Lookup<'_>)) {
        if let Some(entry) = self.entries.get(root) {
            visit(root, entry.lookup());
        }
        let prefix = format!("{root}.");
        let from = (Bound::Included(prefix.as_str()), Bound::Unbounded);
        for (name, entry) in self.entries.range::<str, _>(from) {
            if !name.starts_with(&prefix) {
                break;
            }
            visit(name, entry.lookup());
        }
    }
}

/// Scopes one over the other; borrowed, so that layering costs nothing.
#[derive(Clone, Default)]
pub struct Layered<'a> {
    layers: Vec<&'a dyn Scope>,
}

impl<'a> Layered<'a> {
    /// Layers from the outermost to the innermost; the innermost that knows a name decides.
    pub fn new(layers: impl IntoIterator<Item = &'a dyn Scope>) -> Self {
        Layered {
            layers: layers.into_iter().collect(),
        }
    }

    /// The same with one more layer, which wins over the others.
    pub fn with(&self, layer: &'a dyn Scope) -> Self {
        let mut layers = self.layers.clone();
        layers.push(layer);
        Layered { layers }
    }
}

impl std::fmt::Debug for Layered<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut names = f.debug_map();
        self.visit(&mut |name, lookup| {
            names.entry(&name, &lookup);
        });
        names.finish()
    }
}

impl Scope for Layered<'_> {
    fn get(&self, name: &str) -> Lookup<'_> {
        for layer in self.layers.iter().rev() {
            match layer.get(name) {
                Lookup::Missing => {}
                found @ (Lookup::Absent | Lookup::Text(_) | Lookup::Data(_)) => return found,
            }
        }
        Lookup::Missing
    }

    fn visit(&self, visit: &mut dyn FnMut(&str, Lookup<'_>)) {
        for layer in &self.layers {
            layer.visit(visit);
        }
    }

    fn visit_below(&self, root: &str, visit: &mut dyn FnMut(&str, Lookup<'_>)) {
        for layer in &self.layers {
            layer.visit_below(root, visit);
        }
    }
}

/// The name of the scope that `name` was probably meant to be, where one is near enough.
pub fn nearest(name: &str, scope: &dyn Scope) -> Option<String> {
    let mut best: Option<(f64, String)> = None;
    scope.visit(&mut |known, _| {
        let likeness = likeness(name, known);
        let better = match &best {
            None => likeness >= NEAR_ENOUGH,
            Some((found, _)) => likeness > *found,
        };
        if better {
            best = Some((likeness, known.to_owned()));
        }
    });
    best.map(|(_, known)| known)
}

const NEAR_ENOUGH: f64 = 0.75;

/// How alike two names are, from 0 to 1.
pub(crate) fn likeness(a: &str, b: &str) -> f64 {
    strsim::normalized_damerau_levenshtein(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_layer_that_knows_a_name_decides() {
        let outer = MapScope::from_iter([("a", "outer"), ("b", "outer")]);
        let mut inner = MapScope::from_iter([("a", "inner")]);
        inner.set_absent("c");
        let scope = Layered::new([&outer as &dyn Scope]).with(&inner);
        assert_eq!(scope.get("a"), Lookup::Text("inner"));
        assert_eq!(scope.get("b"), Lookup::Text("outer"));
        assert_eq!(scope.get("c"), Lookup::Absent);
        assert_eq!(scope.get("d"), Lookup::Missing);
    }

    #[test]
    fn a_misspelt_name_finds_its_neighbour_and_a_strange_one_finds_none() {
        let scope = MapScope::from_iter([("inputs.parameters.path", ""), ("workflow.name", "")]);
        assert_eq!(
            nearest("inputs.parameters.pth", &scope).as_deref(),
            Some("inputs.parameters.path")
        );
        assert_eq!(nearest("zebra", &scope), None);
    }
}
