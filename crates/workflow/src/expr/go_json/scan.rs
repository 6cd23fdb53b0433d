//! Reading JSON text, with the faults in the words of Go's decoder.

use super::push_escaped;

/// Deeper nesting than this is an error. The scanner calls itself once a level; Go's limit of
/// 10,000 would need more stack than a thread has.
const DEEPEST: usize = 1_000;

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

/// What is read next.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Value,
    Key,
}

/// Reads one value, and writes it compactly where `out` is there.
pub(super) struct Scanner<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) out: Option<String>,
}

impl Scanner<'_> {
    pub(super) fn whole(&mut self) -> Result<(), JsonError> {
        self.value(0, Place::Value)?;
        self.skip_blanks();
        if self.at < self.text.len() {
            return Err(self.wrong("after top-level value"));
        }
        Ok(())
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn skip_blanks(&mut self) {
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

    pub(super) fn value(&mut self, depth: usize, place: Place) -> Result<(), JsonError> {
        if depth > DEEPEST {
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
