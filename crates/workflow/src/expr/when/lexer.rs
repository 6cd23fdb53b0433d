//! From a condition's text to tokens.

use super::Value;
use super::time;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Number(f64),
    Bool(bool),
    Text(String),
    /// A quoted text that looks like a date: seconds since 1970.
    Time(f64),
    Word(String),
    Prefix(&'static str),
    Comparator(&'static str),
    Logical(&'static str),
    Modifier(&'static str),
    Ternary(&'static str),
    Separator,
    Open,
    Close,
}

impl Token {
    /// The kind's name in messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Token::Number(_) => "NUMERIC",
            Token::Bool(_) => "BOOLEAN",
            Token::Text(_) => "STRING",
            Token::Time(_) => "TIME",
            Token::Word(_) => "VARIABLE",
            Token::Prefix(_) => "PREFIX",
            Token::Comparator(_) => "COMPARATOR",
            Token::Logical(_) => "LOGICALOP",
            Token::Modifier(_) => "MODIFIER",
            Token::Ternary(_) => "TERNARY",
            Token::Separator => "SEPARATOR",
            Token::Open => "CLAUSE",
            Token::Close => "CLAUSE_CLOSE",
        }
    }

    /// The token as messages show it.
    pub(super) fn shown(&self) -> String {
        match self {
            Token::Number(value) | Token::Time(value) => Value::Number(*value).to_string(),
            Token::Bool(value) => value.to_string(),
            Token::Text(text) | Token::Word(text) => text.clone(),
            Token::Prefix(text)
            | Token::Comparator(text)
            | Token::Logical(text)
            | Token::Modifier(text)
            | Token::Ternary(text) => (*text).to_owned(),
            Token::Separator => ",".to_owned(),
            // The library shows the code of the parenthesis.
            Token::Open => "40".to_owned(),
            Token::Close => "41".to_owned(),
        }
    }

    /// Whether an operand may follow: at the start, after an operator, after an opening.
    pub(super) fn wants_operand(&self) -> bool {
        match self {
            Token::Prefix(_)
            | Token::Comparator(_)
            | Token::Logical(_)
            | Token::Modifier(_)
            | Token::Ternary(_)
            | Token::Separator
            | Token::Open => true,
            Token::Number(_)
            | Token::Bool(_)
            | Token::Text(_)
            | Token::Time(_)
            | Token::Word(_)
            | Token::Close => false,
        }
    }
}

const PREFIXES: [&str; 3] = ["-", "!", "~"];
const COMPARATORS: [&str; 8] = ["==", "!=", ">", ">=", "<", "<=", "=~", "!~"];
const LOGICAL: [&str; 2] = ["&&", "||"];
const MODIFIERS: [&str; 11] = ["+", "-", "*", "/", "%", "**", "&", "|", "^", ">>", "<<"];
const TERNARY: [&str; 3] = ["?", ":", "??"];

pub(super) fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut lexer = Lexer {
        chars: text.chars().collect(),
        at: 0,
    };
    let mut found: Vec<Token> = Vec::new();
    while let Some(token) = lexer.token(found.last())? {
        found.push(token);
    }
    Ok(found)
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
}

impl Lexer {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn take_while(&mut self, holds: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(c) = self.peek().filter(|c| holds(*c)) {
            taken.push(c);
            self.at += 1;
        }
        taken
    }

    fn token(&mut self, before: Option<&Token>) -> Result<Option<Token>, String> {
        self.take_while(char::is_whitespace);
        let Some(first) = self.peek() else {
            return Ok(None);
        };
        if first.is_ascii_digit() || first == '.' {
            return self.number().map(Some);
        }
        let token = match first {
            ',' => {
                self.at += 1;
                Token::Separator
            }
            '(' => {
                self.at += 1;
                Token::Open
            }
            ')' => {
                self.at += 1;
                Token::Close
            }
            '[' => {
                self.at += 1;
                let name = self.until(']')?.ok_or("Unclosed parameter bracket")?;
                Token::Word(name)
            }
            '\'' | '"' => {
                self.at += 1;
                let text = self.until(first)?.ok_or("Unclosed string literal")?;
                match time::seconds(&text) {
                    Some(seconds) => Token::Time(seconds),
                    None => Token::Text(text),
                }
            }
            c if c.is_alphabetic() => self.word()?,
            _ => self.symbol(before)?,
        };
        Ok(Some(token))
    }

    fn number(&mut self) -> Result<Token, String> {
        if self.chars[self.at..].starts_with(&['0', 'x']) {
            self.at += 2;
            let digits = self.take_while(|c| c.is_ascii_hexdigit());
            return match u64::from_str_radix(&digits, 16) {
                Ok(value) => Ok(Token::Number(value as f64)),
                Err(_) => Err(format!("Unable to parse hex value '{digits}' to uint64\n")),
            };
        }
        let digits = self.take_while(|c| c.is_ascii_digit() || c == '.');
        match digits.parse() {
            Ok(value) => Ok(Token::Number(value)),
            Err(_) => Err(format!(
                "Unable to parse numeric value '{digits}' to float64\n"
            )),
        }
    }

    fn word(&mut self) -> Result<Token, String> {
        let word = self.take_while(|c| c.is_alphanumeric() || c == '_' || c == '.');
        Ok(match word.as_str() {
            "true" => Token::Bool(true),
            "false" => Token::Bool(false),
            "in" | "IN" => Token::Comparator("in"),
            _ => {
                // A dotted word is an access to a field there, which must begin with a capital.
                if word.ends_with('.') {
                    return Err(format!("Hanging accessor on token '{word}'"));
                }
                for part in word.split('.').skip(1) {
                    if part.chars().next().is_some_and(char::is_lowercase) {
                        return Err(format!(
                            "Unable to access unexported field '{part}' in token '{word}'"
                        ));
                    }
                }
                Token::Word(word)
            }
        })
    }

    /// The text up to `end`, without the backslashes that escape the character after them.
    fn until(&mut self, end: char) -> Result<Option<String>, String> {
        let mut text = String::new();
        while let Some(c) = self.peek() {
            self.at += 1;
            if c == end {
                return Ok(Some(text));
            }
            if c != '\\' {
                text.push(c);
                continue;
            }
            if let Some(escaped) = self.peek() {
                text.push(escaped);
                self.at += 1;
            }
        }
        Ok(None)
    }

    /// Everything up to the next blank, letter, digit, bracket or quote is one symbol.
    fn symbol(&mut self, before: Option<&Token>) -> Result<Token, String> {
        let symbol = self
            .take_while(|c| !(c.is_whitespace() || c.is_alphanumeric() || "()[]'\"".contains(c)));
        let find =
            |symbols: &[&'static str]| symbols.iter().copied().find(|known| *known == symbol);
        let operand_wanted = before.is_none_or(Token::wants_operand);
        if operand_wanted && let Some(prefix) = find(&PREFIXES) {
            return Ok(Token::Prefix(prefix));
        }
        if let Some(modifier) = find(&MODIFIERS) {
            return Ok(Token::Modifier(modifier));
        }
        if let Some(logical) = find(&LOGICAL) {
            return Ok(Token::Logical(logical));
        }
        if let Some(comparator) = find(&COMPARATORS) {
            return Ok(Token::Comparator(comparator));
        }
        if let Some(ternary) = find(&TERNARY) {
            return Ok(Token::Ternary(ternary));
        }
        Err(format!("Invalid token: '{symbol}'"))
    }
}
