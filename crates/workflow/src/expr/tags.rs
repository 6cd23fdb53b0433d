//! `{{…}}` tags in texts.
//!
//! A *simple* tag names a variable; an *expression* tag begins with `{{=`. Replacing is one pass:
//! what a value brings along is not looked at again in the same pass. Argo replaces a template in
//! passes (globals with locals, then inputs, then what only a retry knows); each is one call here
//! with another scope.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::expression::{Expression, ExpressionError, Moment, Value};
use super::scope::{Lookup, Scope};
use super::sealed::OPAQUE;

/// What begins a tag.
const OPEN: &str = "{{";
/// What ends a tag.
const CLOSE: &str = "}}";

/// One tag of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag<'a> {
    /// What kind of tag.
    pub kind: TagKind,
    /// The name without blanks at its ends, or the expression after `=`.
    pub text: &'a str,
    /// Byte offset of the braces that open it.
    pub start: usize,
    /// Byte offset behind the braces that close it.
    pub end: usize,
}

/// The kinds of tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagKind {
    /// `{{name}}`.
    Simple,
    /// `{{=expression}}`.
    Expression,
}

/// A tag that is opened and never closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Cannot find end tag=\"}}}}\" in the template={text:?} starting from {rest:?}")]
pub struct Unclosed {
    /// The whole text.
    pub text: String,
    /// What follows the opening braces.
    pub rest: String,
    /// Byte offset of the opening braces.
    pub offset: usize,
}

/// The tags of a text, the innermost where they are nested (`{{a.{{b}}}}` has the tag `b`).
pub fn scan(text: &str) -> Result<Vec<Tag<'_>>, Unclosed> {
    let mut tags = Vec::new();
    for piece in Pieces::of(text) {
        let Piece::Tag { inner, start } = piece? else {
            continue;
        };
        let end = start + OPEN.len() + inner.len() + CLOSE.len();
        if let Some(expression) = inner.strip_prefix('=') {
            tags.push(Tag {
                kind: TagKind::Expression,
                text: expression,
                start,
                end,
            });
            continue;
        }
        let (name, start) = match inner.rfind(OPEN) {
            Some(nested) => (&inner[nested + OPEN.len()..], start + OPEN.len() + nested),
            None => (inner, start),
        };
        tags.push(Tag {
            kind: TagKind::Simple,
            text: name.trim(),
            start,
            end,
        });
    }
    Ok(tags)
}

/// Whether a text holds anything that looks like a tag.
pub fn has_tags(text: &str) -> bool {
    text.find(OPEN)
        .is_some_and(|open| text[open..].contains(CLOSE))
}

/// What happens to a tag that cannot be resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode<'a> {
    /// It stays as it stands.
    Allow,
    /// It is an error.
    Forbid,
    /// It is an error if its name begins with one of these words (`steps`, `tasks`, `item`) and a
    /// dot or nothing after it; otherwise it stays. Output artifacts of steps and tasks stay as
    /// well: they are resolved apart from texts.
    Strict(&'a [&'a str]),
}

impl Mode<'_> {
    fn refuses(self, name: &str) -> bool {
        match self {
            Mode::Allow => false,
            Mode::Forbid => true,
            Mode::Strict(_) if name.contains(".outputs.artifacts.") => false,
            Mode::Strict(words) => words.iter().any(|word| {
                name.strip_prefix(word)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            }),
        }
    }
}

/// A text after one pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replaced {
    /// The text.
    pub text: String,
    /// Names (or expressions, with their `=`) of tags that stayed as they stood.
    pub unresolved: BTreeSet<String>,
}

/// Why a text could not be replaced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplaceError {
    /// The name is not in the scope, and the mode refuses that. The engine waits on it where the
    /// producer may still come.
    #[error("failed to resolve {{{{{tag}}}}}")]
    Unresolved {
        /// The tag's text as written.
        tag: String,
        /// The name.
        name: String,
    },
    /// An expression needs a name that is not in the scope, and the mode refuses that.
    #[error("failed to evaluate expression: {name} is missing")]
    Missing {
        /// The expression.
        expression: String,
        /// The first name that is missing.
        name: String,
    },
    /// The value is an output of a skipped or omitted node that gives no default.
    #[error(
        "unable to substitute {{{{{tag}}}}}: output is an absent optional (skipped/omitted node \
         with no default)"
    )]
    Absent {
        /// The tag's text as written.
        tag: String,
    },
    /// The value is no text.
    #[error("failed to resolve {{{{{tag}}}}} to string")]
    NotText {
        /// The tag's text as written.
        tag: String,
    },
    /// A tag is opened and never closed.
    #[error(transparent)]
    Unclosed(#[from] Unclosed),
    /// An expression is wrong.
    #[error("failed to evaluate expression: {error}")]
    Expression {
        /// The expression.
        expression: String,
        /// What is wrong.
        error: ExpressionError,
    },
    /// An expression gives nothing.
    #[error("failed to evaluate expression {expression:?}")]
    Nothing {
        /// The expression.
        expression: String,
    },
}

/// One pass over a text.
pub fn replace(
    text: &str,
    scope: &dyn Scope,
    mode: Mode<'_>,
    moment: &Moment,
) -> Result<Replaced, ReplaceError> {
    let mut replacer = Replacer {
        scope,
        mode,
        moment,
        unresolved: BTreeSet::new(),
    };
    let text = replacer.text(text)?;
    Ok(Replaced {
        text,
        unresolved: replacer.unresolved,
    })
}

/// One pass over every string of a template taken to JSON, keys of maps included. Each string is
/// replaced by itself: whatever a value holds, it cannot end the string it stands in. Braces that
/// are never closed stay as they stand. Returns what stayed unresolved.
pub fn replace_in_json(
    value: &mut Json,
    scope: &dyn Scope,
    mode: Mode<'_>,
    moment: &Moment,
) -> Result<BTreeSet<String>, ReplaceError> {
    let mut replacer = Replacer {
        scope,
        mode,
        moment,
        unresolved: BTreeSet::new(),
    };
    replacer.json(value)?;
    Ok(replacer.unresolved)
}

/// The value of a text that must be one tag, as data; `{{a}}` gives text, `{{=…}}` anything.
pub fn resolve(text: &str, scope: &dyn Scope, moment: &Moment) -> Result<Value, ReplaceError> {
    let inner = text
        .trim()
        .strip_prefix(OPEN)
        .and_then(|rest| rest.strip_suffix(CLOSE));
    let inner = inner.unwrap_or(text);
    if let Some(expression) = inner.strip_prefix('=') {
        let wrong = |error| ReplaceError::Expression {
            expression: expression.to_owned(),
            error,
        };
        let parsed = Expression::parse(expression).map_err(|error| {
            let message = format!("Unable to compile: {expression:?}");
            wrong(ExpressionError {
                message,
                offset: error.offset,
            })
        })?;
        return parsed.evaluate(scope, moment).map_err(wrong);
    }
    let name = inner.trim();
    match scope.get(name) {
        Lookup::Text(text) => Ok(Value::text(text)),
        Lookup::Data(data) => Ok(Value::from(data)),
        Lookup::Absent => Err(ReplaceError::Absent {
            tag: inner.to_owned(),
        }),
        Lookup::Missing => Err(ReplaceError::Unresolved {
            tag: inner.to_owned(),
            name: name.to_owned(),
        }),
    }
}

/// The name, if the whole text is exactly one reference to an absent optional. An argument that
/// is nothing else is dropped, so that the default of the input applies.
pub fn absent_reference<'a>(text: &'a str, scope: &dyn Scope) -> Option<&'a str> {
    let inner = text.trim().strip_prefix(OPEN)?.strip_suffix(CLOSE)?;
    let name = inner.trim();
    let is_one_name = !inner.starts_with('=') && !name.contains(OPEN) && !name.contains(CLOSE);
    (is_one_name && scope.get(name) == Lookup::Absent).then_some(name)
}

/// Evaluates the `valueFrom.expression` of an output, which carries no braces. An expression that
/// gives nothing is an error, since an output must have a value.
pub fn value_of_expression(
    expression: &str,
    scope: &dyn Scope,
    moment: &Moment,
) -> Result<String, ReplaceError> {
    let wrong = |error| ReplaceError::Expression {
        expression: expression.to_owned(),
        error,
    };
    let value = Expression::parse(expression)
        .map_err(wrong)?
        .evaluate(scope, moment)
        .map_err(wrong)?;
    inserted(expression, &value)
}

/// What an evaluated expression puts into a text.
fn inserted(expression: &str, value: &Value) -> Result<String, ReplaceError> {
    if *value == Value::Nil {
        return Err(ReplaceError::Nothing {
            expression: expression.to_owned(),
        });
    }
    value
        .to_inserted()
        .map_err(|error| ReplaceError::Expression {
            expression: expression.to_owned(),
            error: ExpressionError {
                message: error.to_string(),
                offset: 0,
            },
        })
}

/// A text cut at its tags.
enum Piece<'a> {
    Text(&'a str),
    /// What stands between the braces, and where the braces open. It may hold further opening
    /// braces: the tag ends at the first closing ones.
    Tag {
        inner: &'a str,
        start: usize,
    },
}

struct Pieces<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Pieces<'a> {
    fn of(text: &'a str) -> Self {
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

struct Replacer<'a> {
    scope: &'a dyn Scope,
    mode: Mode<'a>,
    moment: &'a Moment,
    unresolved: BTreeSet<String>,
}

impl Replacer<'_> {
    fn text(&mut self, text: &str) -> Result<String, ReplaceError> {
        let mut out = String::with_capacity(text.len());
        for piece in Pieces::of(text) {
            match piece? {
                Piece::Text(text) => out.push_str(text),
                Piece::Tag { inner, .. } => self.tag(inner, &mut out)?,
            }
        }
        Ok(out)
    }

    fn json(&mut self, value: &mut Json) -> Result<(), ReplaceError> {
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
        // A later pass knows no more of a sensitive value.
        if self.mode == Mode::Forbid || error.message == OPAQUE {
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
