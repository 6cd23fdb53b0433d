//! Why a command of xtask could not do its work.

use std::fmt;

/// What a command answers.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// A failure with, where there is one, the way out.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    hint: Option<String>,
    exit_code: u8,
}

impl Failure {
    /// Something did not work.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Failure {
            message: message.into(),
            hint: None,
            exit_code: 1,
        }
    }

    /// The words make no command.
    pub(crate) fn usage(usage: &str) -> Self {
        Failure {
            message: usage.to_owned(),
            hint: None,
            exit_code: 64,
        }
    }

    /// Adds the way out.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Exit code of the process that failed so.
    pub(crate) fn exit_code(&self) -> u8 {
        self.exit_code
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.message)?;
        match &self.hint {
            Some(hint) => write!(out, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}
