//! Functions of the language, and those that Argo adds: `asInt`, `asFloat`, `jsonpath`, `toJson`.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::evaluate::{Evaluator, bounded, member_of};
use super::operators::{self, LONGEST};
use super::time::{self, Time};
use super::value::Value;
use super::{jsonpath, syntax::Binary};

/// Calls a function. The error is a message.
pub(super) fn call(
    evaluator: &mut Evaluator<'_>,
    function: &str,
    arguments: &[Value],
) -> Result<Value, String> {
    let now = Time::utc(evaluator.moment.now);
    let result = texts(function, arguments)
        .or_else(|| numbers(function, arguments))
        .or_else(|| lists(function, arguments))
        .or_else(|| maps(function, arguments))
        .or_else(|| conversions(function, arguments))
        .or_else(|| times(function, arguments, now));
    result.unwrap_or_else(|| {
        if NAMES.contains(&function) {
            let kinds: Vec<_> = arguments.iter().map(Value::kind).collect();
            return Err(format!(
                "invalid arguments of {function}: ({})",
                kinds.join(", ")
            ));
        }
        Err(format!("unknown function {function}"))
    })
}

/// All functions, for messages and hints.
pub(super) const NAMES: [&str; 75] = [
    "abs",
    "all",
    "any",
    "asFloat",
    "asInt",
    "bitand",
    "bitnand",
    "bitnot",
    "bitor",
    "bitshl",
    "bitshr",
    "bitushr",
    "bitxor",
    "ceil",
    "concat",
    "count",
    "date",
    "duration",
    "filter",
    "find",
    "findIndex",
    "findLast",
    "findLastIndex",
    "first",
    "flatten",
    "float",
    "floor",
    "fromBase64",
    "fromJSON",
    "fromPairs",
    "get",
    "groupBy",
    "hasPrefix",
    "hasSuffix",
    "indexOf",
    "int",
    "join",
    "jsonpath",
    "keys",
    "last",
    "lastIndexOf",
    "len",
    "lower",
    "map",
    "max",
    "mean",
    "median",
    "min",
    "none",
    "now",
    "one",
    "reduce",
    "repeat",
    "replace",
    "reverse",
    "round",
    "sort",
    "sortBy",
    "split",
    "splitAfter",
    "string",
    "sum",
    "take",
    "toBase64",
    "toJSON",
    "toJson",
    "toPairs",
    "trim",
    "trimPrefix",
    "trimSuffix",
    "type",
    "uniq",
    "upper",
    "values",
    "timezone",
];

type Called = Option<Result<Value, String>>;

fn text(text: impl Into<std::sync::Arc<str>>) -> Called {
    Some(Ok(Value::text(text)))
}

fn whole(number: usize) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

fn split_list<'t>(parts: impl Iterator<Item = &'t str>) -> Called {
    Some(Ok(Value::list(parts.map(Value::text).collect())))
}

fn texts(function: &str, arguments: &[Value]) -> Called {
    use Value::{Int, Text};
    match (function, arguments) {
        ("trim", [Text(a)]) => text(a.trim()),
        ("trim", [Text(a), Text(set)]) => text(a.trim_matches(|c| set.contains(c))),
        ("trimPrefix", [Text(a), Text(b)]) => text(a.strip_prefix(&**b).unwrap_or(a)),
        ("trimSuffix", [Text(a), Text(b)]) => text(a.strip_suffix(&**b).unwrap_or(a)),
        ("trimPrefix" | "trimSuffix", [Text(a)]) => text(a.trim()),
        ("upper", [Text(a)]) => text(a.to_uppercase()),
        ("lower", [Text(a)]) => text(a.to_lowercase()),
        ("split", [Text(a), Text(by)]) if by.is_empty() => Some(Ok(Value::list(
            a.chars().map(|c| Value::text(c.to_string())).collect(),
        ))),
        ("split", [Text(a), Text(by)]) => split_list(a.split(&**by)),
        ("split", [Text(a), Text(by), Int(n)]) if *n > 0 => {
            split_list(a.splitn(usize::try_from(*n).unwrap_or(usize::MAX), &**by))
        }
        ("split", [Text(_), Text(_), Int(0)]) => Some(Ok(Value::list(Vec::new()))),
        ("split", [Text(a), Text(by), Int(_)]) => split_list(a.split(&**by)),
        ("splitAfter", [Text(a), Text(by)]) => split_list(a.split_inclusive(&**by)),
        ("replace", [Text(a), Text(from), Text(to)]) => {
            let length = a.len().saturating_mul(to.len().max(1));
            if let Err(error) = bounded(length.min(a.len() + a.matches(&**from).count() * to.len()))
            {
                return Some(Err(error));
            }
            text(a.replace(&**from, to))
        }
        ("replace", [Text(a), Text(from), Text(to), Int(n)]) => match usize::try_from(*n) {
            Ok(n) => text(a.replacen(&**from, to, n)),
            Err(_) => text(a.replace(&**from, to)),
        },
        ("repeat", [Text(a), Int(n)]) => {
            let Ok(n) = usize::try_from(*n) else {
                return Some(Err(format!(
                    "invalid argument for repeat (expected positive integer, got {n})"
                )));
            };
            Some(bounded(a.len().saturating_mul(n)).map(|()| Value::text(a.repeat(n))))
        }
        ("join", [Value::List(items)]) => joined(items, ""),
        ("join", [Value::List(items), Text(by)]) => joined(items, by),
        ("splitAfter", [Text(a), Text(by), Int(n)]) => {
            let parts: Vec<_> = a.split_inclusive(&**by).collect();
            let Ok(n) = usize::try_from(*n) else {
                return split_list(parts.into_iter());
            };
            let whole: usize = parts
                .iter()
                .take(n.saturating_sub(1))
                .map(|part| part.len())
                .sum();
            let rest = (n > 0 && whole < a.len()).then(|| &a[whole..]);
            split_list(parts.into_iter().take(n.saturating_sub(1)).chain(rest))
        }
        ("indexOf", [Text(a), Text(b)]) => Some(Ok(a.find(&**b).map_or(Int(-1), whole))),
        ("lastIndexOf", [Text(a), Text(b)]) => Some(Ok(a.rfind(&**b).map_or(Int(-1), whole))),
        ("hasPrefix", [Text(a), Text(b)]) => Some(Ok(Value::Bool(a.starts_with(&**b)))),
        ("hasSuffix", [Text(a), Text(b)]) => Some(Ok(Value::Bool(a.ends_with(&**b)))),
        _ => None,
    }
}

fn joined(items: &[Value], by: &str) -> Called {
    let mut texts = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Value::Text(text) => texts.push(&**text),
            other => return Some(Err(format!("cannot join {}", other.kind()))),
        }
    }
    text(texts.join(by))
}

fn numbers(function: &str, arguments: &[Value]) -> Called {
    use Value::{Float, Int};
    let found = match (function, arguments) {
        ("abs", [Int(a)]) => Ok(Int(a.wrapping_abs())),
        ("abs", [Float(a)]) => Ok(Float(a.abs())),
        ("ceil", [a]) => Ok(Float(operators::number(a)?.ceil())),
        ("floor", [a]) => Ok(Float(operators::number(a)?.floor())),
        ("round", [a]) => Ok(Float(operators::number(a)?.round())),
        ("max" | "min" | "mean" | "median" | "sum", _) => statistics(function, arguments)?,
        ("bitand", [Int(a), Int(b)]) => Ok(Int(a & b)),
        ("bitor", [Int(a), Int(b)]) => Ok(Int(a | b)),
        ("bitxor", [Int(a), Int(b)]) => Ok(Int(a ^ b)),
        ("bitnand", [Int(a), Int(b)]) => Ok(Int(a & !b)),
        ("bitnot", [Int(a)]) => Ok(Int(!a)),
        ("bitshl" | "bitshr" | "bitushr", [Int(_), Int(b)]) if *b < 0 => {
            Err("invalid operation: negative shift count".to_owned())
        }
        ("bitshl", [Int(a), Int(b)]) => Ok(Int(if *b < 64 { a << b } else { 0 })),
        ("bitshr", [Int(a), Int(b)]) => Ok(Int(a >> (*b).min(63))),
        ("bitushr", [Int(a), Int(b)]) => {
            let shifted = if *b < 64 { (a.cast_unsigned()) >> b } else { 0 };
            Ok(Int(shifted.cast_signed()))
        }
        _ => return None,
    };
    Some(found)
}

fn statistics(function: &str, arguments: &[Value]) -> Called {
    let mut flat = Vec::new();
    flatten(arguments, &mut flat);
    if flat.iter().any(|value| operators::number(value).is_none()) {
        return None;
    }
    let sum = |values: &[Value]| {
        values.iter().try_fold(Value::Int(0), |sum, value| {
            operators::apply(Binary::Add, &sum, value)
        })
    };
    let by_size =
        |a: &Value, b: &Value| operators::order(a, b).unwrap_or(std::cmp::Ordering::Equal);
    let float = |value: &Value| operators::number(value).unwrap_or(f64::NAN);
    Some(match function {
        "sum" => sum(&flat),
        "max" | "min" if flat.is_empty() => Err(format!("not enough arguments to call {function}")),
        "max" => Ok(flat.into_iter().max_by(by_size).unwrap_or(Value::Nil)),
        "min" => Ok(flat.into_iter().min_by(by_size).unwrap_or(Value::Nil)),
        "mean" | "median" if flat.is_empty() => Ok(Value::Float(0.0)),
        "mean" => sum(&flat).map(|sum| Value::Float(float(&sum) / flat.len() as f64)),
        _ => {
            flat.sort_by(by_size);
            let middle = flat.len() / 2;
            Ok(Value::Float(if flat.len() % 2 == 1 {
                float(&flat[middle])
            } else {
                (float(&flat[middle - 1]) + float(&flat[middle])) / 2.0
            }))
        }
    })
}

fn lists(function: &str, arguments: &[Value]) -> Called {
    use Value::{Int, List, Text};
    let found = match (function, arguments) {
        ("len", [List(items)]) => whole(items.len()),
        ("len", [Text(text)]) => whole(text.chars().count()),
        ("len", [Value::Map(map)]) => whole(map.len()),
        ("count", [List(items)]) => whole(
            items
                .iter()
                .filter(|item| **item == Value::Bool(true))
                .count(),
        ),
        ("first", [List(items)]) => items.first().cloned().unwrap_or(Value::Nil),
        ("last", [List(items)]) => items.last().cloned().unwrap_or(Value::Nil),
        ("take", [List(items), Int(n)]) => {
            let Ok(n) = usize::try_from(*n) else {
                return Some(Err(format!("cannot take {n} elements")));
            };
            Value::list(items.iter().take(n).cloned().collect())
        }
        ("reverse", [List(items)]) => Value::list(items.iter().rev().cloned().collect()),
        ("uniq", [List(items)]) => {
            let mut kept: Vec<Value> = Vec::new();
            for item in items.iter() {
                if !kept.iter().any(|known| operators::equal(known, item)) {
                    kept.push(item.clone());
                }
            }
            Value::list(kept)
        }
        ("concat", lists) if !lists.is_empty() => {
            let mut all = Vec::new();
            for list in lists {
                let List(items) = list else {
                    return Some(Err(format!("cannot concat {}", list.kind())));
                };
                all.extend(items.iter().cloned());
            }
            if all.len() > LONGEST {
                return Some(Err("memory budget exceeded".to_owned()));
            }
            Value::list(all)
        }
        ("flatten", [List(items)]) => {
            let mut flat = Vec::new();
            flatten(items, &mut flat);
            Value::list(flat)
        }
        ("sort", [List(items)]) => return Some(sorted(items, false)),
        ("sort", [List(items), Text(order)]) => return Some(sorted(items, &**order == "desc")),
        ("get", [base, key]) => member_of(base, key).unwrap_or(Value::Nil),
        _ => return None,
    };
    Some(Ok(found))
}

fn flatten(items: &[Value], flat: &mut Vec<Value>) {
    for item in items {
        match item {
            Value::List(inner) => flatten(inner, flat),
            other => flat.push(other.clone()),
        }
    }
}

fn sorted(items: &[Value], descending: bool) -> Result<Value, String> {
    if let Some(first) = items.first()
        && let Some(strange) = items
            .iter()
            .find(|item| operators::order(first, item).is_none())
    {
        return Err(format!(
            "cannot sort {} with {}",
            first.kind(),
            strange.kind()
        ));
    }
    let mut items = items.to_vec();
    items.sort_by(|a, b| {
        let order = operators::order(a, b).unwrap_or(std::cmp::Ordering::Equal);
        if descending { order.reverse() } else { order }
    });
    Ok(Value::list(items))
}

fn maps(function: &str, arguments: &[Value]) -> Called {
    use Value::{List, Map};
    let found = match (function, arguments) {
        ("keys", [Map(map)]) => {
            Value::list(map.keys().map(|key| Value::text(key.as_str())).collect())
        }
        ("values", [Map(map)]) => Value::list(map.values().cloned().collect()),
        ("toPairs", [Map(map)]) => {
            let pair = |(key, value): (&String, &Value)| {
                Value::list(vec![Value::text(key.as_str()), value.clone()])
            };
            Value::list(map.iter().map(pair).collect())
        }
        ("fromPairs", [List(pairs)]) => {
            let mut map = BTreeMap::new();
            for pair in pairs.iter() {
                match pair {
                    List(pair) if pair.len() == 2 => {
                        map.insert(pair[0].to_string(), pair[1].clone());
                    }
                    other => return Some(Err(format!("invalid pair {other}"))),
                }
            }
            Value::map(map)
        }
        _ => return None,
    };
    Some(Ok(found))
}

fn conversions(function: &str, arguments: &[Value]) -> Called {
    use Value::{Float, Int, Text};
    Some(match (function, arguments) {
        ("int" | "asInt", [Int(a)]) => Ok(Int(*a)),
        ("int" | "asInt", [Float(a)]) => Ok(Int(*a as i64)),
        ("int", [Text(a)]) => a
            .trim()
            .parse()
            .map(Int)
            .map_err(|_| format!("invalid operation: int({a:?})")),
        ("asInt", [Text(a)]) => a
            .parse()
            .map(Int)
            .map_err(|_| format!("strconv.ParseInt: parsing {a:?}: invalid syntax")),
        ("float" | "asFloat", [number @ (Int(_) | Float(_))]) => {
            Ok(Float(operators::number(number)?))
        }
        ("float" | "asFloat", [Text(a)]) => a
            .parse()
            .map(Float)
            .map_err(|_| format!("strconv.ParseFloat: parsing {a:?}: invalid syntax")),
        ("string", [value]) => Ok(Value::text(value.to_string())),
        ("type", [value]) => Ok(Value::text(value.kind())),
        ("toJSON", [value]) => value
            .to_pretty_json("  ")
            .map(Value::text)
            .map_err(|error| error.to_string()),
        ("toJson", [value]) => value
            .to_json()
            .map(Value::text)
            .map_err(|error| error.to_string()),
        ("fromJSON", [Text(a)]) => from_json(a),
        ("toBase64", [Text(a)]) => Ok(Value::text(BASE64.encode(a.as_bytes()))),
        ("fromBase64", [Text(a)]) => match BASE64.decode(a.as_bytes()) {
            Ok(bytes) => Ok(Value::text(String::from_utf8_lossy(&bytes))),
            Err(_) => Err("illegal base64 data".to_owned()),
        },
        ("jsonpath", [Text(json), Text(path)]) => {
            from_json(json).and_then(|value| jsonpath::select(&value, path))
        }
        _ => return None,
    })
}

/// Decodes JSON.
pub(super) fn from_json(text: &str) -> Result<Value, String> {
    crate::expr::go_json::check(text).map_err(|error| error.to_string())?;
    let data: serde_json::Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(Value::from(&data))
}

fn times(function: &str, arguments: &[Value], now: Time) -> Called {
    use Value::Text;
    Some(match (function, arguments) {
        ("now", []) => Ok(Value::Time(now)),
        ("date", [Text(a)]) => time::parse_any(a).map(Value::Time),
        ("date", [Text(a), Text(layout)]) => match time::parse(a, layout) {
            Some(time) => Ok(Value::Time(time)),
            None => Err(format!("parsing time {a:?} as {layout:?} failed")),
        },
        ("date", [_, _, Text(zone)]) | ("timezone", [Text(zone)]) => Err(format!(
            "time zones by name are not supported yet in expressions: `{zone}`"
        )),
        ("duration", [Text(a)]) => time::parse_duration(a).map(Value::Duration),
        _ => return None,
    })
}
