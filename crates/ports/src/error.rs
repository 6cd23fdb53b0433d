//! How a port says that it could not do its work.

use std::{error::Error as StdError, fmt, time::Duration};

/// What a caller may do about an error. Retry rules look at this only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Passing; the same call may work later.
    Transient {
        /// When to try again, where the other side said so.
        retry_after: Option<Duration>,
    },
    /// Somebody else changed it first: load again.
    Conflict,
    /// It does not exist.
    NotFound,
    /// We may not.
    Denied,
    /// The call makes no sense; repeating it never helps.
    Invalid,
    /// Something is damaged or misconfigured; a person is needed.
    Broken,
}

/// An error of a port: its kind, what failed, the way out, and the cause.
#[derive(Debug)]
pub struct PortError {
    /// What a caller may do about it.
    pub kind: ErrorKind,
    /// What failed: a lowercase fragment naming the object in backticks.
    pub message: String,
    /// The way out, where there is one.
    pub hint: Option<String>,
    /// The cause.
    pub source: Option<Box<dyn StdError + Send + Sync>>,
}

/// What a port's method answers.
pub type PortResult<T> = Result<T, PortError>;

impl PortError {
    /// An error without cause or hint.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        PortError {
            kind,
            message: message.into(),
            hint: None,
            source: None,
        }
    }

    /// The same error with the way out.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same error with its cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for PortError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}
