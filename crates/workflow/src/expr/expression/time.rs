//! Times and spans as Go has them: layouts by example (`2006-01-02`), durations such as `1h30m`.

mod layout;

use jiff::civil::DateTime;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};

use super::value::Value;
pub(in crate::expr) use layout::{format, parse, parse_any};

/// A point in time, shown at an offset from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    /// The point in time.
    pub at: Timestamp,
    /// Where it is shown.
    pub offset: Offset,
}

impl Time {
    pub(super) fn utc(at: Timestamp) -> Time {
        Time {
            at,
            offset: Offset::UTC,
        }
    }

    fn civil(self) -> DateTime {
        self.offset.to_datetime(self.at)
    }
}

const NANOSECONDS: i64 = 1_000_000_000;

pub(super) fn rfc3339(time: &Time) -> String {
    format(time, "2006-01-02T15:04:05.999999999Z07:00")
}

/// As Go's `%v` prints a time.
pub(super) fn shown(time: &Time) -> String {
    format(time, "2006-01-02 15:04:05.999999999 -0700 MST")
}

pub(super) fn add(time: &Time, span: i64) -> Result<Value, String> {
    let at = time.at.checked_add(SignedDuration::from_nanos(span));
    let at = at.map_err(|_| "time out of range".to_owned())?;
    Ok(Value::Time(Time {
        at,
        offset: time.offset,
    }))
}

pub(super) fn between(from: &Time, to: &Time) -> Value {
    let nanoseconds = to.at.as_nanosecond() - from.at.as_nanosecond();
    let most = if nanoseconds < 0 { i64::MIN } else { i64::MAX };
    Value::Duration(i64::try_from(nanoseconds).unwrap_or(most))
}

/// A method of a value, as Go's types have them.
pub(super) fn method(base: &Value, name: &str, arguments: &[Value]) -> Result<Value, String> {
    match (base, arguments) {
        (Value::Time(time), []) => time_part(*time, name),
        (Value::Time(time), [Value::Text(layout)]) if name == "Format" => {
            Ok(Value::text(format(time, layout)))
        }
        (Value::Time(time), [Value::Duration(span)]) if name == "Add" => add(time, *span),
        (Value::Time(time), [Value::Time(other)]) => match name {
            "Sub" => Ok(between(other, time)),
            "Before" => Ok(Value::Bool(time.at < other.at)),
            "After" => Ok(Value::Bool(time.at > other.at)),
            "Equal" => Ok(Value::Bool(time.at == other.at)),
            _ => Err(no_method(base, name)),
        },
        (Value::Duration(span), []) => {
            let float = |unit: i64| Ok(Value::Float(*span as f64 / unit as f64));
            match name {
                "Hours" => float(3600 * NANOSECONDS),
                "Minutes" => float(60 * NANOSECONDS),
                "Seconds" => float(NANOSECONDS),
                "Milliseconds" => Ok(Value::Int(span / 1_000_000)),
                "Microseconds" => Ok(Value::Int(span / 1_000)),
                "Nanoseconds" => Ok(Value::Int(*span)),
                "String" => Ok(Value::text(duration_text(*span))),
                "Abs" => Ok(Value::Duration(span.saturating_abs())),
                _ => Err(no_method(base, name)),
            }
        }
        _ => Err(no_method(base, name)),
    }
}

fn no_method(base: &Value, name: &str) -> String {
    format!(
        "type {} has no method {name} with these arguments",
        base.kind()
    )
}

fn time_part(time: Time, name: &str) -> Result<Value, String> {
    let civil = time.civil();
    let number = |value: i64| Ok(Value::Int(value));
    match name {
        "Unix" => number(time.at.as_second()),
        "UnixMilli" => number(time.at.as_millisecond()),
        "UnixMicro" => number(time.at.as_microsecond()),
        "UnixNano" => number(i64::try_from(time.at.as_nanosecond()).unwrap_or(i64::MAX)),
        "Year" => number(civil.year().into()),
        "Month" => number(civil.month().into()),
        "Day" => number(civil.day().into()),
        "Hour" => number(civil.hour().into()),
        "Minute" => number(civil.minute().into()),
        "Second" => number(civil.second().into()),
        "Nanosecond" => number(civil.subsec_nanosecond().into()),
        "YearDay" => number(civil.day_of_year().into()),
        "Weekday" => number(civil.weekday().to_sunday_zero_offset().into()),
        "UTC" => Ok(Value::Time(Time::utc(time.at))),
        "String" => Ok(Value::text(shown(&time))),
        "IsZero" => Ok(Value::Bool(false)),
        _ => Err(no_method(&Value::Time(time), name)),
    }
}

/// A span from a Go duration such as `1h30m`, `-2.5s`, `300ms`.
pub(super) fn parse_duration(text: &str) -> Result<i64, String> {
    let wrong = || format!("time: invalid duration {text:?}");
    let (sign, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (-1.0, &text[1..]),
        Some(b'+') => (1.0, &text[1..]),
        Some(_) | None => (1.0, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    let mut nanoseconds: f64 = 0.0;
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .ok_or_else(|| format!("time: missing unit in duration {text:?}"))?;
        let value: f64 = rest[..end].parse().map_err(|_| wrong())?;
        rest = &rest[end..];
        let end = rest
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(rest.len());
        let unit = match &rest[..end] {
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 60e9,
            "h" => 3600e9,
            unit => {
                return Err(format!("time: unknown unit {unit:?} in duration {text:?}"));
            }
        };
        nanoseconds += value * unit;
        rest = &rest[end..];
    }
    if nanoseconds >= i64::MAX as f64 {
        return Err(wrong());
    }
    Ok((sign * nanoseconds).round() as i64)
}

/// A span as Go prints it: `1h30m0s`, `1.5s`, `2ms`.
pub(super) fn duration_text(nanoseconds: i64) -> String {
    if nanoseconds == 0 {
        return "0s".to_owned();
    }
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let size = nanoseconds.unsigned_abs();
    let with = |unit: u64, name: &str| {
        let digits = unit.to_string().len() - 1;
        let fraction = format!("{:0digits$}", size % unit);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() || digits == 0 {
            ""
        } else {
            "."
        };
        let fraction = if digits == 0 { "" } else { fraction };
        (size / unit, format!("{point}{fraction}{name}"))
    };
    if size < 1_000 {
        return format!("{sign}{size}ns");
    }
    if size < 1_000_000_000 {
        let (whole, rest) = if size < 1_000_000 {
            with(1_000, "µs")
        } else {
            with(1_000_000, "ms")
        };
        return format!("{sign}{whole}{rest}");
    }
    let (seconds, rest) = with(1_000_000_000, "s");
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{sign}{seconds}{rest}"),
        (0, _) => format!("{sign}{minutes}m{seconds}{rest}"),
        (_, _) => format!("{sign}{hours}h{minutes}m{seconds}{rest}"),
    }
}
