//! What expressions compute with.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::time::Time;
use crate::expr::go_json;

/// A value. Cloning is cheap: lists, maps and texts are shared.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Nil,
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// A text.
    Text(Arc<str>),
    /// A list.
    List(Arc<Vec<Value>>),
    /// A map with text keys.
    Map(Arc<BTreeMap<String, Value>>),
    /// A time.
    Time(Time),
    /// A span of time in nanoseconds.
    Duration(i64),
}

impl Value {
    /// A text.
    pub fn text(text: impl Into<Arc<str>>) -> Value {
        Value::Text(text.into())
    }

    /// A list.
    pub fn list(items: Vec<Value>) -> Value {
        Value::List(Arc::new(items))
    }

    /// A map.
    pub fn map(entries: BTreeMap<String, Value>) -> Value {
        Value::Map(Arc::new(entries))
    }

    /// Name of the kind, as in messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Nil => "nil",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Text(_) => "string",
            Value::List(_) => "array",
            Value::Map(_) => "map",
            Value::Time(_) => "time",
            Value::Duration(_) => "duration",
        }
    }

    /// As JSON: maps sorted by key, numbers and escapes as Go prints them. A number that JSON
    /// cannot express is an error.
    pub fn to_json(&self) -> Result<String, NotJson> {
        Ok(go_json::print(&self.to_data()?))
    }

    /// As JSON over several lines, indented by `indent` a level.
    pub(super) fn to_pretty_json(&self, indent: &str) -> Result<String, NotJson> {
        let mut out = String::new();
        push_pretty(&mut out, &self.to_data()?, indent, 0);
        Ok(out)
    }

    /// As JSON data.
    pub fn to_data(&self) -> Result<serde_json::Value, NotJson> {
        use serde_json::Value as Json;
        Ok(match self {
            Value::Nil => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Int(value) | Value::Duration(value) => Json::from(*value),
            Value::Float(value) => {
                Json::Number(serde_json::Number::from_f64(*value).ok_or(NotJson(*value))?)
            }
            Value::Text(text) => Json::String(text.to_string()),
            Value::List(items) => {
                Json::Array(items.iter().map(Value::to_data).collect::<Result<_, _>>()?)
            }
            Value::Map(map) => Json::Object(
                map.iter()
                    .map(|(key, value)| Ok((key.clone(), value.to_data()?)))
                    .collect::<Result<_, _>>()?,
            ),
            Value::Time(time) => Json::String(super::time::rfc3339(time)),
        })
    }

    /// What a tag is replaced with: a text as it is, anything else as JSON.
    pub fn to_inserted(&self) -> Result<String, NotJson> {
        match self {
            Value::Text(text) => Ok(text.to_string()),
            Value::Time(time) => Ok(super::time::rfc3339(time)),
            other => other.to_json(),
        }
    }
}

/// A number that JSON cannot express.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("json: unsupported value: {0}")]
pub struct NotJson(pub f64);

impl From<&serde_json::Value> for Value {
    /// Numbers become floats, as Go's decoder makes them, unless they are whole and exact.
    fn from(data: &serde_json::Value) -> Self {
        use serde_json::Value as Json;
        match data {
            Json::Null => Value::Nil,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => match number.as_i64() {
                Some(value) => Value::Int(value),
                None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Value::text(text.as_str()),
            Json::Array(items) => Value::list(items.iter().map(Value::from).collect()),
            Json::Object(map) => Value::map(
                map.iter()
                    .map(|(key, value)| (key.clone(), value.into()))
                    .collect(),
            ),
        }
    }
}

impl fmt::Display for Value {
    /// As Go's `%v` prints it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Nil => f.write_str("<nil>"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Float(value) => f.write_str(&go_float(*value)),
            Value::Text(text) => f.write_str(text),
            Value::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    let blank = if index > 0 { " " } else { "" };
                    write!(f, "{blank}{item}")?;
                }
                f.write_str("]")
            }
            Value::Map(map) => {
                f.write_str("map[")?;
                for (index, (key, value)) in map.iter().enumerate() {
                    let blank = if index > 0 { " " } else { "" };
                    write!(f, "{blank}{key}:{value}")?;
                }
                f.write_str("]")
            }
            Value::Time(time) => f.write_str(&super::time::shown(time)),
            Value::Duration(nanoseconds) => f.write_str(&super::time::duration_text(*nanoseconds)),
        }
    }
}

/// A float as Go's `%v` prints it: with an exponent, of at least two digits, from a million on and
/// below a ten-thousandth.
pub(in crate::expr) fn go_float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 {
            "+Inf".to_owned()
        } else {
            "-Inf".to_owned()
        };
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if exponent >= 6 => format!("{digits}e+{exponent:02}"),
        Ok(exponent) if exponent < -4 => format!("{digits}e-{:02}", -exponent),
        Ok(_) | Err(_) => go_json::number(value),
    }
}

fn push_pretty(out: &mut String, value: &serde_json::Value, indent: &str, depth: usize) {
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&indent.repeat(depth));
    };
    match value {
        serde_json::Value::Array(items) if !items.is_empty() => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                line(out, depth + 1);
                push_pretty(out, item, indent, depth + 1);
            }
            line(out, depth);
            out.push(']');
        }
        serde_json::Value::Object(map) if !map.is_empty() => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by(|a, b| a.0.cmp(b.0));
            out.push('{');
            for (index, (key, item)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                line(out, depth + 1);
                out.push_str(&go_json::quote(key));
                out.push_str(": ");
                push_pretty(out, item, indent, depth + 1);
            }
            line(out, depth);
            out.push('}');
        }
        other => out.push_str(&go_json::print(other)),
    }
}
