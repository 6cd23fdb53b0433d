//! Times and spans as Go has them: layouts by example (`2006-01-02`), durations such as `1h30m`.

use jiff::civil::DateTime;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};

use super::value::Value;

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

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// Parts of a layout, the longer before the shorter that begins it.
const PARTS: [&str; 28] = [
    "January", "Jan", "Monday", "Mon", "MST", "2006", "Z07:00", "-07:00", "Z0700", "-0700", "__2",
    "002", "01", "02", "03", "04", "05", "06", "15", "-07", "_2", "PM", "pm", "1", "2", "3", "4",
    "5",
];

/// Cuts a layout at its first part: what stands before, the part, what follows. A part such as
/// `.000` or `,999` stands for a fraction of a second.
fn cut(layout: &str) -> Option<(&str, &str, &str)> {
    for (at, _) in layout.char_indices() {
        let rest = &layout[at..];
        let known = PARTS.into_iter().find(|part| rest.starts_with(part));
        if let Some(part) = known {
            return Some((&layout[..at], &rest[..part.len()], &rest[part.len()..]));
        }
        if rest.starts_with(['.', ',']) && rest[1..].starts_with(['0', '9']) {
            let digit = &rest[1..2];
            let end = rest[1..]
                .find(|c| !digit.contains(c))
                .map_or(rest.len(), |end| end + 1);
            if !rest[end..].starts_with(|c: char| c.is_ascii_digit()) {
                return Some((&layout[..at], &rest[..end], &rest[end..]));
            }
        }
    }
    None
}

/// A time in a Go layout.
pub(super) fn format(time: &Time, layout: &str) -> String {
    let civil = time.civil();
    let mut out = String::new();
    let mut rest = layout;
    while let Some((before, part, after)) = cut(rest) {
        out.push_str(before);
        rest = after;
        let month = MONTHS[usize::try_from(civil.month() - 1).unwrap_or(0)];
        let day = DAYS[usize::try_from(civil.weekday().to_sunday_zero_offset()).unwrap_or(0)];
        let hour12 = if civil.hour() % 12 == 0 {
            12
        } else {
            civil.hour() % 12
        };
        out.push_str(&match part {
            "January" => month.to_owned(),
            "Jan" => month[..3].to_owned(),
            "Monday" => day.to_owned(),
            "Mon" => day[..3].to_owned(),
            "2006" => format!("{:04}", civil.year()),
            "06" => format!("{:02}", civil.year() % 100),
            "01" => format!("{:02}", civil.month()),
            "1" => civil.month().to_string(),
            "02" => format!("{:02}", civil.day()),
            "_2" => format!("{:2}", civil.day()),
            "2" => civil.day().to_string(),
            "002" => format!("{:03}", civil.day_of_year()),
            "__2" => format!("{:3}", civil.day_of_year()),
            "15" => format!("{:02}", civil.hour()),
            "03" => format!("{hour12:02}"),
            "3" => hour12.to_string(),
            "04" => format!("{:02}", civil.minute()),
            "4" => civil.minute().to_string(),
            "05" => format!("{:02}", civil.second()),
            "5" => civil.second().to_string(),
            "PM" => if civil.hour() < 12 { "AM" } else { "PM" }.to_owned(),
            "pm" => if civil.hour() < 12 { "am" } else { "pm" }.to_owned(),
            "MST" => zone(time.offset, "UTC", ""),
            "Z07:00" => zone(time.offset, "Z", ":"),
            "Z0700" => zone(time.offset, "Z", ""),
            "-07:00" => zone(time.offset, "+00:00", ":"),
            "-0700" => zone(time.offset, "+0000", ""),
            "-07" => zone(time.offset, "+00", "")[..3].to_owned(),
            fraction => second_fraction(civil.subsec_nanosecond(), fraction),
        });
    }
    out.push_str(rest);
    out
}

fn zone(offset: Offset, at_utc: &str, separator: &str) -> String {
    let seconds = offset.seconds();
    if seconds == 0 {
        return at_utc.to_owned();
    }
    let sign = if seconds < 0 { '-' } else { '+' };
    let minutes = seconds.abs() / 60;
    format!("{sign}{:02}{separator}{:02}", minutes / 60, minutes % 60)
}

fn second_fraction(nanoseconds: i32, part: &str) -> String {
    let digits = format!("{nanoseconds:09}");
    let shown = &digits[..(part.len() - 1).min(9)];
    if part[1..].starts_with('0') {
        return format!("{}{shown}", &part[..1]);
    }
    match shown.trim_end_matches('0') {
        "" => String::new(),
        shown => format!("{}{shown}", &part[..1]),
    }
}

/// Layouts that are tried where none is given.
const LAYOUTS: [&str; 14] = [
    "2006-01-02",
    "15:04:05",
    "2006-01-02 15:04:05",
    "2006-01-02T15:04:05Z07:00",
    "02 Jan 06 15:04 MST",
    "Monday, 02-Jan-06 15:04:05 MST",
    "Mon, 02 Jan 2006 15:04:05 MST",
    "2006-01-02T15:04:05",
    "2006-01-02 15:04:05 -0700 MST",
    "2006-01-02 15:04:05 -0700",
    "Mon Jan _2 15:04:05 2006",
    "Mon Jan _2 15:04:05 MST 2006",
    "2006-01-02 15:04",
    "2006-01-02T15:04",
];

/// A time from a text in any of the usual layouts; UTC where it names no zone.
pub(super) fn parse_any(text: &str) -> Result<Time, String> {
    let found = LAYOUTS.into_iter().find_map(|layout| parse(text, layout));
    found.ok_or_else(|| format!("invalid date {text}"))
}

/// A time from a text in a Go layout; UTC where it names no zone.
pub(in crate::expr) fn parse(text: &str, layout: &str) -> Option<Time> {
    let mut fields = Fields {
        year: 0,
        month: 1,
        day: 1,
        ..Fields::default()
    };
    let mut rest = text;
    let mut layout = layout;
    while let Some((before, part, after)) = cut(layout) {
        rest = rest.strip_prefix(before)?;
        layout = after;
        rest = fields.take(part, rest)?;
        // A fraction may follow the seconds though the layout has none.
        if part == "05" && !layout.starts_with(['.', ',']) && rest.starts_with(['.', ',']) {
            rest = fields.take(".9", rest)?;
        }
    }
    if rest != layout {
        return None;
    }
    fields.time()
}

#[derive(Default)]
struct Fields {
    year: i16,
    month: i8,
    day: i8,
    hour: i8,
    minute: i8,
    second: i8,
    nanosecond: i32,
    afternoon: Option<bool>,
    offset: i32,
}

impl Fields {
    /// Takes one part from the start of a text and answers what follows.
    fn take<'a>(&mut self, part: &str, text: &'a str) -> Option<&'a str> {
        let small = |least, most| {
            digits(text, least, most)
                .and_then(|(value, rest)| i8::try_from(value).ok().map(|value| (value, rest)))
        };
        let rest;
        match part {
            "2006" => {
                let (value, after) = digits(text, 4, 4)?;
                (self.year, rest) = (i16::try_from(value).ok()?, after);
            }
            "06" => {
                let (value, after) = digits(text, 2, 2)?;
                let century = if value >= 69 { 1900 } else { 2000 };
                (self.year, rest) = (i16::try_from(century + value).ok()?, after);
            }
            "January" | "Jan" => {
                let whole = part.len() > 3;
                let name = |month: &&str| text.starts_with(if whole { month } else { &month[..3] });
                let place = MONTHS.iter().position(name)?;
                self.month = i8::try_from(place + 1).ok()?;
                rest = &text[if whole { MONTHS[place].len() } else { 3 }..];
            }
            "Monday" | "Mon" => {
                let whole = part.len() > 3;
                let name = |day: &&&str| text.starts_with(if whole { day } else { &day[..3] });
                let day = DAYS.iter().find(name)?;
                rest = &text[if whole { day.len() } else { 3 }..];
            }
            "01" => (self.month, rest) = small(2, 2)?,
            "1" => (self.month, rest) = small(1, 2)?,
            "02" => (self.day, rest) = small(2, 2)?,
            "2" => (self.day, rest) = small(1, 2)?,
            "_2" => {
                let (value, after) = digits(text.trim_start(), 1, 2)?;
                (self.day, rest) = (i8::try_from(value).ok()?, after);
            }
            "15" | "03" => (self.hour, rest) = small(2, 2)?,
            "3" => (self.hour, rest) = small(1, 2)?,
            "04" => (self.minute, rest) = small(2, 2)?,
            "4" => (self.minute, rest) = small(1, 2)?,
            "05" => (self.second, rest) = small(2, 2)?,
            "5" => (self.second, rest) = small(1, 2)?,
            "PM" | "pm" => {
                let half = text.get(..2)?.to_uppercase();
                self.afternoon = Some(match half.as_str() {
                    "AM" => false,
                    "PM" => true,
                    _ => return None,
                });
                rest = &text[2..];
            }
            "MST" => {
                let end = text
                    .find(|c: char| !c.is_ascii_uppercase())
                    .unwrap_or(text.len());
                if !(3..=5).contains(&end) {
                    return None;
                }
                rest = &text[end..];
            }
            "Z07:00" | "Z0700" if text.starts_with('Z') => rest = &text[1..],
            "Z07:00" | "-07:00" => rest = self.zone(text, ":")?,
            "Z0700" | "-0700" => rest = self.zone(text, "")?,
            fraction if fraction.starts_with(['.', ',']) => {
                let Some(after) = text.strip_prefix(['.', ',']) else {
                    return fraction[1..].starts_with('9').then_some(text);
                };
                let end = after
                    .find(|c: char| !c.is_ascii_digit())
                    .unwrap_or(after.len());
                let digits = format!("{:0<9}", &after[..end]);
                self.nanosecond = digits.get(..9)?.parse().ok()?;
                rest = &after[end..];
            }
            _ => return None,
        }
        Some(rest)
    }

    fn zone<'a>(&mut self, text: &'a str, separator: &str) -> Option<&'a str> {
        let sign = match text.as_bytes().first()? {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let (hours, rest) = digits(&text[1..], 2, 2)?;
        let (minutes, rest) = digits(rest.strip_prefix(separator)?, 2, 2)?;
        self.offset = sign * (hours * 3600 + minutes * 60);
        Some(rest)
    }

    fn time(&self) -> Option<Time> {
        let hour = match self.afternoon {
            None => self.hour,
            Some(afternoon) => self.hour % 12 + if afternoon { 12 } else { 0 },
        };
        let civil = DateTime::new(
            self.year,
            self.month,
            self.day,
            hour,
            self.minute,
            self.second,
            self.nanosecond,
        )
        .ok()?;
        let offset = Offset::from_seconds(self.offset).ok()?;
        Some(Time {
            at: offset.to_timestamp(civil).ok()?,
            offset,
        })
    }
}

fn digits(text: &str, least: usize, most: usize) -> Option<(i32, &str)> {
    let length = text
        .bytes()
        .take(most)
        .take_while(u8::is_ascii_digit)
        .count();
    if length < least {
        return None;
    }
    Some((text[..length].parse().ok()?, &text[length..]))
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
