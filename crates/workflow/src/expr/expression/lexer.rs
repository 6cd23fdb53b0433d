//! From text to tokens.

use super::ExpressionError;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Int(i64),
    Float(f64),
    Text(String),
    /// A name or a word operator.
    Word(String),
    /// `#`, `#acc`, `#index`.
    Pointer(String),
    Symbol(&'static str),
    End,
}

#[derive(Clone, Debug)]
pub(super) struct Positioned {
    pub(super) token: Token,
    pub(super) offset: usize,
}

/// Longest first, so that the longest symbol wins.
const SYMBOLS: [&str; 38] = [
    "?.", "??", "?:", "||", "&&", "==", "!=", "<=", ">=", "**", "..", "::", "?", ":", "|", "!",
    "<", ">", "+", "-", "*", "/", "%", "^", ".", ",", ";", "(", ")", "[", "]", "{", "}", "=", "@",
    "&", "~", "$",
];

pub(super) fn tokens(text: &str) -> Result<Vec<Positioned>, ExpressionError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut found = Vec::new();
    loop {
        lexer.skip_blanks()?;
        let offset = lexer.at;
        let token = lexer.token()?;
        let last = token == Token::End;
        found.push(Positioned { token, offset });
        if last {
            return Ok(found);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) -> Result<(), ExpressionError> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if self.rest().starts_with("//") {
                self.at += self.rest().find('\n').unwrap_or(self.rest().len());
            } else if self.rest().starts_with("/*") {
                let Some(end) = self.rest().find("*/") else {
                    return Err(ExpressionError::new(self.at, "unclosed comment"));
                };
                self.at += end + 2;
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Token, ExpressionError> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return Ok(Token::End);
        };
        if first.is_ascii_digit() {
            return self.number();
        }
        if first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()) {
            return self.number();
        }
        if is_name_start(first) {
            let end = rest.find(|c| !is_name_part(c)).unwrap_or(rest.len());
            let word = rest[..end].to_owned();
            self.at += end;
            return Ok(Token::Word(word));
        }
        match first {
            '"' | '\'' => return self.quoted(first),
            '`' => return self.raw(),
            '#' => {
                let name = &rest[1..];
                let end = name.find(|c| !is_name_part(c)).unwrap_or(name.len());
                let name = name[..end].to_owned();
                self.at += 1 + end;
                return Ok(Token::Pointer(name));
            }
            _ => {}
        }
        let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) else {
            let message = format!("unrecognized character: {first:?}");
            return Err(ExpressionError::new(self.at, message));
        };
        // `a ?.5 : b` is a choice, not an optional member.
        let symbol = match symbol {
            "?." if rest[2..].starts_with(|c: char| c.is_ascii_digit()) => "?",
            symbol => symbol,
        };
        self.at += symbol.len();
        Ok(Token::Symbol(symbol))
    }

    fn number(&mut self) -> Result<Token, ExpressionError> {
        let start = self.at;
        let rest = self.rest();
        for (prefix, radix) in [
            ("0x", 16),
            ("0X", 16),
            ("0b", 2),
            ("0B", 2),
            ("0o", 8),
            ("0O", 8),
        ] {
            if let Some(digits) = rest.strip_prefix(prefix) {
                let is_digit = |c: char| c.is_digit(radix) || c == '_';
                let end = digits.find(|c| !is_digit(c)).unwrap_or(digits.len());
                let value = i64::from_str_radix(&digits[..end].replace('_', ""), radix);
                self.at += 2 + end;
                return value.map(Token::Int).map_err(|_| bad_number(start));
            }
        }
        let mut end = digits_end(rest, 0);
        let mut is_float = false;
        if rest[end..].starts_with('.') && !rest[end..].starts_with("..") {
            is_float = true;
            end = digits_end(rest, end + 1);
        }
        if rest[end..].starts_with(['e', 'E']) {
            let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
            let exponent = digits_end(rest, end + 1 + sign);
            if exponent > end + 1 + sign {
                is_float = true;
                end = exponent;
            }
        }
        let digits = rest[..end].replace('_', "");
        let follows_name = rest[end..].starts_with(is_name_start);
        self.at += end;
        if follows_name {
            return Err(bad_number(start));
        }
        if is_float {
            return digits
                .parse()
                .map(Token::Float)
                .map_err(|_| bad_number(start));
        }
        digits
            .parse()
            .map(Token::Int)
            .map_err(|_| bad_number(start))
    }

    fn raw(&mut self) -> Result<Token, ExpressionError> {
        let start = self.at;
        let inner = &self.rest()[1..];
        let Some(end) = inner.find('`') else {
            return Err(unclosed(start));
        };
        let text = inner[..end].to_owned();
        self.at += end + 2;
        Ok(Token::Text(text))
    }

    fn quoted(&mut self, quote: char) -> Result<Token, ExpressionError> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let Some(c) = self.rest().chars().next() else {
                return Err(unclosed(start));
            };
            self.at += c.len_utf8();
            if c == quote {
                return Ok(Token::Text(text));
            }
            if c == '\\' {
                self.escape(&mut text)?
            } else {
                text.push(c)
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<(), ExpressionError> {
        let start = self.at - 1;
        let Some(c) = self.rest().chars().next() else {
            return Err(unclosed(start));
        };
        self.at += c.len_utf8();
        let code = match c {
            'a' => 0x07,
            'b' => 0x08,
            'f' => 0x0c,
            'n' => 0x0a,
            'r' => 0x0d,
            't' => 0x09,
            'v' => 0x0b,
            '\\' | '\'' | '"' | '`' | '/' => c as u32,
            'x' => self.code(start, 2, 16)?,
            'u' => self.utf16(start)?,
            'U' => self.code(start, 8, 16)?,
            '0'..='3' => {
                self.at -= 1;
                self.code(start, 3, 8)?
            }
            _ => return Err(ExpressionError::new(start, "unable to unescape string")),
        };
        let c = char::from_u32(code)
            .ok_or_else(|| ExpressionError::new(start, "unable to unescape string"))?;
        text.push(c);
        Ok(())
    }

    /// Four digits, and the second half of a surrogate pair where there is one.
    fn utf16(&mut self, start: usize) -> Result<u32, ExpressionError> {
        let first = self.code(start, 4, 16)?;
        if !(0xd800..0xdc00).contains(&first) || !self.rest().starts_with("\\u") {
            return Ok(first);
        }
        self.at += 2;
        let second = self.code(start, 4, 16)?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(ExpressionError::new(start, "unable to unescape string"));
        }
        Ok(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
    }

    fn code(&mut self, start: usize, length: usize, radix: u32) -> Result<u32, ExpressionError> {
        let digits = self.rest().get(..length);
        let code = digits
            .filter(|digits| digits.chars().all(|c| c.is_digit(radix)))
            .and_then(|digits| u32::from_str_radix(digits, radix).ok())
            .ok_or_else(|| ExpressionError::new(start, "unable to unescape string"))?;
        self.at += length;
        Ok(code)
    }
}

fn digits_end(text: &str, from: usize) -> usize {
    let is_digit = |c: char| c.is_ascii_digit() || c == '_';
    text[from..]
        .find(|c| !is_digit(c))
        .map_or(text.len(), |end| from + end)
}

fn is_name_start(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphabetic()
}

fn is_name_part(c: char) -> bool {
    is_name_start(c) || c.is_ascii_digit()
}

fn bad_number(offset: usize) -> ExpressionError {
    ExpressionError::new(offset, "bad number syntax")
}

fn unclosed(offset: usize) -> ExpressionError {
    ExpressionError::new(offset, "literal not terminated")
}
