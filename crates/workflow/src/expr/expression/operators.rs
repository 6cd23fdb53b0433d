//! Operators on values.

use std::cmp::Ordering;

use super::syntax::Binary;
use super::value::Value;

/// Ranges and results longer than this are an error.
pub(super) const LONGEST: usize = 1_000_000;

/// Applies an operator whose sides are both evaluated. The error is a message.
pub(super) fn apply(operator: Binary, left: &Value, right: &Value) -> Result<Value, String> {
    match operator {
        Binary::Equal => Ok(Value::Bool(equal(left, right))),
        Binary::NotEqual => Ok(Value::Bool(!equal(left, right))),
        Binary::Less => compare("<", left, right).map(|order| Value::Bool(order.is_lt())),
        Binary::Greater => compare(">", left, right).map(|order| Value::Bool(order.is_gt())),
        Binary::LessOrEqual => compare("<=", left, right).map(|order| Value::Bool(order.is_le())),
        Binary::GreaterOrEqual => {
            compare(">=", left, right).map(|order| Value::Bool(order.is_ge()))
        }
        Binary::In => is_in(left, right).map(Value::Bool),
        Binary::Matches => matches(left, right).map(Value::Bool),
        Binary::Contains => texts("contains", left, right, |a, b| a.contains(b)),
        Binary::StartsWith => texts("startsWith", left, right, |a, b| a.starts_with(b)),
        Binary::EndsWith => texts("endsWith", left, right, |a, b| a.ends_with(b)),
        Binary::Range => range(left, right),
        Binary::Add => add(left, right),
        Binary::Subtract => subtract(left, right),
        Binary::Multiply => numbers("*", left, right, i64::wrapping_mul, |a, b| a * b),
        Binary::Divide => match (number(left), number(right)) {
            (Some(a), Some(b)) => Ok(Value::Float(a / b)),
            _ => Err(mismatch("/", left, right)),
        },
        Binary::Modulo => match (left, right) {
            (Value::Int(_), Value::Int(0)) => Err("integer divide by zero".to_owned()),
            (Value::Int(a), Value::Int(b)) => Ok(Value::Int(a.wrapping_rem(*b))),
            _ => Err(mismatch("%", left, right)),
        },
        Binary::Power => match (number(left), number(right)) {
            (Some(a), Some(b)) => Ok(Value::Float(a.powf(b))),
            _ => Err(mismatch("**", left, right)),
        },
        Binary::Or | Binary::And | Binary::Coalesce => {
            Err("an operator that decides by its left side".to_owned())
        }
    }
}

/// Whether two values are equal; numbers by value, whatever their kind.
pub(super) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Int(a), Value::Float(b)) | (Value::Float(b), Value::Int(a)) => (*a as f64) == *b,
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| equal(a, b))
        }
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b.iter())
                    .all(|((ka, a), (kb, b))| ka == kb && equal(a, b))
        }
        (Value::Time(a), Value::Time(b)) => a.at == b.at,
        (a, b) => a == b,
    }
}

/// The order of two values of one kind.
pub(super) fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) | (Value::Duration(a), Value::Duration(b)) => Some(a.cmp(b)),
        (Value::Text(a), Value::Text(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Value::Time(a), Value::Time(b)) => Some(a.at.cmp(&b.at)),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        _ => number(left)?.partial_cmp(&number(right)?),
    }
}

fn compare(operator: &str, left: &Value, right: &Value) -> Result<Ordering, String> {
    let comparable = !matches!((left, right), (Value::Bool(_), _) | (_, Value::Bool(_)));
    order(left, right)
        .filter(|_| comparable)
        .ok_or_else(|| mismatch(operator, left, right))
}

/// A number's value, whatever its kind.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(value) => Some(*value as f64),
        Value::Float(value) => Some(*value),
        _ => None,
    }
}

fn numbers(
    operator: &str,
    left: &Value,
    right: &Value,
    whole: fn(i64, i64) -> i64,
    float: fn(f64, f64) -> f64,
) -> Result<Value, String> {
    if let (Value::Int(a), Value::Int(b)) = (left, right) {
        return Ok(Value::Int(whole(*a, *b)));
    }
    if let (Value::Duration(a), Value::Int(b)) | (Value::Int(a), Value::Duration(b)) = (left, right)
    {
        return Ok(Value::Duration(whole(*a, *b)));
    }
    match (number(left), number(right)) {
        (Some(a), Some(b)) => Ok(Value::Float(float(a, b))),
        _ => Err(mismatch(operator, left, right)),
    }
}

fn add(left: &Value, right: &Value) -> Result<Value, String> {
    match (left, right) {
        (Value::Text(a), Value::Text(b)) => Ok(Value::text(format!("{a}{b}"))),
        (Value::Time(time), Value::Duration(span)) | (Value::Duration(span), Value::Time(time)) => {
            super::time::add(time, *span)
        }
        (Value::Duration(a), Value::Duration(b)) => a
            .checked_add(*b)
            .map(Value::Duration)
            .ok_or_else(|| "duration overflow".to_owned()),
        _ => numbers("+", left, right, i64::wrapping_add, |a, b| a + b),
    }
}

fn subtract(left: &Value, right: &Value) -> Result<Value, String> {
    match (left, right) {
        (Value::Time(a), Value::Time(b)) => Ok(super::time::between(b, a)),
        (Value::Time(time), Value::Duration(span)) => {
            super::time::add(time, span.checked_neg().ok_or("duration overflow")?)
        }
        (Value::Duration(a), Value::Duration(b)) => a
            .checked_sub(*b)
            .map(Value::Duration)
            .ok_or_else(|| "duration overflow".to_owned()),
        _ => numbers("-", left, right, i64::wrapping_sub, |a, b| a - b),
    }
}

fn is_in(left: &Value, right: &Value) -> Result<bool, String> {
    match right {
        Value::Nil => Ok(false),
        Value::List(items) => Ok(items.iter().any(|item| equal(item, left))),
        Value::Map(map) => match left {
            Value::Text(key) => Ok(map.contains_key(&**key)),
            Value::Nil => Ok(false),
            _ => Err(mismatch("in", left, right)),
        },
        _ => Err(mismatch("in", left, right)),
    }
}

fn matches(left: &Value, right: &Value) -> Result<bool, String> {
    match (left, right) {
        (Value::Nil, _) | (_, Value::Nil) => Ok(false),
        (Value::Text(text), Value::Text(pattern)) => Ok(pattern_of(pattern)?.is_match(text)),
        _ => Err(mismatch("matches", left, right)),
    }
}

/// A compiled regular expression.
pub(super) fn pattern_of(pattern: &str) -> Result<regex::Regex, String> {
    regex::RegexBuilder::new(pattern)
        .size_limit(1 << 20)
        .build()
        .map_err(|_| format!("error parsing regexp: {pattern:?}"))
}

fn texts(
    operator: &str,
    left: &Value,
    right: &Value,
    holds: fn(&str, &str) -> bool,
) -> Result<Value, String> {
    match (left, right) {
        (Value::Nil, _) | (_, Value::Nil) => Ok(Value::Bool(false)),
        (Value::Text(a), Value::Text(b)) => Ok(Value::Bool(holds(a, b))),
        _ => Err(mismatch(operator, left, right)),
    }
}

fn range(left: &Value, right: &Value) -> Result<Value, String> {
    let (Value::Int(from), Value::Int(to)) = (left, right) else {
        return Err(mismatch("..", left, right));
    };
    let length = to
        .checked_sub(*from)
        .map_or(u64::MAX, |length| length.max(0).unsigned_abs());
    if length >= LONGEST as u64 {
        return Err("memory budget exceeded".to_owned());
    }
    Ok(Value::list((*from..=*to).map(Value::Int).collect()))
}

fn mismatch(operator: &str, left: &Value, right: &Value) -> String {
    format!(
        "invalid operation: {operator} (mismatched types {} and {})",
        left.kind(),
        right.kind()
    )
}
