//! JSON text as Go reads and writes it: the same escapes, numbers and error texts, since values
//! that documents see are made by Go's encoder and must come out byte for byte.

use std::collections::BTreeMap;

use serde_json::Value;

/// Deeper nesting than this is an error, as in Go.
const DEEPEST: usize = 10_000;

/// A text as a JSON string, quotes included. Like Go's encoder it also escapes `<`, `>`, `&` and
/// the two Unicode line separators.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 => push_escaped(&mut out, c),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => push_escaped(&mut out, c),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn push_escaped(out: &mut String, c: char) {
    out.push_str(&format!("\\u{:04x}", c as u32));
}

/// A value without blanks, object keys sorted.
pub fn print(value: &Value) -> String {
    let mut out = String::new();
    push_value(&mut out, value);
    out
}

fn push_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(value) => match value.as_f64() {
            Some(float) if value.is_f64() => out.push_str(&number(float)),
            Some(_) | None => out.push_str(&value.to_string()),
        },
        Value::String(text) => out.push_str(&quote(text)),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_value(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by(|a, b| a.0.cmp(b.0));
            out.push('{');
            for (index, (key, item)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&quote(key));
                out.push(':');
                push_value(out, item);
            }
            out.push('}');
        }
    }
}

/// A floating-point number as Go's JSON encoder prints it: shortest form, exponent only below
/// 1e-6 and from 1e21.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{value:e}");
        return match text.split_once('e') {
            Some((digits, exponent)) if !exponent.starts_with('-') => {
                format!("{digits}e+{exponent}")
            }
            Some(_) | None => text,
        };
    }
    if value == 0.0 && value.is_sign_negative() {
        return "-0".to_owned();
    }
    format!("{value}")
}

/// Removes the blanks outside strings and escapes as [`quote`] does within them; keys keep their
/// order and numbers their digits.
pub fn compact(text: &str) -> Result<String, JsonError> {
    let mut scanner = Scanner {
        text,
        at: 0,
        out: Some(String::with_capacity(text.len())),
    };
    scanner.whole()?;
    Ok(scanner.out.unwrap_or_default())
}

/// Checks that a text is one JSON value.
pub fn check(text: &str) -> Result<(), JsonError> {
    Scanner {
        text,
        at: 0,
        out: None,
    }
    .whole()
}

/// The raw texts of the elements of a JSON list, or `None` if the text is another kind of value.
pub fn elements(text: &str) -> Result<Option<Vec<&str>>, JsonError> {
    check(text)?;
    let mut scanner = Scanner {
        text,
        at: 0,
        out: None,
    };
    scanner.skip_blanks();
    if scanner.peek() != Some(b'[') {
        return Ok(None);
    }
    scanner.at += 1;
    let mut found = Vec::new();
    loop {
        scanner.skip_blanks();
        match scanner.peek() {
            Some(b']') => return Ok(Some(found)),
            Some(b',') => scanner.at += 1,
            Some(_) | None => {
                let start = scanner.at;
                scanner.value(0, Place::Value)?;
                found.push(&text[start..scanner.at]);
            }
        }
    }
}

/// The members of a JSON object, each with the raw text of its value; the last of equal keys.
/// Empty for any other value.
pub fn members(text: &str) -> Result<BTreeMap<String, String>, JsonError> {
    check(text)?;
    let mut scanner = Scanner {
        text,
        at: 0,
        out: None,
    };
    let mut found = BTreeMap::new();
    scanner.skip_blanks();
    if scanner.peek() != Some(b'{') {
        return Ok(found);
    }
    scanner.at += 1;
    loop {
        scanner.skip_blanks();
        match scanner.peek() {
            Some(b'}') => return Ok(found),
            Some(b',') => scanner.at += 1,
            Some(_) | None => {
                let start = scanner.at;
                scanner.value(0, Place::Key)?;
                let key = &text[start..scanner.at];
                scanner.skip_blanks();
                scanner.at += 1;
                scanner.skip_blanks();
                let start = scanner.at;
                scanner.value(0, Place::Value)?;
                let value = text[start..scanner.at].to_owned();
                let key = serde_json::from_str(key).unwrap_or_else(|_| key.to_owned());
                found.insert(key, value);
            }
        }
    }
}

/// What is wrong with a JSON text, in the words of Go's decoder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// A character that does not belong there.
    #[error("invalid character {shown} {context}", shown = shown(*.character))]
    InvalidCharacter {
        /// The character.
        character: char,
        /// Where the decoder was: `looking for beginning of value`, for instance.
        context: &'static str,
    },
    /// The text ends within a value.
    #[error("unexpected end of JSON input")]
    UnexpectedEnd,
    /// Too many levels.
    #[error("exceeded max depth")]
    TooDeep,
}

fn shown(character: char) -> String {
    match character {
        '\'' => "'\\''".to_owned(),
        '"' => "'\"'".to_owned(),
        '\n' => "'\\n'".to_owned(),
        '\r' => "'\\r'".to_owned(),
        '\t' => "'\\t'".to_owned(),
        '\\' => "'\\\\'".to_owned(),
        c if c.is_control() => format!("'\\x{:02x}'", c as u32),
        c if c.is_ascii() => format!("'{c}'"),
        // Go looks at bytes: it names the first byte of the character as a Latin-1 letter.
        c => {
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes);
            format!("'{}'", char::from(bytes[0]))
        }
    }
}

#[derive(Clone, Copy)]
enum Place {
    Value,
    Key,
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    out: Option<String>,
}

impl Scanner<'_> {
    fn whole(&mut self) -> Result<(), JsonError> {
        self.value(0, Place::Value)?;
        self.skip_blanks();
        if self.at < self.text.len() {
            return Err(self.wrong("after top-level value"));
        }
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn wrong(&self, context: &'static str) -> JsonError {
        match self.text[self.at..].chars().next() {
            Some(character) => JsonError::InvalidCharacter { character, context },
            None => JsonError::UnexpectedEnd,
        }
    }

    fn push(&mut self, text: &str) {
        if let Some(out) = &mut self.out {
            out.push_str(text);
        }
    }

    /// Takes one ASCII character that the caller has seen.
    fn step(&mut self) {
        let start = self.at;
        self.at += 1;
        let text = self.text;
        self.push(&text[start..self.at]);
    }

    fn value(&mut self, depth: usize, place: Place) -> Result<(), JsonError> {
        if depth > DEEPEST.min(LIMIT_OF_OUR_STACK) {
            return Err(JsonError::TooDeep);
        }
        self.skip_blanks();
        match (self.peek(), place) {
            (Some(b'"'), _) => self.string(),
            (_, Place::Key) => Err(self.wrong("looking for beginning of object key string")),
            (Some(b'{'), Place::Value) => self.object(depth),
            (Some(b'['), Place::Value) => self.list(depth),
            (Some(b't'), Place::Value) => self.word("true", "in literal true (expecting 'r')"),
            (Some(b'f'), Place::Value) => self.word("false", "in literal false (expecting 'a')"),
            (Some(b'n'), Place::Value) => self.word("null", "in literal null (expecting 'u')"),
            (Some(b'-' | b'0'..=b'9'), Place::Value) => self.digits(),
            (_, Place::Value) => Err(self.wrong("looking for beginning of value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), JsonError> {
        self.step();
        self.skip_blanks();
        if self.peek() == Some(b'}') {
            self.step();
            return Ok(());
        }
        loop {
            self.value(depth + 1, Place::Key)?;
            self.skip_blanks();
            if self.peek() != Some(b':') {
                return Err(self.wrong("after object key"));
            }
            self.step();
            self.value(depth + 1, Place::Value)?;
            self.skip_blanks();
            match self.peek() {
                Some(b',') => self.step(),
                Some(b'}') => {
                    self.step();
                    return Ok(());
                }
                _ => return Err(self.wrong("after object key:value pair")),
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<(), JsonError> {
        self.step();
        self.skip_blanks();
        if self.peek() == Some(b']') {
            self.step();
            return Ok(());
        }
        loop {
            self.value(depth + 1, Place::Value)?;
            self.skip_blanks();
            match self.peek() {
                Some(b',') => self.step(),
                Some(b']') => {
                    self.step();
                    return Ok(());
                }
                _ => return Err(self.wrong("after array element")),
            }
        }
    }

    fn word(&mut self, word: &'static str, context: &'static str) -> Result<(), JsonError> {
        for (index, expected) in word.bytes().enumerate() {
            if self.peek() != Some(expected) {
                let context = if index == 1 {
                    context
                } else {
                    literal_context(word, index)
                };
                return Err(self.wrong(context));
            }
            self.at += 1;
        }
        self.push(word);
        Ok(())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        if self.peek() == Some(b'-') {
            self.step();
        }
        match self.peek() {
            Some(b'0') => self.step(),
            Some(b'1'..=b'9') => self.run_of_digits(),
            _ => return Err(self.wrong("in numeric literal")),
        }
        if self.peek() == Some(b'.') {
            self.step();
            self.some_digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.step();
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.step();
            }
            self.some_digits("in exponent of numeric literal")?;
        }
        Ok(())
    }

    fn some_digits(&mut self, context: &'static str) -> Result<(), JsonError> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.wrong(context));
        }
        self.run_of_digits();
        Ok(())
    }

    fn run_of_digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.step();
        }
    }

    fn string(&mut self) -> Result<(), JsonError> {
        self.step();
        let mut plain = self.at;
        loop {
            let Some(c) = self.text[self.at..].chars().next() else {
                return Err(JsonError::UnexpectedEnd);
            };
            match c {
                '"' => {
                    let text = self.text;
                    self.push(&text[plain..self.at]);
                    self.step();
                    return Ok(());
                }
                '\\' => self.escape()?,
                c if (c as u32) < 0x20 => return Err(self.wrong("in string literal")),
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                    let text = self.text;
                    self.push(&text[plain..self.at]);
                    if let Some(out) = &mut self.out {
                        push_escaped(out, c);
                    }
                    self.at += c.len_utf8();
                    plain = self.at;
                }
                c => self.at += c.len_utf8(),
            }
        }
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return Err(self.wrong("in \\u hexadecimal character escape"));
                    }
                    self.at += 1;
                }
            }
            _ => return Err(self.wrong("in string escape code")),
        }
        Ok(())
    }
}

/// The scanner calls itself once a level; Go's limit would need more stack than a thread has.
const LIMIT_OF_OUR_STACK: usize = 1_000;

fn literal_context(word: &str, index: usize) -> &'static str {
    match (word, index) {
        ("true", 2) => "in literal true (expecting 'u')",
        ("true", _) => "in literal true (expecting 'e')",
        ("false", 2) => "in literal false (expecting 'l')",
        ("false", 3) => "in literal false (expecting 's')",
        ("false", _) => "in literal false (expecting 'e')",
        (_, _) => "in literal null (expecting 'l')",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_read_as_those_of_go() {
        for (text, error) in [
            (
                "foo",
                "invalid character 'o' in literal false (expecting 'a')",
            ),
            (
                "bar",
                "invalid character 'b' looking for beginning of value",
            ),
            ("", "unexpected end of JSON input"),
            ("{\"a\": 1", "unexpected end of JSON input"),
            ("1 2", "invalid character '2' after top-level value"),
            ("[1 2]", "invalid character '2' after array element"),
            (
                "{a:1}",
                "invalid character 'a' looking for beginning of object key string",
            ),
            (
                "a: b",
                "invalid character 'a' looking for beginning of value",
            ),
            ("\"a\nb\"", "invalid character '\\n' in string literal"),
        ] {
            assert_eq!(check(text).expect_err(text).to_string(), error, "{text}");
        }
    }

    #[test]
    fn compacting_keeps_order_and_digits() {
        assert_eq!(
            compact(" { \"b\" : 1.50 , \"a\" : [ \"x < y\" , 1e3 ] } ").as_deref(),
            Ok("{\"b\":1.50,\"a\":[\"x \\u003c y\",1e3]}")
        );
    }

    #[test]
    fn numbers_print_as_those_of_go() {
        for (value, text) in [
            (1.0, "1"),
            (0.5, "0.5"),
            (-0.0, "-0"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e-7, "1.5e-7"),
            (0.000_001, "0.000001"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn the_elements_of_a_list_keep_their_text() {
        let list = " [1.50, \"a,b\", [ 1 ], {\"x\": [2]} ] ";
        assert_eq!(
            elements(list),
            Ok(Some(vec!["1.50", "\"a,b\"", "[ 1 ]", "{\"x\": [2]}"]))
        );
        assert_eq!(elements("[]"), Ok(Some(vec![])));
        assert_eq!(elements("{}"), Ok(None));
    }

    #[test]
    fn deep_nesting_is_an_error_and_not_a_crash() {
        assert_eq!(check(&"[".repeat(1_000_000)), Err(JsonError::TooDeep));
    }
}
