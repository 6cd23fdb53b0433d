//! One pass over a text or a template.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::pieces::{Piece, Pieces};
use super::{CLOSE, Mode, OPEN, ReplaceError, has_tags, inserted};
use crate::expr::expression::{Expression, ExpressionError, Moment, Value};
use crate::expr::scope::{Lookup, Scope};

pub(super) struct Replacer<'a> {
    pub(super) scope: &'a dyn Scope,
    pub(super) mode: Mode<'a>,
    pub(super) moment: &'a Moment,
    pub(super) unresolved: BTreeSet<String>,
}

impl Replacer<'_> {
    pub(super) fn text(&mut self, text: &str) -> Result<String, ReplaceError> {
        let mut out = String::with_capacity(text.len());
        for piece in Pieces::of(text) {
            match piece? {
                Piece::Text(text) => out.push_str(text),
                Piece::Tag { inner, .. } => self.tag(inner, &mut out)?,
            }
        }
        Ok(out)
    }

    pub(super) fn json(&mut self, value: &mut Json) -> Result<(), ReplaceError> {
        match value {
            Json::Null | Json::Bool(_) | Json::Number(_) => Ok(()),
            Json::String(text) => self.leaf(text),
            Json::Array(items) => items.iter_mut().try_for_each(|item| self.json(item)),
            Json::Object(map) => {
                if !map.keys().any(|key| has_tags(key)) {
                    return map.values_mut().try_for_each(|item| self.json(item));
                }
                for (mut key, mut item) in std::mem::take(map) {
                    self.leaf(&mut key)?;
                    self.json(&mut item)?;
                    map.insert(key, item);
                }
                Ok(())
            }
        }
    }

    fn leaf(&mut self, text: &mut String) -> Result<(), ReplaceError> {
        if !has_tags(text) {
            return Ok(());
        }
        // What follows the last closing braces cannot hold a tag.
        let end = text.rfind(CLOSE).map_or(0, |close| close + CLOSE.len());
        let mut replaced = self.text(&text[..end])?;
        replaced.push_str(&text[end..]);
        *text = replaced;
        Ok(())
    }

    fn tag(&mut self, inner: &str, out: &mut String) -> Result<(), ReplaceError> {
        if let Some(expression) = inner.strip_prefix('=') {
            return self.expression(expression, out);
        }
        match self.scope.get(inner.trim()) {
            Lookup::Text(text) => {
                out.push_str(text);
                return Ok(());
            }
            Lookup::Absent => {
                return Err(ReplaceError::Absent {
                    tag: inner.to_owned(),
                });
            }
            Lookup::Data(_) => {
                return Err(ReplaceError::NotText {
                    tag: inner.to_owned(),
                });
            }
            Lookup::Missing => {}
        }
        let Some(nested) = inner.rfind(OPEN) else {
            return self.leave(inner, inner, out);
        };
        let tag = &inner[nested + OPEN.len()..];
        match self.scope.get(tag.trim()) {
            // One level a pass: the tag around it stays for the next.
            Lookup::Text(text) => {
                out.push_str(OPEN);
                out.push_str(&inner[..nested]);
                out.push_str(text);
                Ok(())
            }
            Lookup::Absent => Err(ReplaceError::Absent {
                tag: tag.to_owned(),
            }),
            Lookup::Data(_) => Err(ReplaceError::NotText {
                tag: tag.to_owned(),
            }),
            Lookup::Missing => self.leave(inner, tag, out),
        }
    }

    /// Leaves the tag `inner` as it stands, unless the mode refuses its name `tag`.
    fn leave(&mut self, inner: &str, tag: &str, out: &mut String) -> Result<(), ReplaceError> {
        let name = tag.trim();
        if self.mode.refuses(name) {
            return Err(ReplaceError::Unresolved {
                tag: inner.to_owned(),
                name: name.to_owned(),
            });
        }
        self.unresolved.insert(name.to_owned());
        out.push_str(OPEN);
        out.push_str(inner);
        out.push_str(CLOSE);
        Ok(())
    }

    fn expression(&mut self, text: &str, out: &mut String) -> Result<(), ReplaceError> {
        let expression = match Expression::parse(text) {
            Ok(expression) => expression,
            Err(error) => return self.failed(text, error, out),
        };
        let missing = expression.missing_names(self.scope);
        if let Some(name) = missing.iter().rev().find(|name| self.mode.refuses(name)) {
            let (expression, name) = (text.to_owned(), name.clone());
            return Err(ReplaceError::Missing { expression, name });
        }
        if self.mode != Mode::Forbid && expression.is_late_bound(self.scope) {
            return self.leave_expression(text, out);
        }
        match expression.evaluate(self.scope, self.moment) {
            Ok(Value::Nil) => {
                let is_absent = |name: &String| self.scope.get(name) == Lookup::Absent;
                if expression.required_names().iter().any(is_absent) {
                    return Err(ReplaceError::Absent {
                        tag: format!("={text}"),
                    });
                }
                if self.mode == Mode::Forbid {
                    return Err(ReplaceError::Nothing {
                        expression: text.to_owned(),
                    });
                }
                self.leave_expression(text, out)
            }
            Ok(value) => match inserted(text, &value) {
                Ok(text) => {
                    out.push_str(&text);
                    Ok(())
                }
                Err(error) if self.mode == Mode::Forbid => Err(error),
                Err(_) => self.leave_expression(text, out),
            },
            Err(error) => self.failed(text, error, out),
        }
    }

    fn failed(
        &mut self,
        text: &str,
        error: ExpressionError,
        out: &mut String,
    ) -> Result<(), ReplaceError> {
        if self.mode == Mode::Forbid {
            return Err(ReplaceError::Expression {
                expression: text.to_owned(),
                error,
            });
        }
        self.leave_expression(text, out)
    }

    fn leave_expression(&mut self, text: &str, out: &mut String) -> Result<(), ReplaceError> {
        self.unresolved.insert(format!("={text}"));
        out.push_str(OPEN);
        out.push('=');
        out.push_str(text);
        out.push_str(CLOSE);
        Ok(())
    }
}
