//! Cutting a text at its tags.

use super::{CLOSE, OPEN, Unclosed};

/// A text cut at its tags.
pub(super) enum Piece<'a> {
    Text(&'a str),
    /// What stands between the braces, and where the braces open. It may hold further opening
    /// braces: the tag ends at the first closing ones.
    Tag {
        inner: &'a str,
        start: usize,
    },
}

pub(super) struct Pieces<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Pieces<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Pieces { text, at: 0 }
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Result<Piece<'a>, Unclosed>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.text[self.at..];
        if rest.is_empty() {
            return None;
        }
        let Some(open) = rest.find(OPEN) else {
            self.at = self.text.len();
            return Some(Ok(Piece::Text(rest)));
        };
        if open > 0 {
            self.at += open;
            return Some(Ok(Piece::Text(&rest[..open])));
        }
        let start = self.at;
        let inner = &rest[OPEN.len()..];
        let Some(close) = inner.find(CLOSE) else {
            self.at = self.text.len();
            let error = Unclosed {
                text: self.text.to_owned(),
                rest: inner.to_owned(),
                offset: start,
            };
            return Some(Err(error));
        };
        self.at += OPEN.len() + close + CLOSE.len();
        Some(Ok(Piece::Tag {
            inner: &inner[..close],
            start,
        }))
    }
}
