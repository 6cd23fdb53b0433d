//! `when`: a condition in the small language of its own that Argo uses for it.
//!
//! Bare words are texts: `{{steps.flip.outputs.result}} == heads` compares two texts once the tag
//! is replaced. Numbers are floating-point, quoted texts that look like a date are times, and the
//! result must be a boolean.

mod evaluate;
mod lexer;
mod parser;
mod time;

use std::fmt;

use super::sealed::{OPAQUE, holds_sealed};

/// Why a condition has no answer. The texts are Argo's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhenError {
    /// It cannot be read.
    #[error("Invalid 'when' expression '{text}': {reason}{}", hint(reason))]
    Invalid {
        /// The condition after its tags were replaced.
        text: String,
        /// What is wrong.
        reason: String,
    },
    /// It can be read, but not evaluated.
    #[error("Failed to evaluate 'when' expresion '{text}': {reason}")]
    Failed {
        /// The condition after its tags were replaced.
        text: String,
        /// What went wrong.
        reason: String,
    },
    /// It gives something else than a boolean.
    #[error("Expected boolean evaluation for '{text}'. Got {got}")]
    NotBoolean {
        /// The condition after its tags were replaced.
        text: String,
        /// What it gives.
        got: String,
    },
}

fn hint(reason: &str) -> &'static str {
    if reason.contains("Invalid token") {
        " (hint: try wrapping the affected expression in quotes (\"))"
    } else {
        ""
    }
}

/// What a bare word means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BareWords {
    /// A text, as in the `when` of steps and tasks.
    Texts,
    /// A variable that does not exist, as in the `when` of a CronWorkflow.
    Unknown,
}

/// Evaluates a condition whose tags are replaced. Blank text holds.
pub fn evaluate(text: &str) -> Result<bool, WhenError> {
    evaluate_with(text, BareWords::Texts)
}

/// The same, where bare words may mean something else.
pub fn evaluate_with(text: &str, words: BareWords) -> Result<bool, WhenError> {
    if text.is_empty() {
        return Ok(true);
    }
    if holds_sealed(text) {
        return Err(WhenError::Failed {
            text: text.to_owned(),
            reason: OPAQUE.to_owned(),
        });
    }
    let tree = parse(text)?;
    let value = evaluate::value(&tree, words).map_err(|reason| WhenError::Failed {
        text: text.to_owned(),
        reason,
    })?;
    match value {
        Value::Bool(holds) => Ok(holds),
        other => Err(WhenError::NotBoolean {
            text: text.to_owned(),
            got: other.to_string(),
        }),
    }
}

/// Checks that a condition can be read; lint does this where it holds no tag.
pub fn check(text: &str) -> Result<(), WhenError> {
    if text.is_empty() {
        return Ok(());
    }
    parse(text).map(|_| ())
}

fn parse(text: &str) -> Result<Node, WhenError> {
    let invalid = |reason| WhenError::Invalid {
        text: text.to_owned(),
        reason,
    };
    let tokens = lexer::tokens(text).map_err(invalid)?;
    parser::parse(&tokens).map_err(invalid)
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Nil,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Value>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Nil => f.write_str("<nil>"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Number(value) => f.write_str(&super::expression::go_float(*value)),
            Value::Text(text) => f.write_str(text),
            Value::List(items) => {
                let items: Vec<_> = items.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", items.join(" "))
            }
        }
    }
}

/// The tree of a condition.
#[derive(Clone, Debug)]
enum Node {
    Literal(Value),
    Word(String),
    Prefix(&'static str, Box<Node>),
    Infix(&'static str, Box<Node>, Box<Node>),
    /// `condition ? yes : no`; without the second branch a false condition gives nil.
    Choose(Box<Node>, Box<Node>, Option<Box<Node>>),
    List(Vec<Node>),
}
