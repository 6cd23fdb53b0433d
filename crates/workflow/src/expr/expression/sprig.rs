//! The `sprig` functions: `sprig.trim(x)`, `sprig.dig('a', 'b', 'else', map)` and their like.
//!
//! What reads the environment does not exist, as in Argo; random functions draw from the seed.

mod collections;
mod texts;

use super::evaluate::Evaluator;
use super::operators;
use super::random::Random;
use super::time::{self, Time};
use super::value::Value;

pub(super) type Called = Option<Result<Value, String>>;

/// Calls a function. The error is a message.
pub(super) fn call(
    evaluator: &mut Evaluator<'_>,
    name: &str,
    arguments: &[Value],
) -> Result<Value, String> {
    let now = Time::utc(evaluator.moment.now);
    texts::call(name, arguments)
        .or_else(|| collections::call(name, arguments))
        .or_else(|| numbers(name, arguments))
        .or_else(|| choices(name, arguments))
        .or_else(|| conversions(name, arguments))
        .or_else(|| times(name, arguments, now))
        .or_else(|| random(name, arguments, &mut evaluator.random))
        .unwrap_or_else(|| {
            let kinds: Vec<_> = arguments.iter().map(Value::kind).collect();
            Err(format!(
                "function sprig.{name} with arguments ({}) does not exist or is not supported yet",
                kinds.join(", ")
            ))
        })
}

/// A whole number from anything, as sprig reads one; 0 where there is none.
pub(super) fn whole(value: &Value) -> i64 {
    match value {
        Value::Int(number) | Value::Duration(number) => *number,
        Value::Float(number) => *number as i64,
        Value::Bool(flag) => i64::from(*flag),
        Value::Text(text) => {
            let text = text.trim();
            text.parse()
                .unwrap_or_else(|_| text.parse::<f64>().map_or(0, |number| number as i64))
        }
        Value::Nil | Value::List(_) | Value::Map(_) | Value::Time(_) => 0,
    }
}

fn float(value: &Value) -> f64 {
    match value {
        Value::Text(text) => text.trim().parse().unwrap_or(0.0),
        Value::Bool(flag) => f64::from(u8::from(*flag)),
        other => operators::number(other).unwrap_or(0.0),
    }
}

fn numbers(name: &str, arguments: &[Value]) -> Called {
    let fold = |calculate: fn(i64, i64) -> Option<i64>| {
        let mut rest = arguments.iter().map(whole);
        let first = rest.next()?;
        let result = rest.try_fold(first, calculate);
        Some(
            result
                .map(Value::Int)
                .ok_or_else(|| format!("sprig.{name}: no such number")),
        )
    };
    let fold_float = |calculate: fn(f64, f64) -> f64| {
        let mut rest = arguments.iter().map(float);
        let first = rest.next()?;
        Some(Ok(Value::Float(rest.fold(first, calculate))))
    };
    match (name, arguments) {
        ("add", _) => fold(i64::checked_add),
        ("sub", [_, _]) => fold(i64::checked_sub),
        ("mul", _) => fold(i64::checked_mul),
        ("div", [_, _]) => fold(i64::checked_div),
        ("mod", [_, _]) => fold(i64::checked_rem),
        ("add1", [a]) => Some(Ok(Value::Int(whole(a).saturating_add(1)))),
        ("max" | "biggest", _) => fold(|a, b| Some(a.max(b))),
        ("min", _) => fold(|a, b| Some(a.min(b))),
        ("addf", _) => fold_float(|a, b| a + b),
        ("subf", _) => fold_float(|a, b| a - b),
        ("mulf", _) => fold_float(|a, b| a * b),
        ("divf", _) => fold_float(|a, b| a / b),
        ("maxf", _) => fold_float(f64::max),
        ("minf", _) => fold_float(f64::min),
        ("floor", [a]) => Some(Ok(Value::Float(float(a).floor()))),
        ("ceil", [a]) => Some(Ok(Value::Float(float(a).ceil()))),
        ("round", [a, places]) => {
            let scale = 10_f64.powi(i32::try_from(whole(places)).unwrap_or(0));
            Some(Ok(Value::Float((float(a) * scale).round() / scale)))
        }
        ("until", [to]) => sequence(0, whole(to), if whole(to) < 0 { -1 } else { 1 }),
        ("untilStep", [from, to, by]) => sequence(whole(from), whole(to), whole(by)),
        _ => None,
    }
}

fn sequence(from: i64, to: i64, by: i64) -> Called {
    let mut numbers = Vec::new();
    let mut at = from;
    while by != 0 && (if by > 0 { at < to } else { at > to }) {
        if numbers.len() >= operators::LONGEST {
            return Some(Err("memory budget exceeded".to_owned()));
        }
        numbers.push(Value::Int(at));
        at = at.saturating_add(by);
    }
    Some(Ok(Value::list(numbers)))
}

/// Whether a value counts as empty.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Nil => true,
        Value::Bool(flag) => !flag,
        Value::Int(number) | Value::Duration(number) => *number == 0,
        Value::Float(number) => *number == 0.0,
        Value::Text(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(map) => map.is_empty(),
        Value::Time(_) => false,
    }
}

fn choices(name: &str, arguments: &[Value]) -> Called {
    Some(match (name, arguments) {
        ("default", [default]) => Ok(default.clone()),
        ("default", [default, given, ..]) => Ok(if is_empty(given) {
            default.clone()
        } else {
            given.clone()
        }),
        ("empty", [value]) => Ok(Value::Bool(is_empty(value))),
        ("coalesce", values) => Ok(values
            .iter()
            .find(|value| !is_empty(value))
            .cloned()
            .unwrap_or(Value::Nil)),
        ("all", values) => Ok(Value::Bool(!values.iter().any(is_empty))),
        ("any", values) => Ok(Value::Bool(values.iter().any(|value| !is_empty(value)))),
        ("ternary", [yes, no, Value::Bool(condition)]) => {
            Ok(if *condition { yes.clone() } else { no.clone() })
        }
        ("fail", [Value::Text(message)]) => Err(message.to_string()),
        _ => return None,
    })
}

fn conversions(name: &str, arguments: &[Value]) -> Called {
    let json = |result: Result<String, super::NotJson>| {
        result.map(Value::text).map_err(|error| error.to_string())
    };
    Some(match (name, arguments) {
        ("int" | "int64" | "atoi", [value]) => Ok(Value::Int(whole(value))),
        ("float64", [value]) => Ok(Value::Float(float(value))),
        ("toDecimal", [value]) => Ok(Value::Int(
            i64::from_str_radix(value.to_string().trim(), 8).unwrap_or(0),
        )),
        ("toString", [value]) => Ok(Value::text(value.to_string())),
        ("toStrings", [Value::List(items)]) => Ok(Value::list(
            items
                .iter()
                .map(|item| Value::text(item.to_string()))
                .collect(),
        )),
        ("toJson" | "mustToJson", [value]) => json(value.to_json()),
        ("toRawJson" | "mustToRawJson", [value]) => json(value.to_json()).map(|text| {
            let text = text.to_string();
            let plain = text
                .replace("\\u003c", "<")
                .replace("\\u003e", ">")
                .replace("\\u0026", "&");
            Value::text(plain)
        }),
        ("toPrettyJson" | "mustToPrettyJson", [value]) => json(value.to_pretty_json("  ")),
        ("fromJson", [Value::Text(text)]) => {
            Ok(super::builtins::from_json(text).unwrap_or(Value::Nil))
        }
        ("mustFromJson", [Value::Text(text)]) => super::builtins::from_json(text),
        ("kindOf" | "typeOf", [value]) => Ok(Value::text(go_kind(value))),
        ("kindIs" | "typeIs", [Value::Text(kind), value]) => {
            Ok(Value::Bool(**kind == *go_kind(value)))
        }
        ("deepEqual", [a, b]) => Ok(Value::Bool(operators::equal(a, b))),
        _ => return None,
    })
}

fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Nil => "invalid",
        Value::Float(_) => "float64",
        Value::List(_) => "slice",
        Value::Time(_) => "struct",
        Value::Duration(_) => "int64",
        Value::Bool(_) | Value::Int(_) | Value::Text(_) | Value::Map(_) => value.kind(),
    }
}

/// A time from what sprig's date functions take: a time, or seconds since 1970.
fn to_time(value: &Value, now: Time) -> Time {
    match value {
        Value::Time(time) => *time,
        Value::Int(seconds) => jiff::Timestamp::from_second(*seconds).map_or(now, Time::utc),
        _ => now,
    }
}

fn times(name: &str, arguments: &[Value], now: Time) -> Called {
    use Value::Text;
    Some(match (name, arguments) {
        ("now", []) => Ok(Value::Time(now)),
        ("date", [Text(layout), value]) => {
            Ok(Value::text(time::format(&to_time(value, now), layout)))
        }
        ("dateInZone" | "date_in_zone", [Text(layout), value, Text(zone)])
            if matches!(&**zone, "UTC" | "" | "GMT") =>
        {
            Ok(Value::text(time::format(
                &Time::utc(to_time(value, now).at),
                layout,
            )))
        }
        ("dateInZone" | "date_in_zone", [_, _, zone]) => Err(format!(
            "time zones by name are not supported yet in expressions: `{zone}`"
        )),
        ("htmlDate", [value]) => Ok(Value::text(time::format(
            &to_time(value, now),
            "2006-01-02",
        ))),
        ("unixEpoch", [Value::Time(time)]) => Ok(Value::text(time.at.as_second().to_string())),
        ("toDate", [Text(layout), Text(text)]) => {
            Ok(time::parse(text, layout).map_or(Value::Nil, Value::Time))
        }
        ("mustToDate", [Text(layout), Text(text)]) => time::parse(text, layout)
            .map(Value::Time)
            .ok_or_else(|| format!("parsing time {text:?} as {layout:?} failed")),
        ("dateModify" | "date_modify", [Text(span), Value::Time(time)]) => {
            match time::parse_duration(span) {
                Ok(span) => time::add(time, span),
                Err(_) => Ok(Value::Time(*time)),
            }
        }
        ("mustDateModify", [Text(span), Value::Time(time)]) => {
            time::parse_duration(span).and_then(|span| time::add(time, span))
        }
        ("ago", [Value::Time(time)]) => Ok(match time::between(time, &now) {
            Value::Duration(span) => {
                Value::text(time::duration_text(span / 1_000_000_000 * 1_000_000_000))
            }
            other => other,
        }),
        ("duration", [value]) => Ok(Value::text(time::duration_text(
            whole(value).saturating_mul(1_000_000_000),
        ))),
        _ => return None,
    })
}

const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &[u8] = b"0123456789";
const LONGEST_RANDOM: i64 = 1_000_000;

fn random(name: &str, arguments: &[Value], random: &mut Random) -> Called {
    let text = |random: &mut Random, length: &Value, alphabet: &[u8]| {
        let length = whole(length).clamp(0, LONGEST_RANDOM);
        Value::text(random.text(usize::try_from(length).unwrap_or(0), alphabet))
    };
    Some(Ok(match (name, arguments) {
        ("uuidv4", []) => Value::text(random.uuid()),
        ("randAlpha", [length]) => text(random, length, LETTERS),
        ("randNumeric", [length]) => text(random, length, DIGITS),
        ("randAlphaNum", [length]) => text(random, length, &[LETTERS, DIGITS].concat()),
        ("randAscii", [length]) => {
            let printable: Vec<u8> = (b' '..=b'~').collect();
            text(random, length, &printable)
        }
        ("randInt", [from, to]) => {
            let (from, to) = (whole(from), whole(to));
            let width = to
                .checked_sub(from)
                .and_then(|width| u64::try_from(width).ok());
            let Some(width) = width.filter(|width| *width > 0) else {
                return Some(Err("invalid argument to Intn".to_owned()));
            };
            Value::Int(from + i64::try_from(random.below(width)).unwrap_or(0))
        }
        ("shuffle", [Value::Text(given)]) => {
            let mut letters: Vec<char> = given.chars().collect();
            for place in (1..letters.len()).rev() {
                let other = random.below(place as u64 + 1) as usize;
                letters.swap(place, other);
            }
            Value::text(letters.into_iter().collect::<String>())
        }
        _ => return None,
    }))
}
