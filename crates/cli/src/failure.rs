//! Why a command could not do its work, as a person reads it.

use std::error::Error as StdError;

use crate::exit::Exit;

/// A failure: what failed, the causes line by line, and the way out.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    message: String,
    causes: Vec<String>,
    hint: Option<String>,
}

impl Failure {
    /// A fault of what the person gave.
    pub(crate) fn user(message: impl Into<String>) -> Self {
        Failure {
            exit: Exit::Failed,
            message: message.into(),
            causes: Vec::new(),
            hint: None,
        }
    }

    /// An error of ours or of the machine, with its chain of causes.
    pub(crate) fn of(error: &(dyn StdError + 'static)) -> Self {
        let mut causes = Vec::new();
        let mut next = error.source();
        while let Some(cause) = next {
            causes.push(cause.to_string());
            next = cause.source();
        }
        Failure {
            exit: Exit::Failed,
            message: error.to_string(),
            causes,
            hint: None,
        }
    }

    /// The same failure with the way out.
    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same failure with this way out, unless it has one.
    #[must_use]
    pub(crate) fn or_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// The same failure with one more line of the way out.
    #[must_use]
    pub(crate) fn and_hint(mut self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        self.hint = Some(match self.hint {
            Some(first) => format!("{first}\n{hint}"),
            None => hint,
        });
        self
    }

    /// The same failure with a cause.
    #[must_use]
    pub(crate) fn because(mut self, cause: impl ToString) -> Self {
        self.causes.push(cause.to_string());
        self
    }

    /// The same failure with another exit code.
    #[must_use]
    pub(crate) fn exiting(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// What failed.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Why, outermost first.
    pub(crate) fn causes(&self) -> &[String] {
        &self.causes
    }

    /// The way out.
    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl From<groundplan_controller::Error> for Failure {
    fn from(error: groundplan_controller::Error) -> Self {
        let failure = Failure::of(&error);
        let failure = match error.hint() {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        };
        match error {
            groundplan_controller::Error::Panicked { .. } => failure.exiting(Exit::Bug),
            groundplan_controller::Error::Port { .. }
            | groundplan_controller::Error::Driven { .. }
            | groundplan_controller::Error::Undecodable { .. }
            | groundplan_controller::Error::NewerEvent { .. } => failure,
        }
    }
}

impl From<groundplan_ports::error::PortError> for Failure {
    fn from(error: groundplan_ports::error::PortError) -> Self {
        let failure = Failure::of(&error);
        match error.hint {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }
}
