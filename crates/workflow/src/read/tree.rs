//! The positioned tree: what a document says, with the place of every key and value.

use serde_json::{Map, Number, Value};

use crate::diagnostic::Position;

/// A value with its place in the source.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value.
    pub value: NodeValue,
    /// Where it stands. A list or map is placed at its first character, with length 0.
    pub position: Position,
}

/// What a node holds.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeValue {
    /// Nothing: `null`, `~`, or an empty value.
    Null,
    /// True or false, in any of YAML 1.1's spellings.
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order written; keys are unique.
    Map(Vec<Entry>),
}

/// One key of a map with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key; a number or boolean in its printed form.
    pub key: String,
    /// Where the key stands.
    pub key_position: Position,
    /// The value.
    pub value: Node,
}

/// Which of the two parts of a map's entry a look-up answers for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The key.
    Key,
    /// The value.
    Value,
}

impl Node {
    /// The entries, where this is a map; else none.
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            NodeValue::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items, where this is a list; else none.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            NodeValue::List(items) => items,
            _ => &[],
        }
    }

    /// The entry under `key`, where this is a map that has it.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// The value under `key`, where this is a map that has it and the value is not null.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key)
            .map(|entry| &entry.value)
            .filter(|node| node.value != NodeValue::Null)
    }

    /// The text, where this is text.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            NodeValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text under `key`, where it is text.
    pub fn text_at(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Node::text)
    }

    /// The place of a path such as `spec.templates[0].name`, of its key or its value. Names that
    /// hold a point or bracket stand in `["…"]`. The root is the empty path.
    pub fn position_of(&self, path: &str, part: Part) -> Option<Position> {
        let steps = Path::parse(path)?;
        let mut node = self;
        let mut position = self.position;
        for step in &steps {
            match step {
                Step::Index(index) => {
                    node = node.items().get(*index)?;
                    position = node.position;
                }
                Step::Key(key) => {
                    let entry = node.entry(key)?;
                    node = &entry.value;
                    position = match part {
                        Part::Key => entry.key_position,
                        Part::Value => node.position,
                    };
                }
            }
        }
        Some(position)
    }

    /// The same as plain JSON, without places.
    pub fn to_json(&self) -> Value {
        match &self.value {
            NodeValue::Null => Value::Null,
            NodeValue::Bool(value) => Value::Bool(*value),
            NodeValue::Number(number) => Value::Number(number.clone()),
            NodeValue::Text(text) => Value::String(text.clone()),
            NodeValue::List(items) => Value::Array(items.iter().map(Node::to_json).collect()),
            NodeValue::Map(entries) => Value::Object(
                entries
                    .iter()
                    .map(|entry| (entry.key.clone(), entry.value.to_json()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    /// What the node holds, in a word.
    pub fn describe(&self) -> &'static str {
        match &self.value {
            NodeValue::Null => "nothing",
            NodeValue::Bool(_) => "a boolean",
            NodeValue::Number(number) if number.is_f64() => "a fraction",
            NodeValue::Number(_) => "an integer",
            NodeValue::Text(_) => "text",
            NodeValue::List(_) => "a list",
            NodeValue::Map(_) => "a map",
        }
    }
}

/// A path within a document, as diagnostics print it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(String);

enum Step {
    Index(usize),
    Key(String),
}

impl Path {
    /// The root.
    pub fn root() -> Path {
        Path::default()
    }

    /// The path of the value under `key`.
    #[must_use]
    pub fn key(&self, key: &str) -> Path {
        let plain = !key.is_empty() && !key.contains(['.', '[', ']', '"', ' ']);
        Path(match (plain, self.0.is_empty()) {
            (true, true) => key.to_owned(),
            (true, false) => format!("{}.{key}", self.0),
            (false, _) => format!("{}[{}]", self.0, Value::from(key)),
        })
    }

    /// The path of the item at `index`.
    #[must_use]
    pub fn index(&self, index: usize) -> Path {
        Path(format!("{}[{index}]", self.0))
    }

    /// The printed form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last key of the path, where it ends in one.
    pub fn last_key(&self) -> Option<&str> {
        let last = self.0.rsplit('.').next()?;
        (!last.is_empty() && !last.ends_with(']')).then_some(last)
    }

    fn parse(text: &str) -> Option<Vec<Step>> {
        let mut steps = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(quoted) = rest.strip_prefix("[\"") {
                let end = closing_quote(quoted)?;
                steps.push(Step::Key(
                    serde_json::from_str(&format!("\"{}\"", &quoted[..end])).ok()?,
                ));
                rest = quoted[end + 1..].strip_prefix(']')?;
            } else if let Some(number) = rest.strip_prefix('[') {
                let end = number.find(']')?;
                steps.push(Step::Index(number[..end].parse().ok()?));
                rest = &number[end + 1..];
            } else {
                let key = rest.strip_prefix('.').unwrap_or(rest);
                let end = key.find(['.', '[']).unwrap_or(key.len());
                if end == 0 {
                    return None;
                }
                steps.push(Step::Key(key[..end].to_owned()));
                rest = &key[end..];
            }
        }
        Some(steps)
    }
}

/// Offset of the first quote that no backslash protects.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at),
            _ => {}
        }
    }
    None
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
