//! What the controller could not do.

use groundplan_engine::id::RunId;
use groundplan_ports::error::{ErrorKind, PortError};

/// An error of the loop.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A port failed.
    #[error("{doing}")]
    Port {
        /// What was being done.
        doing: String,
        /// Why it failed.
        #[source]
        source: PortError,
    },
    /// Somebody else drives the run.
    #[error("run `{run}` is driven by process {pid} on `{host}`")]
    Driven {
        /// The run.
        run: RunId,
        /// Host of the driver.
        host: String,
        /// Process id of the driver.
        pid: u32,
    },
    /// The journal holds something that this version cannot read.
    #[error("cannot read {what} of `{aggregate}`")]
    Undecodable {
        /// What it is.
        what: String,
        /// Whose it is.
        aggregate: String,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The journal holds an event of a later version.
    #[error(
        "event `{kind}` of `{aggregate}` has version {version}, which this version of groundplan does not know"
    )]
    NewerEvent {
        /// Kind of event.
        kind: String,
        /// Whose it is.
        aggregate: String,
        /// Its version.
        version: u16,
    },
    /// A turn panicked: a bug.
    #[error("a turn of run `{run}` failed: {message}")]
    Panicked {
        /// The run.
        run: RunId,
        /// What the panic said.
        message: String,
    },
}

impl Error {
    /// Whether another process changed the aggregate first, so that loading again helps.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Error::Port { source, .. } if source.kind == ErrorKind::Conflict)
    }

    /// The way out, where there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Port { source, .. } => source.hint.clone(),
            Error::Driven { run, .. } => {
                Some(format!("watch it with `groundplan runs show {run}`"))
            }
            Error::NewerEvent { .. } => Some("use the newer version of groundplan".to_owned()),
            Error::Undecodable { .. } | Error::Panicked { .. } => None,
        }
    }
}

/// Names what was being done when a port failed.
pub(crate) trait While<T> {
    /// Wraps the port's error with what was being done: a lowercase fragment.
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T> While<T> for Result<T, PortError> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|source| Error::Port {
            doing: doing(),
            source,
        })
    }
}
