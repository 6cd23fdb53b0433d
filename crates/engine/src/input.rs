//! What happened: everything that can move a run.

use serde::{Deserialize, Serialize};

use crate::{
    id::{RunId, StepId},
    report::StepReport,
    sync::{Holder, LockAnswer},
    time::Timestamp,
};
use groundplan_workflow::resolve::ResolvedWorkflow;

/// One thing that happened to a run. Repeated and late ones change nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// A run is to begin. Always the first.
    Create(Box<NewRun>),
    /// A runner said something of a step.
    StepReported {
        /// Which execution.
        step: StepId,
        /// What it said.
        report: StepReport,
    },
    /// The lock space answered.
    LocksAnswered {
        /// Who had asked.
        holder: Holder,
        /// The answer.
        answer: LockAnswer,
    },
    /// A person wants the run to stop: running steps are asked to end, nothing new starts.
    Stop,
    /// Time passed: the timer that the last turn asked for is due.
    Tick,
}

/// Everything a run begins with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewRun {
    /// The run.
    pub id: RunId,
    /// Kubernetes-style unique id, `workflow.uid`.
    pub uid: String,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// Where random functions draw from.
    pub seed: u64,
    /// What it runs; `metadata.name` is the run's name.
    pub workflow: ResolvedWorkflow,
}
