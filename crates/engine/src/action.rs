//! What must be done: performed only after the events of the same turn are committed.

use serde::{Deserialize, Serialize};

use crate::{id::StepId, time::Timestamp};
use groundplan_workflow::document::{Template, Volume};

/// One thing to do for a run. Performing it twice has the effect of once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Start a leaf. Starting the same [`StepId`] again attaches to it.
    StartStep(Box<StepRequest>),
    /// Ask a leaf to stop, gracefully.
    StopStep {
        /// Which.
        step: StepId,
        /// Why.
        reason: StopReason,
    },
}

/// A leaf that is ready: its template with every tag replaced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepRequest {
    /// Which execution.
    pub step: StepId,
    /// Full node name such as `tf-pr-x7k2p.tflint(0:terraform)`.
    pub node_name: String,
    /// The `container` or `script` template, tags replaced; `outputs` says what to take.
    pub template: Template,
    /// The volumes of the workflow that the template mounts, tags replaced; those of the template
    /// are in it.
    pub volumes: Vec<Volume>,
    /// Whether standard output is wanted as `outputs.result`.
    pub capture_result: bool,
    /// When it must have ended, if ever: the deadline of the whole run.
    pub deadline: Option<Timestamp>,
    /// Seconds it may take from its own start (`activeDeadlineSeconds` of the template); time spent
    /// waiting for a slot does not count. The earlier of this and `deadline` ends it.
    pub timeout_seconds: Option<i64>,
}

/// Why a leaf is asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// A person asked (Ctrl-C, `runs stop`).
    Requested,
    /// The run's deadline passed.
    Deadline,
}
