//! Functions on texts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::super::evaluate::bounded;
use super::super::operators::pattern_of;
use super::super::value::Value;
use super::{Called, whole};

pub(super) fn call(name: &str, arguments: &[Value]) -> Called {
    simple(name, arguments)
        .or_else(|| cut(name, arguments))
        .or_else(|| joined(name, arguments))
        .or_else(|| patterns(name, arguments))
        .or_else(|| paths(name, arguments))
}

fn text(text: impl Into<std::sync::Arc<str>>) -> Called {
    Some(Ok(Value::text(text)))
}

fn simple(name: &str, arguments: &[Value]) -> Called {
    use Value::Text;
    match (name, arguments) {
        ("trim", [Text(a)]) => text(a.trim()),
        ("trimAll" | "trimall", [Text(set), Text(a)]) => text(a.trim_matches(|c| set.contains(c))),
        ("trimSuffix", [Text(end), Text(a)]) => text(a.strip_suffix(&**end).unwrap_or(a)),
        ("trimPrefix", [Text(start), Text(a)]) => text(a.strip_prefix(&**start).unwrap_or(a)),
        ("upper", [Text(a)]) => text(a.to_uppercase()),
        ("lower", [Text(a)]) => text(a.to_lowercase()),
        ("title", [Text(a)]) => text(initials(a, |c| c.to_uppercase().collect())),
        ("untitle", [Text(a)]) => text(initials(a, |c| c.to_lowercase().collect())),
        ("swapcase", [Text(a)]) => text(a.chars().map(swapped).collect::<String>()),
        ("nospace", [Text(a)]) => {
            text(a.chars().filter(|c| !c.is_whitespace()).collect::<String>())
        }
        ("initials", [Text(a)]) => text(
            a.split_whitespace()
                .filter_map(|word| word.chars().next())
                .collect::<String>(),
        ),
        ("contains", [Text(part), Text(a)]) => Some(Ok(Value::Bool(a.contains(&**part)))),
        ("hasPrefix", [Text(start), Text(a)]) => Some(Ok(Value::Bool(a.starts_with(&**start)))),
        ("hasSuffix", [Text(end), Text(a)]) => Some(Ok(Value::Bool(a.ends_with(&**end)))),
        ("replace", [Text(from), Text(to), Text(a)]) => {
            let length = a.len() + a.matches(&**from).count().saturating_mul(to.len());
            Some(bounded(length).map(|()| Value::text(a.replace(&**from, to))))
        }
        ("repeat", [count, Text(a)]) => {
            let count = usize::try_from(whole(count)).unwrap_or(0);
            let length = a.len().saturating_mul(count);
            Some(bounded(length).map(|()| Value::text(a.repeat(count))))
        }
        ("snakecase", [Text(a)]) => text(words(a, "_")),
        ("kebabcase", [Text(a)]) => text(words(a, "-")),
        ("camelcase", [Text(a)]) => text(camel(a)),
        ("plural", [Text(one), Text(many), count]) => text(if whole(count) == 1 {
            one.clone()
        } else {
            many.clone()
        }),
        ("b64enc", [Text(a)]) => text(BASE64.encode(a.as_bytes())),
        ("b64dec", [Text(a)]) => text(match BASE64.decode(a.as_bytes()) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => error.to_string(),
        }),
        _ => None,
    }
}

fn initials(text: &str, change: fn(char) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at_start = true;
    for c in text.chars() {
        if at_start {
            out.push_str(&change(c))
        } else {
            out.push(c)
        }
        at_start = c.is_whitespace();
    }
    out
}

fn swapped(c: char) -> char {
    let change = |mut changed: Box<dyn Iterator<Item = char>>| changed.next().unwrap_or(c);
    if c.is_uppercase() {
        change(Box::new(c.to_lowercase()))
    } else {
        change(Box::new(c.to_uppercase()))
    }
}

/// The words of `someName-of it`, in lower case, joined.
fn words(text: &str, by: &str) -> String {
    let mut out = String::new();
    let mut before: Option<char> = None;
    for c in text.chars() {
        let separates = c.is_whitespace() || c == '_' || c == '-';
        if separates {
            before = Some(' ');
            continue;
        }
        let starts = match before {
            None => false,
            Some(' ') => !out.is_empty(),
            Some(before) => c.is_uppercase() && !before.is_uppercase(),
        };
        if starts {
            out.push_str(by);
        }
        out.extend(c.to_lowercase());
        before = Some(c);
    }
    out
}

fn camel(text: &str) -> String {
    let words = text.split(['_', '-', ' ']).filter(|word| !word.is_empty());
    words
        .map(|word| initials(word, |c| c.to_uppercase().collect()))
        .collect()
}

fn cut(name: &str, arguments: &[Value]) -> Called {
    use Value::Text;
    match (name, arguments) {
        ("trunc", [count, Text(a)]) => {
            let count = whole(count);
            let length = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
            let shown = if length >= a.len() {
                a.to_string()
            } else if count < 0 {
                String::from_utf8_lossy(&a.as_bytes()[a.len() - length..]).into_owned()
            } else {
                String::from_utf8_lossy(&a.as_bytes()[..length]).into_owned()
            };
            text(shown)
        }
        ("substr", [from, to, Text(a)]) => {
            let bound = |value: i64, missing: usize| {
                usize::try_from(value).map_or(missing, |value| value.min(a.len()))
            };
            let to = bound(whole(to), a.len());
            let from = bound(whole(from), 0).min(to);
            text(String::from_utf8_lossy(&a.as_bytes()[from..to]))
        }
        ("abbrev", [width, Text(a)]) => {
            let width = usize::try_from(whole(width)).unwrap_or(0);
            let length = a.chars().count();
            if width < 4 || length <= width {
                return text(a.clone());
            }
            text(a.chars().take(width - 3).collect::<String>() + "...")
        }
        ("splitList", [Text(by), Text(a)]) => {
            if by.is_empty() {
                let letters = a.chars().map(|c| Value::text(c.to_string()));
                return Some(Ok(Value::list(letters.collect())));
            }
            Some(Ok(Value::list(a.split(&**by).map(Value::text).collect())))
        }
        ("split", [Text(by), Text(a)]) => numbered(a.split(&**by)),
        ("splitn", [Text(by), count, Text(a)]) => {
            numbered(a.splitn(usize::try_from(whole(count)).unwrap_or(usize::MAX), &**by))
        }
        _ => None,
    }
}

/// Parts as a map with the keys `_0`, `_1`, ….
fn numbered<'t>(parts: impl Iterator<Item = &'t str>) -> Called {
    let parts = parts
        .enumerate()
        .map(|(index, part)| (format!("_{index}"), Value::text(part)));
    Some(Ok(Value::map(parts.collect())))
}

fn joined(name: &str, arguments: &[Value]) -> Called {
    use Value::{List, Text};
    match (name, arguments) {
        ("join", [Text(by), List(items)]) => {
            let items = items.iter().filter(|item| **item != Value::Nil);
            text(items.map(ToString::to_string).collect::<Vec<_>>().join(by))
        }
        ("join", [Text(_), single]) => text(single.to_string()),
        ("cat", values) => {
            let shown = values.iter().filter(|value| **value != Value::Nil);
            text(shown.map(ToString::to_string).collect::<Vec<_>>().join(" "))
        }
        ("quote", values) => {
            let shown = values.iter().filter(|value| **value != Value::Nil);
            let quoted = shown.map(|value| format!("{:?}", value.to_string()));
            text(quoted.collect::<Vec<_>>().join(" "))
        }
        ("squote", values) => {
            let shown = values.iter().filter(|value| **value != Value::Nil);
            text(
                shown
                    .map(|value| format!("'{value}'"))
                    .collect::<Vec<_>>()
                    .join(" "),
            )
        }
        ("indent" | "nindent", [count, Text(a)]) => {
            let count = usize::try_from(whole(count)).unwrap_or(0).min(1_000);
            let blanks = " ".repeat(count);
            let indented = format!("{blanks}{}", a.replace('\n', &format!("\n{blanks}")));
            text(if name == "nindent" {
                format!("\n{indented}")
            } else {
                indented
            })
        }
        _ => None,
    }
}

fn patterns(name: &str, arguments: &[Value]) -> Called {
    use Value::Text;
    let name = name.strip_prefix("mustRegex").map_or_else(
        || name.strip_prefix("regex").map(str::to_owned),
        |rest| Some(rest.to_owned()),
    )?;
    let (pattern, rest) = match arguments {
        [Text(pattern), rest @ ..] => (pattern, rest),
        _ => return None,
    };
    if name == "QuoteMeta" && rest.is_empty() {
        return text(regex::escape(pattern));
    }
    let pattern = match pattern_of(pattern) {
        Ok(pattern) => pattern,
        Err(error) => return Some(Err(error)),
    };
    match (name.as_str(), rest) {
        ("Match", [Text(a)]) => Some(Ok(Value::Bool(pattern.is_match(a)))),
        ("Find", [Text(a)]) => text(pattern.find(a).map_or("", |found| found.as_str())),
        ("FindAll", [Text(a), count]) => {
            let most = usize::try_from(whole(count)).unwrap_or(usize::MAX);
            let found = pattern
                .find_iter(a)
                .take(most)
                .map(|found| Value::text(found.as_str()));
            Some(Ok(Value::list(found.collect())))
        }
        ("ReplaceAll", [Text(a), Text(to)]) => {
            let replaced = pattern.replace_all(a, &**to).into_owned();
            Some(bounded(replaced.len()).map(|()| Value::text(replaced)))
        }
        ("ReplaceAllLiteral", [Text(a), Text(to)]) => {
            text(pattern.replace_all(a, regex::NoExpand(to)).into_owned())
        }
        ("Split", [Text(a), count]) => {
            let most = usize::try_from(whole(count)).unwrap_or(usize::MAX);
            Some(Ok(Value::list(
                pattern.splitn(a, most).map(Value::text).collect(),
            )))
        }
        _ => None,
    }
}

fn paths(name: &str, arguments: &[Value]) -> Called {
    let [Value::Text(path)] = arguments else {
        return None;
    };
    match name {
        "base" => {
            let trimmed = path.trim_end_matches('/');
            let last = trimmed.rsplit('/').next().unwrap_or(trimmed);
            text(match (path.is_empty(), last.is_empty()) {
                (true, _) => ".",
                (false, true) => "/",
                (false, false) => last,
            })
        }
        "dir" => text(clean(path.rfind('/').map_or("", |slash| &path[..=slash]))),
        "ext" => {
            let last = path.rsplit('/').next().unwrap_or(path);
            text(last.rfind('.').map_or("", |dot| &last[dot..]))
        }
        "clean" => text(clean(path)),
        "isAbs" => Some(Ok(Value::Bool(path.starts_with('/')))),
        _ => None,
    }
}

fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}
