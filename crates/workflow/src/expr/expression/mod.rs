//! Expressions: the expr-lang of `{{=…}}` tags, `valueFrom.expression` and conditions.
//!
//! The language is Argo's: expr-lang with the functions `asInt`, `asFloat`, `jsonpath`, `toJson`
//! and the `sprig` family. Nothing is read from outside: "now" and the seed of random functions
//! are given as a [`Moment`].

mod builtins;
mod closures;
mod environment;
mod evaluate;
mod jsonpath;
mod lexer;
mod names;
mod operators;
mod parser;
mod random;
mod sprig;
mod syntax;
mod time;
mod value;

use std::collections::BTreeSet;

pub use environment::{expand, has_name};
pub use time::Time;
pub(super) use time::parse as parse_time;
pub(super) use value::go_float;
pub use value::{NotJson, Value};

use super::scope::{Lookup, Scope};
use super::sealed::{OPAQUE, holds_sealed};
use syntax::Node;

/// What an expression may know of the world: the time and the seed of its random functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Seed of random functions; the same seed and expression give the same values.
    pub seed: u64,
    /// What `now()` answers.
    pub now: jiff::Timestamp,
}

/// What is wrong with an expression, or went wrong in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExpressionError {
    /// A lowercase fragment.
    pub message: String,
    /// Byte offset in the expression.
    pub offset: usize,
}

impl ExpressionError {
    fn new(offset: usize, message: impl Into<String>) -> Self {
        ExpressionError {
            message: message.into(),
            offset,
        }
    }
}

/// A parsed expression.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    root: Node,
}

impl Expression {
    /// Parses an expression.
    pub fn parse(text: &str) -> Result<Expression, ExpressionError> {
        Ok(Expression {
            text: text.to_owned(),
            root: parser::parse(text)?,
        })
    }

    /// The text it was parsed from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Names that the expression cannot do without: every variable and member path, except what
    /// `??` or `?.` guards beyond its first name.
    pub fn required_names(&self) -> BTreeSet<String> {
        names::required(&self.root)
    }

    /// Every variable and member path that the expression mentions, guarded or not.
    pub fn used_names(&self) -> BTreeSet<String> {
        names::used(&self.root)
    }

    /// Those of [`Self::required_names`] that the scope lacks.
    pub fn missing_names(&self, scope: &dyn Scope) -> BTreeSet<String> {
        let mut names = self.required_names();
        names.retain(|name| !has_name(scope, name));
        names
    }

    /// Whether it uses a variable that only becomes known later (`retries`, `lastRetry`, `item`,
    /// `workflow.status`, `workflow.failures`) and that the scope lacks.
    pub fn is_late_bound(&self, scope: &dyn Scope) -> bool {
        names::used(&self.root).iter().any(|name| {
            let late = match name.as_str() {
                "retries" | "item" | "lastRetry" => true,
                path => {
                    names::is_or_below(path, "workflow.status")
                        || names::is_or_below(path, "workflow.failures")
                }
            };
            late && !has_name(scope, name)
        })
    }

    /// The first variables (without their members) that the scope does not know at all.
    fn unknown_roots(&self, scope: &dyn Scope) -> BTreeSet<String> {
        let mut names = self.used_names();
        names.retain(|name| !name.contains('.') && !has_name(scope, name));
        names
    }

    /// Evaluates over the scope: dotted names become nested maps. A sensitive value that it names
    /// must be whole in what it gives: of a token no comparison and no part means anything.
    pub fn evaluate(&self, scope: &dyn Scope, moment: &Moment) -> Result<Value, ExpressionError> {
        if let Some(name) = self.unknown_roots(scope).first() {
            let offset = names::offset_of(&self.root, name).unwrap_or(0);
            return Err(ExpressionError::new(offset, format!("unknown name {name}")));
        }
        let roots: BTreeSet<String> = self
            .used_names()
            .into_iter()
            .filter(|name| !name.contains('.'))
            .collect();
        let variables = environment::variables(scope, &roots);
        let value = evaluate::evaluate(&self.root, &variables, &self.text, moment)?;
        if self.loses_sealed(scope, &value) {
            return Err(ExpressionError::new(0, OPAQUE));
        }
        Ok(value)
    }

    /// Whether it names sensitive values, and none of them is whole in its value.
    fn loses_sealed(&self, scope: &dyn Scope, value: &Value) -> bool {
        let names = self.used_names();
        let mut sealed = names
            .iter()
            .filter_map(|name| match scope.get(name) {
                Lookup::Text(text) if holds_sealed(text) => Some(text),
                _ => None,
            })
            .peekable();
        sealed.peek().is_some() && {
            let given = value.to_inserted().unwrap_or_default();
            !sealed.any(|token| given.contains(token))
        }
    }
}

/// Evaluates a condition, such as a hook's or a retry strategy's, which must come to a boolean.
pub fn evaluate_bool(
    text: &str,
    scope: &dyn Scope,
    moment: &Moment,
) -> Result<bool, ExpressionError> {
    match Expression::parse(text)?.evaluate(scope, moment)? {
        Value::Bool(holds) => Ok(holds),
        other => Err(ExpressionError::new(
            0,
            format!(
                "expected a boolean, but the expression gives {}",
                other.kind()
            ),
        )),
    }
}
