//! Functions on lists and maps.

use std::collections::BTreeMap;

use super::super::evaluate::member_of;
use super::super::operators::{LONGEST, equal};
use super::super::value::Value;
use super::{Called, is_empty, whole};

pub(super) fn call(name: &str, arguments: &[Value]) -> Called {
    let name = name.strip_prefix("must").map_or_else(
        || name.to_owned(),
        |rest| {
            let mut letters = rest.chars();
            letters.next().map_or_else(String::new, |first| {
                first.to_lowercase().chain(letters).collect()
            })
        },
    );
    lists(&name, arguments).or_else(|| maps(&name, arguments))
}

fn lists(name: &str, arguments: &[Value]) -> Called {
    use Value::{List, Text};
    let found = match (name, arguments) {
        ("list" | "tuple", items) => Value::list(items.to_vec()),
        ("first", [List(items)]) => items.first().cloned().unwrap_or(Value::Nil),
        ("last", [List(items)]) => items.last().cloned().unwrap_or(Value::Nil),
        ("rest", [List(items)]) => Value::list(items.iter().skip(1).cloned().collect()),
        ("initial", [List(items)]) => Value::list(items[..items.len().saturating_sub(1)].to_vec()),
        ("append" | "push", [List(items), item]) => {
            Value::list(items.iter().chain([item]).cloned().collect())
        }
        ("prepend", [List(items), item]) => {
            Value::list([item].into_iter().chain(items.iter()).cloned().collect())
        }
        ("concat", lists) => {
            let mut all = Vec::new();
            for list in lists {
                let List(items) = list else { return None };
                all.extend(items.iter().cloned());
            }
            if all.len() > LONGEST {
                return Some(Err("memory budget exceeded".to_owned()));
            }
            Value::list(all)
        }
        ("reverse", [List(items)]) => Value::list(items.iter().rev().cloned().collect()),
        ("uniq", [List(items)]) => {
            let mut kept: Vec<Value> = Vec::new();
            for item in items.iter() {
                if !kept.iter().any(|known| equal(known, item)) {
                    kept.push(item.clone());
                }
            }
            Value::list(kept)
        }
        ("without", [List(items), dropped @ ..]) => {
            let keep = |item: &&Value| !dropped.iter().any(|gone| equal(gone, item));
            Value::list(items.iter().filter(keep).cloned().collect())
        }
        ("has", [item, List(items)]) => Value::Bool(items.iter().any(|known| equal(known, item))),
        ("has", [_, Value::Nil]) => Value::Bool(false),
        ("compact", [List(items)]) => Value::list(
            items
                .iter()
                .filter(|item| !is_empty(item))
                .cloned()
                .collect(),
        ),
        ("slice", [List(items), bounds @ ..]) => {
            let bound = |value: Option<&Value>, missing: usize| {
                value.map_or(missing, |value| usize::try_from(whole(value)).unwrap_or(0))
            };
            let to = bound(bounds.get(1), items.len()).min(items.len());
            let from = bound(bounds.first(), 0).min(to);
            Value::list(items[from..to].to_vec())
        }
        ("chunk", [size, List(items)]) => {
            let size = usize::try_from(whole(size)).unwrap_or(1).max(1);
            Value::list(
                items
                    .chunks(size)
                    .map(|chunk| Value::list(chunk.to_vec()))
                    .collect(),
            )
        }
        ("sortAlpha", [List(items)]) => {
            let mut texts: Vec<_> = items.iter().map(ToString::to_string).collect();
            texts.sort();
            Value::list(texts.into_iter().map(Value::text).collect())
        }
        ("len", [List(items)]) => Value::Int(i64::try_from(items.len()).unwrap_or(i64::MAX)),
        ("contains", [item, List(items)]) if !matches!(item, Text(_)) => {
            Value::Bool(items.iter().any(|known| equal(known, item)))
        }
        _ => return None,
    };
    Some(Ok(found))
}

fn maps(name: &str, arguments: &[Value]) -> Called {
    use Value::{List, Map, Text};
    let found = match (name, arguments) {
        ("dict", entries) => {
            let pairs = entries.chunks(2).map(|pair| {
                (
                    pair[0].to_string(),
                    pair.get(1).cloned().unwrap_or(Value::text("")),
                )
            });
            Value::map(pairs.collect())
        }
        ("get", [Map(map), Text(key)]) => map.get(&**key).cloned().unwrap_or(Value::text("")),
        ("hasKey", [Map(map), Text(key)]) => Value::Bool(map.contains_key(&**key)),
        ("set", [Map(map), Text(key), value]) => {
            let mut map = BTreeMap::clone(map);
            map.insert(key.to_string(), value.clone());
            Value::map(map)
        }
        ("unset", [Map(map), Text(key)]) => {
            let mut map = BTreeMap::clone(map);
            map.remove(&**key);
            Value::map(map)
        }
        ("keys", maps) if maps.iter().all(|map| matches!(map, Map(_))) => {
            let mut keys = Vec::new();
            for map in maps {
                if let Map(map) = map {
                    keys.extend(map.keys().map(|key| Value::text(key.as_str())));
                }
            }
            Value::list(keys)
        }
        ("values", [Map(map)]) => Value::list(map.values().cloned().collect()),
        ("pick" | "omit", [Map(map), keys @ ..]) => {
            let named = |key: &String| keys.iter().any(|given| given.to_string() == *key);
            let kept = map.iter().filter(|(key, _)| named(key) == (name == "pick"));
            Value::map(
                kept.map(|(key, value)| (key.clone(), value.clone()))
                    .collect(),
            )
        }
        ("pluck", [Text(key), maps @ ..]) => {
            let values = maps.iter().filter_map(|map| match map {
                Map(map) => map.get(&**key).cloned(),
                _ => None,
            });
            Value::list(values.collect())
        }
        ("merge" | "mergeOverwrite", [Map(first), others @ ..]) => {
            let mut merged = BTreeMap::clone(first);
            for other in others {
                let Map(other) = other else { return None };
                for (key, value) in other.iter() {
                    if name == "mergeOverwrite" || !merged.contains_key(key) {
                        merged.insert(key.clone(), value.clone());
                    }
                }
            }
            Value::map(merged)
        }
        ("dig", [keys @ .., default, map @ Map(_)]) if !keys.is_empty() => {
            return Some(Ok(dig(keys, default, map)));
        }
        ("deepCopy", [value @ (List(_) | Map(_))]) => value.clone(),
        _ => return None,
    };
    Some(Ok(found))
}

fn dig(keys: &[Value], default: &Value, map: &Value) -> Value {
    let mut found = map.clone();
    for key in keys {
        found = match (&found, key) {
            (Value::Map(map), Value::Text(name)) if map.contains_key(&**name) => {
                member_of(&found, key).unwrap_or(Value::Nil)
            }
            _ => return default.clone(),
        };
    }
    found
}
