//! Which attributes of an object change, by name; never their values.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{json::Change, summary::AttributeChange};

type Attributes<'a> = BTreeMap<String, &'a RawValue>;

/// The top-level attributes that differ, by name.
pub(crate) fn changed_attributes(change: &Change<'_>) -> Vec<AttributeChange> {
    let before = attributes(change.before);
    let after = attributes(change.after);
    let unknown = Marks::of(change.after_unknown);
    let sensitive = [
        Marks::of(change.before_sensitive),
        Marks::of(change.after_sensitive),
    ];
    let forcing = forcing_attributes(change.replace_paths);
    let mut names: BTreeSet<&str> = before
        .keys()
        .chain(after.keys())
        .map(String::as_str)
        .collect();
    names.extend(unknown.names());
    names
        .into_iter()
        .filter(|name| unknown.has(name) || !same(before.get(*name), after.get(*name)))
        .map(|name| AttributeChange {
            name: name.to_owned(),
            sensitive: sensitive.iter().any(|marks| marks.has(name)),
            unknown: unknown.has(name),
            forces_replacement: forcing.contains(name),
        })
        .collect()
}

/// How many places are marked.
pub(crate) fn count_marks(marks: Option<&RawValue>) -> usize {
    marks.map_or(0, |marks| {
        serde_json::from_str::<Count>(marks.get()).map_or(0, |count| count.0)
    })
}

/// The attributes of an object; none where the value is no object.
fn attributes(value: Option<&RawValue>) -> Attributes<'_> {
    value
        .and_then(|value| serde_json::from_str(value.get()).ok())
        .unwrap_or_default()
}

/// Names of the attributes that the paths begin with.
fn forcing_attributes(paths: Option<&RawValue>) -> BTreeSet<String> {
    let paths: Vec<Vec<serde_json::Value>> = paths
        .and_then(|paths| serde_json::from_str(paths.get()).ok())
        .unwrap_or_default();
    let firsts = paths.into_iter().filter_map(|path| path.into_iter().next());
    firsts
        .filter_map(|first| first.as_str().map(str::to_owned))
        .collect()
}

/// Marks of an object: on all of it, or by attribute.
enum Marks<'a> {
    All,
    Some(Attributes<'a>),
}

impl<'a> Marks<'a> {
    fn of(marks: Option<&'a RawValue>) -> Self {
        match marks {
            Some(all) if all.get() == "true" => Marks::All,
            marks => Marks::Some(attributes(marks)),
        }
    }

    fn has(&self, name: &str) -> bool {
        match self {
            Marks::All => true,
            Marks::Some(marks) => count_marks(marks.get(name).copied()) > 0,
        }
    }

    /// Names of attributes that may be marked.
    fn names(&self) -> impl Iterator<Item = &str> {
        let marks = match self {
            Marks::All => None,
            Marks::Some(marks) => Some(marks),
        };
        marks
            .into_iter()
            .flat_map(BTreeMap::keys)
            .map(String::as_str)
            .filter(|name| self.has(name))
    }
}

/// Whether two values are the same text but for white space between its parts. The tools write
/// numbers and the order of keys in one way only. An absent value is null.
fn same(left: Option<&&RawValue>, right: Option<&&RawValue>) -> bool {
    let text = |value: Option<&&RawValue>| value.map_or("null".to_owned(), |value| compact(value));
    match (left, right) {
        (Some(left), Some(right)) if left.get() == right.get() => true,
        _ => text(left) == text(right),
    }
}

fn compact(value: &RawValue) -> String {
    let (mut in_string, mut escaped) = (false, false);
    let keep = |character: &char| {
        if in_string {
            in_string = escaped || *character != '"';
            escaped = *character == '\\' && !escaped;
            return true;
        }
        in_string = *character == '"';
        !character.is_ascii_whitespace()
    };
    value.get().chars().filter(keep).collect()
}

/// The number of `true` in a tree.
struct Count(usize);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

struct CountVisitor;

impl<'de> Visitor<'de> for CountVisitor {
    type Value = Count;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tree of marks")
    }

    fn visit_bool<E>(self, marked: bool) -> Result<Count, E> {
        Ok(Count(usize::from(marked)))
    }

    fn visit_unit<E>(self) -> Result<Count, E> {
        Ok(Count(0))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Count, A::Error> {
        let mut sum = 0;
        while let Some(Count(count)) = items.next_element()? {
            sum += count;
        }
        Ok(Count(sum))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Count, A::Error> {
        let mut sum = 0;
        while let Some((_, Count(count))) = entries.next_entry::<String, Count>()? {
            sum += count;
        }
        Ok(Count(sum))
    }
}
