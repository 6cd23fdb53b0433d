//! Fan-out: the items of `withItems` and `withParam`, what `{{item}}` stands for, and how the
//! nodes are named.

use serde_json::Value;

use super::go_json::{self, JsonError};
use super::scope::MapScope;

/// One item, as JSON text; numbers keep the digits they were written with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    raw: String,
}

/// What an item is; decided on its JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// A JSON string.
    String,
    /// A number.
    Number,
    /// `true` or `false`.
    Bool,
    /// A list; also `null`, which Go decodes as an empty one.
    List,
    /// A map.
    Map,
}

/// Why a `withParam` gives no items.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ItemsError {
    /// The value is no JSON.
    #[error("withParam value could not be parsed as a JSON list: {value}: {source}")]
    NotJson {
        /// The value after its tags were replaced.
        value: String,
        /// What is wrong with it.
        source: JsonError,
    },
    /// The value is JSON but no list.
    #[error(
        "withParam value could not be parsed as a JSON list: {value}: json: cannot unmarshal \
         {kind} into Go value of type []v1alpha1.Item"
    )]
    NotList {
        /// The value after its tags were replaced.
        value: String,
        /// `object`, `string`, `number` or `bool`.
        kind: &'static str,
    },
}

/// The items of a `withParam` whose tags are replaced.
pub fn parse_with_param(text: &str) -> Result<Vec<Item>, ItemsError> {
    let found = go_json::elements(text).map_err(|source| ItemsError::NotJson {
        value: text.to_owned(),
        source,
    })?;
    if let Some(elements) = found {
        return Ok(elements
            .into_iter()
            .map(|raw| Item {
                raw: raw.to_owned(),
            })
            .collect());
    }
    let kind = match text.trim_start().as_bytes().first() {
        Some(b'n') => return Ok(Vec::new()),
        Some(b'{') => "object",
        Some(b'"') => "string",
        Some(b't' | b'f') => "bool",
        Some(_) | None => "number",
    };
    Err(ItemsError::NotList {
        value: text.to_owned(),
        kind,
    })
}

impl From<&Value> for Item {
    fn from(value: &Value) -> Self {
        Item {
            raw: go_json::print(value),
        }
    }
}

impl Item {
    /// What the item is.
    pub fn kind(&self) -> ItemKind {
        match self.raw.as_bytes().first() {
            Some(b'"') => ItemKind::String,
            Some(b't' | b'f') => ItemKind::Bool,
            Some(b'[' | b'n') => ItemKind::List,
            Some(b'{') => ItemKind::Map,
            Some(_) | None => ItemKind::Number,
        }
    }

    /// The item's JSON text.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// What `{{item}}` stands for: a string without quotes, otherwise JSON text.
    pub fn text(&self) -> String {
        match self.kind() {
            ItemKind::String => unquoted(&self.raw),
            ItemKind::Number | ItemKind::Bool => self.raw.clone(),
            ItemKind::List if self.raw.starts_with('n') => "null".to_owned(),
            ItemKind::List => go_json::compact(&self.raw).unwrap_or_else(|_| self.raw.clone()),
            ItemKind::Map => {
                let entries: Vec<_> = self
                    .entries()
                    .into_iter()
                    .map(|(key, raw)| {
                        let value = go_json::compact(&raw).unwrap_or(raw);
                        format!("{}:{value}", go_json::quote(&key))
                    })
                    .collect();
                format!("{{{}}}", entries.join(","))
            }
        }
    }

    /// The variables that an item brings: `item`, and `item.<key>` for each key of a map.
    pub fn scope(&self) -> MapScope {
        let mut scope = MapScope::new();
        scope.set("item", self.text());
        if self.kind() == ItemKind::Map {
            for (key, raw) in self.entries() {
                scope.set(format!("item.{key}"), unquoted(&raw));
            }
        }
        scope
    }

    /// Name of the item's node: `t(0:value)`, where a map shows as sorted `key:value` pairs and a
    /// list as Go prints one. Parentheses are taken out of the value.
    pub fn node_name(&self, task: &str, index: usize) -> String {
        let value = match self.kind() {
            ItemKind::String | ItemKind::Number | ItemKind::Bool => self.text(),
            ItemKind::List => self.listed(),
            ItemKind::Map => {
                let pair = |(key, raw): (String, String)| format!("{key}:{}", unquoted(&raw));
                let mut pairs: Vec<_> = self.entries().into_iter().map(pair).collect();
                pairs.sort();
                pairs.join(",")
            }
        };
        indexed_name(task, index, &value)
    }

    fn listed(&self) -> String {
        let elements = go_json::elements(&self.raw)
            .ok()
            .flatten()
            .unwrap_or_default();
        let texts: Vec<_> = elements.into_iter().map(unquoted).collect();
        format!("[{}]", texts.join(" "))
    }

    /// The entries of a map by key, each with the JSON text of its value; the last of equal keys.
    fn entries(&self) -> Vec<(String, String)> {
        go_json::members(&self.raw)
            .unwrap_or_default()
            .into_iter()
            .collect()
    }
}

/// Name of the node of the fan-out's element `index` that shows as `value`.
pub fn indexed_name(task: &str, index: usize, value: &str) -> String {
    format!("{task}({index}:{})", value.replace(['(', ')'], ""))
}

/// The index in a node's name such as `t(3:value)`, or 0 where there is none; fan-out children
/// are ordered by it.
pub fn index_of(node_name: &str) -> usize {
    let Some(open) = node_name.rfind('(') else {
        return 0;
    };
    let rest = &node_name[open + 1..];
    let end = rest.find(':').unwrap_or(0);
    rest[..end].parse().unwrap_or(0)
}

/// A JSON string's text; any other JSON text as it is.
fn unquoted(raw: &str) -> String {
    serde_json::from_str::<String>(raw).unwrap_or_else(|_| raw.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::scope::{Lookup, Scope};

    fn items(text: &str) -> Vec<Item> {
        parse_with_param(text).expect(text)
    }

    #[test]
    fn nodes_are_named_after_their_items() {
        let items = items(
            r#"["a", 1.50, true, [1, 2], ["x", [ 3 ]], {"b": "x", "a": 1, "c": {"d": 1}}, "f(x)"]"#,
        );
        let names: Vec<_> = items
            .iter()
            .enumerate()
            .map(|(index, item)| item.node_name("t", index))
            .collect();
        assert_eq!(
            names,
            [
                "t(0:a)",
                "t(1:1.50)",
                "t(2:true)",
                "t(3:[1 2])",
                "t(4:[x [ 3 ]])",
                "t(5:a:1,b:x,c:{\"d\": 1})",
                "t(6:fx)",
            ]
        );
        assert_eq!(index_of("wf[0].t(12:a:b)"), 12);
        assert_eq!(index_of("wf.t"), 0);
    }

    #[test]
    fn an_item_stands_for_its_text() {
        let texts: Vec<_> =
            items(r#"["say \"hi\"", 1e3, false, [ 1, "a" ], {"b": [ 1 ], "a": "x"}, null]"#)
                .iter()
                .map(Item::text)
                .collect();
        let expected = [
            "say \"hi\"",
            "1e3",
            "false",
            "[1,\"a\"]",
            "{\"a\":\"x\",\"b\":[1]}",
            "null",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn the_keys_of_a_map_are_variables() {
        let scope = items(r#"[{"name": "a\nb", "n": 1, "l": [1]}]"#)[0].scope();
        assert_eq!(scope.get("item.name"), Lookup::Text("a\nb"));
        assert_eq!(scope.get("item.n"), Lookup::Text("1"));
        assert_eq!(scope.get("item.l"), Lookup::Text("[1]"));
        assert_eq!(scope.get("item.none"), Lookup::Missing);
    }

    #[test]
    fn what_is_no_list_is_an_error_in_the_words_of_argo() {
        let error = |text: &str| parse_with_param(text).expect_err(text).to_string();
        assert_eq!(
            error("a b"),
            "withParam value could not be parsed as a JSON list: a b: \
             invalid character 'a' looking for beginning of value"
        );
        assert_eq!(
            error("{}"),
            "withParam value could not be parsed as a JSON list: {}: \
             json: cannot unmarshal object into Go value of type []v1alpha1.Item"
        );
        assert_eq!(parse_with_param("null"), Ok(vec![]));
    }

    #[test]
    fn emoji_and_control_characters_arrive_unharmed() {
        let text = "\u{7}\u{e0067}😀 \"q\" \\";
        let item = Item::from(&Value::String(text.to_owned()));
        assert_eq!(item.text(), text);
    }
}
