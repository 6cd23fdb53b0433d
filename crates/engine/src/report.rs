//! What a runner says of a step: a closed set.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// News of one execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepReport {
    /// The tool runs.
    Started {
        /// When it began.
        at: Timestamp,
    },
    /// It is over.
    Ended(StepEnd),
}

/// How an execution ended, and what was taken from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepEnd {
    /// When it ended.
    pub at: Timestamp,
    /// How it ended.
    pub outcome: StepOutcome,
    /// Whether it had been asked to stop: then it is never `Succeeded`, whatever its exit code.
    pub asked_to_stop: bool,
    /// Exit code of the main container, where one is known.
    pub exit_code: Option<i32>,
    /// Last bytes of standard output with one trailing newline cut, where they were asked for.
    /// A sensitive value is a sealed token here, never the text.
    pub result: Option<String>,
    /// Output parameters by name; a file that was missing has no entry. Sensitive values are
    /// sealed tokens.
    pub parameters: BTreeMap<String, String>,
}

/// The ways an execution can end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// The main container's program ended by itself.
    Exited,
    /// A signal ended it.
    Signaled {
        /// Signal number.
        signal: i32,
    },
    /// Its deadline passed.
    TimedOut,
    /// It took more memory than allowed.
    OutOfMemory,
    /// Its image is unknown or cannot be had.
    ImageFailure {
        /// What is wrong, with the way out.
        message: String,
    },
    /// It could not be started.
    StartFailure {
        /// What is wrong, with the way out.
        message: String,
    },
    /// It ran, but its outputs could not be taken.
    OutputFailure {
        /// What is wrong, with the way out.
        message: String,
    },
    /// Nothing of it lives and no status was written.
    Lost,
}
