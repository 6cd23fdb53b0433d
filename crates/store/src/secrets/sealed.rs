//! Sensitive values in the database, encrypted, and the tokens that stand for them.

use groundplan_ports::{
    error::{ErrorKind, PortError, PortResult},
    secrets::SecretValue,
};
use groundplan_sealing::{Key, open, random_id, seal};
use rusqlite::OptionalExtension;

use crate::database::{Database, Hint};

/// What every token begins with.
const PREFIX: &str = "groundplan:sealed:";

/// Letters and digits after it, as `random_id` gives them.
const ID: usize = 26;

/// Seals values and opens tokens.
#[derive(Debug)]
pub(super) struct Vault {
    database: Database,
    key: Key,
}

impl Vault {
    pub(super) fn new(database: Database, key: Key) -> Self {
        Vault { database, key }
    }

    pub(super) async fn seal(&self, value: &SecretValue) -> PortResult<String> {
        let token = format!("{PREFIX}{}", random_id());
        let body = seal(&self.key, token.as_bytes(), value.expose());
        let row = token.clone();
        self.database
            .write(Hint::Spare, move |db| {
                db.prepare_cached("INSERT INTO sealed (token, body) VALUES (?1, ?2)")?
                    .execute((row, body))?;
                Ok(())
            })
            .await?;
        Ok(token)
    }

    pub(super) async fn open(&self, text: &str) -> PortResult<Vec<(String, SecretValue)>> {
        let tokens = tokens(text);
        if tokens.is_empty() {
            return Ok(Vec::new());
        }
        let bodies = self
            .database
            .read(move |db| {
                let mut select = db.prepare_cached("SELECT body FROM sealed WHERE token = ?1")?;
                let mut found = Vec::new();
                for token in tokens {
                    let body: Option<Vec<u8>> =
                        select.query_row([&token], |row| row.get(0)).optional()?;
                    found.push((token, body));
                }
                Ok(found)
            })
            .await?;
        bodies
            .into_iter()
            .map(|(token, body)| {
                let body = body.ok_or_else(|| unknown(&token))?;
                let value = open(&self.key, token.as_bytes(), &body).map_err(|error| {
                    PortError::new(
                        ErrorKind::Broken,
                        format!("the value of `{token}` cannot be read"),
                    )
                    .with_hint("it was sealed with another installation key, or it is damaged")
                    .caused_by(error)
                })?;
                Ok((token, SecretValue::new(value)))
            })
            .collect()
    }
}

fn unknown(token: &str) -> PortError {
    PortError::new(
        ErrorKind::NotFound,
        format!("`{token}` stands for no value of this data directory"),
    )
    .with_hint("a step must not print such tokens itself; it gets the values behind them")
}

/// The tokens within a text, each once, in the order they come.
fn tokens(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (begin, _) in text.match_indices(PREFIX) {
        let rest = &text.as_bytes()[begin + PREFIX.len()..];
        let is_id = rest.len() >= ID
            && rest[..ID]
                .iter()
                .all(|letter| matches!(letter, b'a'..=b'z' | b'2'..=b'7'));
        let end = begin + PREFIX.len() + ID;
        if is_id && !found.iter().any(|token| *token == text[begin..end]) {
            found.push(text[begin..end].to_owned());
        }
    }
    found
}

/// A text as a person sees it: `***` for every token of a sensitive value within it.
pub fn without_tokens(text: &str) -> String {
    let mut shown = text.to_owned();
    for token in tokens(text) {
        shown = shown.replace(&token, "***");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_not_shown() {
        let one = format!("{PREFIX}{}", "a".repeat(ID));
        let two = format!("{PREFIX}{}", "b".repeat(ID));
        let text = format!("{one}, {two}{one} and {PREFIX}short");
        assert_eq!(
            without_tokens(&text),
            format!("***, ****** and {PREFIX}short")
        );
    }

    #[test]
    fn tokens_are_found_within_a_text() {
        let one = format!("{PREFIX}{}", "a".repeat(ID));
        let two = format!("{PREFIX}{}", "7".repeat(ID));
        let text = format!("{{\"a\":\"{two}\",\"b\":\"{one}{one}\"}} {PREFIX}short {two}é");
        assert_eq!(tokens(&text), [two.clone(), one]);
        assert!(tokens("").is_empty());
        assert!(tokens(PREFIX).is_empty());
        assert!(tokens(&format!("{PREFIX}{}", "é".repeat(ID))).is_empty());
    }
}
