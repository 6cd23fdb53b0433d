//! What happened to a run: the facts that are recorded. Their fold by
//! [`evolve`](crate::evolve::evolve) is the run.

use serde::{Deserialize, Serialize};

use crate::{
    id::NodeId,
    input::NewRun,
    node::{NamedValue, NodeKind, NodeOutputs, NodePhase, RunPhase, WaitingForLock},
    sync::LockKey,
    time::Timestamp,
};

/// A fact about a run. Values in it are evaluated. A name is never used again for another meaning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The run exists.
    RunCreated(Box<NewRun>),
    /// The run asked for the locks of its workflow.
    RunLocksRequested {
        /// Which.
        keys: Vec<LockKey>,
    },
    /// The lock space said what is in the way of the run, or that its place changed.
    RunLocksWaiting {
        /// What is in the way.
        waiting: WaitingForLock,
        /// Shown text.
        message: String,
    },
    /// The run holds the locks of its workflow.
    RunLocksGranted,
    /// The run lets the locks of its workflow go.
    RunLocksReleased,
    /// The run begins to run.
    RunStarted {
        /// When.
        at: Timestamp,
        /// When it must have ended.
        deadline: Option<Timestamp>,
    },
    /// A person wants the run to stop.
    StopRequested {
        /// When.
        at: Timestamp,
    },
    /// The run's deadline passed.
    DeadlinePassed {
        /// When that was seen.
        at: Timestamp,
    },
    /// A node exists.
    NodeCreated(Box<NodeCreated>),
    /// A node asked for the locks of its template.
    NodeLocksRequested {
        /// Who.
        node: NodeId,
        /// Which.
        keys: Vec<LockKey>,
    },
    /// The lock space said what is in the way of a node, or that its place changed.
    NodeLocksWaiting {
        /// Who.
        node: NodeId,
        /// What is in the way.
        waiting: WaitingForLock,
        /// Shown text.
        message: String,
    },
    /// A node holds the locks of its template.
    NodeLocksGranted {
        /// Who.
        node: NodeId,
    },
    /// A node lets the locks of its template go.
    NodeLocksReleased {
        /// Who.
        node: NodeId,
    },
    /// A node that waited for its locks begins to run what is below it.
    NodeStarted {
        /// Which.
        node: NodeId,
    },
    /// A leaf is to be started.
    ExecutionRequested {
        /// Which leaf.
        node: NodeId,
        /// Number of the execution within the run.
        execution: u32,
        /// When.
        at: Timestamp,
    },
    /// A leaf runs.
    ExecutionStarted {
        /// Which leaf.
        node: NodeId,
        /// Number of the execution within the run.
        execution: u32,
        /// When the tool began.
        at: Timestamp,
    },
    /// A leaf is asked to stop.
    ExecutionStopRequested {
        /// Which leaf.
        node: NodeId,
        /// Number of the execution within the run.
        execution: u32,
    },
    /// Nothing of an execution lives any more.
    ExecutionEnded {
        /// Which leaf.
        node: NodeId,
        /// Number of the execution within the run.
        execution: u32,
        /// When it ended.
        at: Timestamp,
    },
    /// A node is fulfilled.
    NodeFinished(Box<NodeFinished>),
    /// The run is over.
    RunFinished {
        /// How.
        phase: RunPhase,
        /// Why.
        message: String,
        /// When.
        at: Timestamp,
    },
}

/// A new node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeCreated {
    /// Its id.
    pub id: NodeId,
    /// Full name.
    pub name: String,
    /// Name within the template it belongs to.
    pub display_name: String,
    /// What it is.
    pub kind: NodeKind,
    /// Where it stands from the start.
    pub phase: NodePhase,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Name of the template it runs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub template_name: String,
    /// The step or task that called it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub call: String,
    /// The node whose template it belongs to.
    pub boundary: Option<NodeId>,
    /// The node that waits for it.
    pub parent: Option<NodeId>,
    /// Whose children list it enters.
    pub after: After,
    /// What it was given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<NamedValue>,
    /// The targets of a DAG where the document gives them by tags, tags replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// Which nodes a new node comes after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum After {
    /// None: it is the root.
    Nothing,
    /// This one.
    Node(NodeId),
    /// The last nodes of each of these.
    EndsOf(Vec<NodeId>),
}

/// The end of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeFinished {
    /// Which.
    pub node: NodeId,
    /// How it ended.
    pub phase: NodePhase,
    /// Why; `None` leaves the message as it was.
    pub message: Option<String>,
    /// What it gave.
    pub outputs: NodeOutputs,
    /// When.
    pub at: Timestamp,
}

impl Event {
    /// Stable name of the kind of event.
    pub fn kind(&self) -> &'static str {
        match self {
            Event::RunCreated(_) => "run_created",
            Event::RunLocksRequested { .. } => "run_locks_requested",
            Event::RunLocksWaiting { .. } => "run_locks_waiting",
            Event::RunLocksGranted => "run_locks_granted",
            Event::RunLocksReleased => "run_locks_released",
            Event::RunStarted { .. } => "run_started",
            Event::StopRequested { .. } => "stop_requested",
            Event::DeadlinePassed { .. } => "deadline_passed",
            Event::NodeCreated(_) => "node_created",
            Event::NodeLocksRequested { .. } => "node_locks_requested",
            Event::NodeLocksWaiting { .. } => "node_locks_waiting",
            Event::NodeLocksGranted { .. } => "node_locks_granted",
            Event::NodeLocksReleased { .. } => "node_locks_released",
            Event::NodeStarted { .. } => "node_started",
            Event::ExecutionRequested { .. } => "execution_requested",
            Event::ExecutionStarted { .. } => "execution_started",
            Event::ExecutionStopRequested { .. } => "execution_stop_requested",
            Event::ExecutionEnded { .. } => "execution_ended",
            Event::NodeFinished(_) => "node_finished",
            Event::RunFinished { .. } => "run_finished",
        }
    }

    /// Version of the format of this kind's body.
    pub fn version(&self) -> u16 {
        Self::NEWEST_VERSION
    }

    /// The newest version that this program can read.
    pub const NEWEST_VERSION: u16 = 1;

    /// The node that the event is about; `None` for those of the whole run.
    pub fn node(&self) -> Option<&NodeId> {
        match self {
            Event::RunCreated(_)
            | Event::RunLocksRequested { .. }
            | Event::RunLocksWaiting { .. }
            | Event::RunLocksGranted
            | Event::RunLocksReleased
            | Event::RunStarted { .. }
            | Event::StopRequested { .. }
            | Event::DeadlinePassed { .. }
            | Event::RunFinished { .. } => None,
            Event::NodeCreated(created) => Some(&created.id),
            Event::NodeFinished(finished) => Some(&finished.node),
            Event::NodeLocksRequested { node, .. }
            | Event::NodeLocksWaiting { node, .. }
            | Event::NodeLocksGranted { node }
            | Event::NodeLocksReleased { node }
            | Event::NodeStarted { node }
            | Event::ExecutionRequested { node, .. }
            | Event::ExecutionStarted { node, .. }
            | Event::ExecutionStopRequested { node, .. }
            | Event::ExecutionEnded { node, .. } => Some(node),
        }
    }
}
