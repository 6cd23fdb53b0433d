//! JSONPath selectors, for `jsonpath(json, path)`.
//!
//! A path without wildcards, slices, filters, unions or descents selects one value; with one of
//! them it selects a list.

use super::operators;
use super::value::Value;

/// Selects from a value. The error is a message.
pub(super) fn select(root: &Value, path: &str) -> Result<Value, String> {
    let wrong = |reason: &str| format!("invalid JSONPath selector '{path}': {reason}");
    let rest = path
        .trim()
        .strip_prefix('$')
        .ok_or_else(|| wrong("it must start with $"))?;
    let steps = steps(rest).map_err(wrong)?;
    let definite = steps
        .iter()
        .all(|step| matches!(step, Step::Key(_) | Step::Index(_)));
    let mut selected = vec![root.clone()];
    for step in &steps {
        let mut next = Vec::new();
        for value in &selected {
            apply(step, value, root, &mut next);
        }
        if definite && next.is_empty() {
            return Err(match step {
                Step::Key(key) => {
                    format!("key: invalid JSONPath selector '{path}': key '{key}' not found")
                }
                _ => format!("index: invalid JSONPath selector '{path}': index out of range"),
            });
        }
        selected = next;
    }
    if definite {
        return Ok(selected.pop().unwrap_or(Value::Nil));
    }
    Ok(Value::list(selected))
}

enum Step {
    Key(String),
    Index(i64),
    Wildcard,
    Descend,
    Union(Vec<Step>),
    Slice(Option<i64>, Option<i64>, i64),
    Filter(Filter),
}

/// `?(@.a.b > 1 && …)`.
enum Filter {
    Exists(Operand),
    Compare(&'static str, Operand, Operand),
    And(Box<Filter>, Box<Filter>),
    Or(Box<Filter>, Box<Filter>),
    Not(Box<Filter>),
}

enum Operand {
    Literal(Value),
    Current(String),
    Root(String),
}

fn apply(step: &Step, value: &Value, root: &Value, found: &mut Vec<Value>) {
    match (step, value) {
        (Step::Key(key), Value::Map(map)) => found.extend(map.get(key).cloned()),
        (Step::Key(key), Value::List(items)) if key == "length" => {
            found.push(Value::Int(i64::try_from(items.len()).unwrap_or(i64::MAX)));
        }
        (Step::Index(index), Value::List(items)) => {
            let place = if *index < 0 {
                index + items.len() as i64
            } else {
                *index
            };
            found.extend(
                usize::try_from(place)
                    .ok()
                    .and_then(|place| items.get(place))
                    .cloned(),
            );
        }
        (Step::Wildcard, Value::Map(map)) => found.extend(map.values().cloned()),
        (Step::Wildcard, Value::List(items)) => found.extend(items.iter().cloned()),
        (Step::Descend, value) => descend(value, found),
        (Step::Union(steps), value) => {
            for step in steps {
                apply(step, value, root, found);
            }
        }
        (Step::Slice(from, to, by), Value::List(items)) => slice(items, *from, *to, *by, found),
        (Step::Filter(filter), Value::List(items)) => {
            found.extend(
                items
                    .iter()
                    .filter(|item| holds(filter, item, root))
                    .cloned(),
            );
        }
        (Step::Filter(filter), Value::Map(map)) => {
            found.extend(
                map.values()
                    .filter(|item| holds(filter, item, root))
                    .cloned(),
            );
        }
        _ => {}
    }
}

fn descend(value: &Value, found: &mut Vec<Value>) {
    found.push(value.clone());
    match value {
        Value::List(items) => items.iter().for_each(|item| descend(item, found)),
        Value::Map(map) => map.values().for_each(|item| descend(item, found)),
        _ => {}
    }
}

fn slice(items: &[Value], from: Option<i64>, to: Option<i64>, by: i64, found: &mut Vec<Value>) {
    let length = items.len() as i64;
    let bound = |value: i64| (if value < 0 { value + length } else { value }).clamp(0, length);
    if by > 0 {
        let (mut at, to) = (bound(from.unwrap_or(0)), bound(to.unwrap_or(length)));
        while at < to {
            found.extend(
                usize::try_from(at)
                    .ok()
                    .and_then(|at| items.get(at))
                    .cloned(),
            );
            at += by;
        }
    } else if by < 0 {
        let mut at = from.map_or(length - 1, bound).min(length - 1);
        let to = to.map_or(-1, bound);
        while at > to {
            found.extend(
                usize::try_from(at)
                    .ok()
                    .and_then(|at| items.get(at))
                    .cloned(),
            );
            at += by;
        }
    }
}

fn holds(filter: &Filter, item: &Value, root: &Value) -> bool {
    match filter {
        Filter::Exists(operand) => {
            resolve(operand, item, root).is_some_and(|v| v != Value::Bool(false))
        }
        Filter::Compare(operator, left, right) => {
            let left = resolve(left, item, root);
            let right = resolve(right, item, root);
            let (Some(left), Some(right)) = (left, right) else {
                return *operator == "!=";
            };
            let order = operators::order(&left, &right);
            match *operator {
                "==" => operators::equal(&left, &right),
                "!=" => !operators::equal(&left, &right),
                "<" => order.is_some_and(std::cmp::Ordering::is_lt),
                "<=" => order.is_some_and(std::cmp::Ordering::is_le),
                ">" => order.is_some_and(std::cmp::Ordering::is_gt),
                ">=" => order.is_some_and(std::cmp::Ordering::is_ge),
                _ => match (&left, &right) {
                    (Value::Text(text), Value::Text(pattern)) => {
                        operators::pattern_of(pattern).is_ok_and(|pattern| pattern.is_match(text))
                    }
                    _ => false,
                },
            }
        }
        Filter::And(left, right) => holds(left, item, root) && holds(right, item, root),
        Filter::Or(left, right) => holds(left, item, root) || holds(right, item, root),
        Filter::Not(inner) => !holds(inner, item, root),
    }
}

fn resolve(operand: &Operand, item: &Value, root: &Value) -> Option<Value> {
    match operand {
        Operand::Literal(value) => Some(value.clone()),
        Operand::Current(path) => select(item, &format!("${path}")).ok(),
        Operand::Root(path) => select(root, &format!("${path}")).ok(),
    }
}

fn steps(path: &str) -> Result<Vec<Step>, &'static str> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("..") {
            steps.push(Step::Descend);
            rest = after;
            if rest.is_empty() {
                return Err("it ends with ..");
            }
            if !rest.starts_with('[') {
                rest = name(rest, &mut steps)?;
            }
        } else if let Some(after) = rest.strip_prefix('.') {
            rest = name(after, &mut steps)?;
        } else if rest.starts_with('[') {
            let end = closing(rest).ok_or("a bracket is never closed")?;
            steps.push(bracket(rest[1..end].trim())?);
            rest = &rest[end + 1..];
        } else {
            return Err("a dot or a bracket is expected");
        }
    }
    Ok(steps)
}

fn name<'a>(text: &'a str, steps: &mut Vec<Step>) -> Result<&'a str, &'static str> {
    let end = text.find(['.', '[']).unwrap_or(text.len());
    match &text[..end] {
        "" => return Err("a name is empty"),
        "*" => steps.push(Step::Wildcard),
        key => steps.push(Step::Key(key.to_owned())),
    }
    Ok(&text[end..])
}

/// Where the bracket that opens the text is closed; quotes and inner brackets are passed over.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if let Some(open) = quote {
            if escaped {
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if c == open {
                quote = None;
            }
            continue;
        }
        match c {
            '\'' | '"' => quote = Some(c),
            '[' | '(' => depth += 1,
            ']' | ')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Cuts a text at a separator outside of quotes and brackets.
fn cut<'a>(text: &'a str, separator: &str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let mut depth = 0;
    let mut quote = None;
    let mut start = 0;
    let mut skip = 0;
    for (at, c) in text.char_indices() {
        if at < skip {
            continue;
        }
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '[' | '(') => depth += 1,
            (None, ']' | ')') => depth -= 1,
            (None, _) if depth == 0 && text[at..].starts_with(separator) => {
                parts.push(&text[start..at]);
                start = at + separator.len();
                skip = start;
            }
            (None, _) => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn bracket(inner: &str) -> Result<Step, &'static str> {
    if let Some(filter) = inner.strip_prefix('?') {
        return Ok(Step::Filter(parse_filter(filter.trim(), 0)?));
    }
    let parts = cut(inner, ",");
    if parts.len() > 1 {
        let steps: Result<_, _> = parts.into_iter().map(|part| bracket(part.trim())).collect();
        return Ok(Step::Union(steps?));
    }
    if inner == "*" {
        return Ok(Step::Wildcard);
    }
    if let Some(key) = unquote(inner) {
        return Ok(Step::Key(key));
    }
    if inner.contains(':') {
        let number = |text: &str| match text.trim() {
            "" => Ok(None),
            text => text
                .parse()
                .map(Some)
                .map_err(|_| "a slice bound is no number"),
        };
        let mut bounds = inner.split(':').map(number);
        let mut next = || bounds.next().unwrap_or(Ok(None));
        return Ok(Step::Slice(next()?, next()?, next()?.unwrap_or(1)));
    }
    inner
        .parse()
        .map(Step::Index)
        .map_err(|_| "a bracket holds neither index nor quoted key")
}

fn unquote(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let inner = text[1..].strip_suffix(quote)?;
    let mut out = String::new();
    let mut escaped = false;
    for c in inner.chars() {
        if !escaped && c == '\\' {
            escaped = true;
        } else {
            out.push(c);
            escaped = false;
        }
    }
    Some(out)
}

fn parse_filter(text: &str, depth: usize) -> Result<Filter, &'static str> {
    if depth > 50 {
        return Err("a filter is nested too deeply");
    }
    let text = text.trim();
    let joined = |separator: &str,
                  join: fn(Box<Filter>, Box<Filter>) -> Filter|
     -> Result<Option<Filter>, &'static str> {
        let parts = cut(text, separator);
        if parts.len() < 2 {
            return Ok(None);
        }
        let mut filters = parts.into_iter().map(|part| parse_filter(part, depth + 1));
        let first = filters.next().unwrap_or(Err("a filter is empty"))?;
        filters
            .try_fold(first, |left, right| {
                Ok(join(Box::new(left), Box::new(right?)))
            })
            .map(Some)
    };
    if let Some(filter) = joined("||", Filter::Or)? {
        return Ok(filter);
    }
    if let Some(filter) = joined("&&", Filter::And)? {
        return Ok(filter);
    }
    if text.starts_with('(') && closing(text) == Some(text.len() - 1) {
        return parse_filter(&text[1..text.len() - 1], depth + 1);
    }
    for operator in ["==", "!=", "<=", ">=", "=~", "<", ">"] {
        if let [left, right] = cut(text, operator)[..] {
            return Ok(Filter::Compare(operator, operand(left)?, operand(right)?));
        }
    }
    if let Some(inner) = text.strip_prefix('!') {
        return Ok(Filter::Not(Box::new(parse_filter(inner, depth + 1)?)));
    }
    operand(text).map(Filter::Exists)
}

fn operand(text: &str) -> Result<Operand, &'static str> {
    let text = text.trim();
    if let Some(path) = text.strip_prefix('@') {
        return Ok(Operand::Current(path.to_owned()));
    }
    if let Some(path) = text.strip_prefix('$') {
        return Ok(Operand::Root(path.to_owned()));
    }
    if let Some(text) = unquote(text) {
        return Ok(Operand::Literal(Value::text(text)));
    }
    match text {
        "true" => return Ok(Operand::Literal(Value::Bool(true))),
        "false" => return Ok(Operand::Literal(Value::Bool(false))),
        "null" | "nil" => return Ok(Operand::Literal(Value::Nil)),
        _ => {}
    }
    if let Ok(number) = text.parse() {
        return Ok(Operand::Literal(Value::Int(number)));
    }
    let number = text
        .parse()
        .map_err(|_| "a filter compares something unknown")?;
    Ok(Operand::Literal(Value::Float(number)))
}
