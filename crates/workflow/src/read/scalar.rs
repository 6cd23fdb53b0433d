//! What a plain scalar means: YAML 1.1 as Go's decoder reads it on the way to JSON.
//!
//! Argo takes every document through that decoder, so `010` is 8, `yes` is true and `1.10` is 1.1
//! before any field sees them. Dates and `1:30` stay text.

use serde_json::{Number, Value};

/// Why a scalar has no JSON form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// Infinity or not-a-number, which JSON cannot hold.
    NotFinite,
    /// An explicit tag such as `!!int` on text that is no such thing.
    TagMismatch {
        /// The tag's name without its prefix.
        wanted: String,
    },
}

/// Reads a plain scalar without a tag.
pub(crate) fn resolve_plain(text: &str) -> Result<Value, Unreadable> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Ok(Value::Bool(true));
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Ok(Value::Bool(false));
        }
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF"
        | "-.inf" | "-.Inf" | "-.INF" => return Err(Unreadable::NotFinite),
        _ => {}
    }
    let number = match text.as_bytes()[0] {
        b'.' => fraction(text),
        b'0'..=b'9' | b'+' | b'-' => digits(text),
        _ => None,
    };
    Ok(number.unwrap_or_else(|| Value::String(text.to_owned())))
}

/// Reads a scalar that carries an explicit core tag (`str`, `int`, `float`, `bool`, `null`).
pub(crate) fn resolve_tagged(tag: &str, text: &str) -> Result<Value, Unreadable> {
    if tag == "str" {
        return Ok(Value::String(text.to_owned()));
    }
    let value = resolve_plain(text)?;
    let fits = match tag {
        "int" => value.is_i64() || value.is_u64(),
        "float" => value.is_number(),
        "bool" => value.is_boolean(),
        "null" => value.is_null(),
        _ => return Ok(Value::String(text.to_owned())),
    };
    if fits {
        Ok(value)
    } else {
        Err(Unreadable::TagMismatch {
            wanted: tag.to_owned(),
        })
    }
}

/// The text of a scalar that stands as a key. A number is printed anew, so `010:` is the key `8`.
pub(crate) fn key_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A number that begins with its point. Underscores are no part of it.
fn fraction(text: &str) -> Option<Value> {
    if text.contains('_') || !is_float(text) {
        return None;
    }
    float(text)
}

/// A number that begins with a digit or a sign; underscores are skipped.
fn digits(text: &str) -> Option<Value> {
    let plain = text.replace('_', "");
    if let Some(number) = integer(&plain) {
        return Some(Value::Number(number));
    }
    if is_float(&plain) {
        float(&plain)
    } else {
        None
    }
}

/// An integer with an optional sign and one of the prefixes `0x`, `0o`, `0b` and `0`.
fn integer(plain: &str) -> Option<Number> {
    let (negative, unsigned) = match plain.as_bytes().first()? {
        b'-' => (true, &plain[1..]),
        b'+' => (false, &plain[1..]),
        _ => (false, plain),
    };
    let (radix, figures) = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &unsigned[2..]),
        [b'0', b'o' | b'O', ..] => (8, &unsigned[2..]),
        [b'0', b'b' | b'B', ..] => (2, &unsigned[2..]),
        [b'0', _, ..] => (8, &unsigned[1..]),
        _ => (10, unsigned),
    };
    // A second sign would be accepted by the parser below.
    if !figures.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let magnitude = u64::from_str_radix(figures, radix).ok()?;
    if negative {
        i64::try_from(-i128::from(magnitude)).ok().map(Number::from)
    } else if plain.starts_with('+') {
        // Go's unsigned parser takes no sign.
        i64::try_from(magnitude).ok().map(Number::from)
    } else {
        Some(Number::from(magnitude))
    }
}

/// Whether the text is sign, digits with at most one point, and an optional exponent.
fn is_float(text: &str) -> bool {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_fits = match mantissa.split_once('.') {
        Some((whole, part)) => {
            all_digits(whole) && all_digits(part) && !(whole.is_empty() && part.is_empty())
        }
        None => !mantissa.is_empty() && all_digits(mantissa),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        let figures = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !figures.is_empty() && all_digits(figures)
    });
    mantissa_fits && exponent_fits
}

/// A floating number; a whole one becomes an integer, as it does on its way through JSON. One that
/// is out of range stays text.
fn float(text: &str) -> Option<Value> {
    let value: f64 = text.parse().ok()?;
    if !value.is_finite() {
        return None;
    }
    const WHOLE: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= WHOLE && !(value == 0.0 && value.is_sign_negative()) {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the value is whole and within 2^53"
        )]
        return Some(Value::Number(Number::from(value as i64)));
    }
    Number::from_f64(value).map(Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, expect: Value) {
        assert_eq!(resolve_plain(text), Ok(expect), "scalar `{text}`");
    }

    #[test]
    fn scalars_mean_what_argo_reads() {
        check("010", json!(8));
        check("0x1F", json!(31));
        check("1e3", json!(1000));
        check("1.10", json!(1.1));
        check("1.0", json!(1));
        check("1_000", json!(1000));
        check("0777", json!(511));
        check("0o17", json!(15));
        check("0b11", json!(3));
        check("-0b11", json!(-3));
        check("08", json!(8));
        check("+5", json!(5));
        check("-5", json!(-5));
        check(".5", json!(0.5));
        check("1.", json!(1));
        check(
            "12345678901234567890",
            json!(12_345_678_901_234_567_890_u64),
        );
        for yes in ["yes", "on", "y", "TRUE", "true", "On"] {
            check(yes, json!(true));
        }
        for no in ["No", "off", "n", "False"] {
            check(no, json!(false));
        }
        for null in ["", "~", "null", "NULL"] {
            check(null, Value::Null);
        }
    }

    #[test]
    fn what_only_looks_like_a_number_stays_text() {
        for text in [
            "1:30",
            "2001-01-01",
            "2001-12-14T21:59:43Z",
            "+",
            "-",
            ".",
            "0x",
            "0b2",
            "1e",
            "1e999",
            "--5",
            "+-5",
            "1.2.3",
            ".5_0",
            "0x1p-2",
            "tRUE",
            "nO",
            "١",
        ] {
            check(text, json!(text));
        }
    }

    #[test]
    fn infinity_has_no_form() {
        assert_eq!(resolve_plain(".inf"), Err(Unreadable::NotFinite));
        assert_eq!(resolve_plain("-.INF"), Err(Unreadable::NotFinite));
    }

    #[test]
    fn explicit_tags_decide() {
        assert_eq!(resolve_tagged("str", "010"), Ok(json!("010")));
        assert_eq!(resolve_tagged("int", "010"), Ok(json!(8)));
        assert_eq!(
            resolve_tagged("int", "x"),
            Err(Unreadable::TagMismatch {
                wanted: "int".into()
            })
        );
    }
}
