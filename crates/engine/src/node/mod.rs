//! One vertex of a run, and (one file per concern) how each kind of node moves on.

pub(crate) mod dag;
pub(crate) mod fail_fast;
pub(crate) mod fan_out;
pub(crate) mod leaf;
pub mod phase;
pub(crate) mod steps;

use serde::{Deserialize, Serialize};

use crate::{id::NodeId, sync::LockKey, time::Timestamp};
pub use phase::{NodePhase, RunPhase};

/// What a node is, in Argo's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum NodeKind {
    /// A leaf: a `container` or `script` template.
    Pod,
    /// A `steps` template.
    Steps,
    /// One group of a `steps` template.
    StepGroup,
    /// A `dag` template.
    #[serde(rename = "DAG")]
    Dag,
    /// A task of a DAG that was fanned out.
    TaskGroup,
    /// A node that never ran: skipped, omitted, or in error before it could start.
    Skipped,
    /// A template with a retry strategy; its attempts are below it.
    Retry,
    /// A template that waits for a person or a time.
    Suspend,
}

impl NodeKind {
    /// The word in documents and on screens.
    pub fn as_str(self) -> &'static str {
        match self {
            NodeKind::Pod => "Pod",
            NodeKind::Steps => "Steps",
            NodeKind::StepGroup => "StepGroup",
            NodeKind::Dag => "DAG",
            NodeKind::TaskGroup => "TaskGroup",
            NodeKind::Skipped => "Skipped",
            NodeKind::Retry => "Retry",
            NodeKind::Suspend => "Suspend",
        }
    }
}

/// A parameter with its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedValue {
    /// Name, unique within its list.
    pub name: String,
    /// Value; a sensitive one is a sealed token.
    pub value: String,
}

/// What a node gave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeOutputs {
    /// Standard output, where somebody refers to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Exit code of the main container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Parameters in the order of the template.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<NamedValue>,
}

impl NodeOutputs {
    /// The value of a parameter.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters
            .iter()
            .find(|parameter| parameter.name == name)
            .map(|parameter| parameter.value.as_str())
    }
}

/// One start of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// Number of the execution within the run, from 1.
    pub number: u32,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// When the tool began, once a runner said so.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Whether it was asked to stop.
    pub stop_requested: bool,
}

/// What stands between a node (or a run) and its locks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Locks {
    /// It needs none.
    #[default]
    NotNeeded,
    /// It asked.
    Asked {
        /// For which.
        keys: Vec<LockKey>,
        /// What is in the way, once the lock space said so.
        waiting: Option<WaitingForLock>,
    },
    /// It holds all of them.
    Held {
        /// Which.
        keys: Vec<LockKey>,
    },
    /// It let them go.
    Released,
}

impl Locks {
    pub(crate) fn ask(&mut self, keys: &[LockKey]) {
        *self = Locks::Asked {
            keys: keys.to_vec(),
            waiting: None,
        };
    }

    pub(crate) fn wait(&mut self, lock: &WaitingForLock) {
        if let Locks::Asked { waiting, .. } = self {
            *waiting = Some(lock.clone());
        }
    }

    pub(crate) fn grant(&mut self) {
        if let Locks::Asked { keys, .. } = self {
            *self = Locks::Held {
                keys: std::mem::take(keys),
            };
        }
    }

    /// The lock in the way, where one is.
    pub fn waiting(&self) -> Option<&WaitingForLock> {
        match self {
            Locks::Asked { waiting, .. } => waiting.as_ref(),
            Locks::NotNeeded | Locks::Held { .. } | Locks::Released => None,
        }
    }
}

/// The lock in the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingForLock {
    /// Which.
    pub blocked_by: LockKey,
    /// Who holds it, by shown name.
    pub holder: String,
    /// Place in the queue, from 1.
    pub place: u32,
}

/// A vertex of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Its id.
    pub id: NodeId,
    /// Full name such as `tf-pr-x7k2p.tflint(0:terraform)`.
    pub name: String,
    /// Name within the template it belongs to, such as `tflint(0:terraform)`.
    pub display_name: String,
    /// What it is.
    pub kind: NodeKind,
    /// Where it stands.
    pub phase: NodePhase,
    /// Why it stands there; empty where there is nothing to say.
    pub message: String,
    /// Name of the template it runs; empty for step groups.
    pub template_name: String,
    /// The step or task of the document that called it, without the item of a fan-out; empty for
    /// the root and for step groups.
    pub call: String,
    /// The `Steps` or `DAG` node whose template it belongs to; `None` for the root.
    pub boundary: Option<NodeId>,
    /// The node that waits for it to be fulfilled; `None` for the root.
    pub parent: Option<NodeId>,
    /// Number of its creation within the run, from 0.
    pub sequence: u32,
    /// Nodes that come after it, in the order in which they were linked.
    pub children: Vec<NodeId>,
    /// What it was given.
    pub inputs: Vec<NamedValue>,
    /// What it gave.
    pub outputs: NodeOutputs,
    /// When it was created.
    pub started_at: Timestamp,
    /// When it was fulfilled.
    pub finished_at: Option<Timestamp>,
    /// Its starts, for leaves, oldest first.
    pub executions: Vec<Execution>,
    /// Its locks.
    pub locks: Locks,
    /// The targets of a DAG where the document gives them by tags, tags replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Index: how many nodes with this one as `parent` are not fulfilled.
    pub outstanding: u32,
    /// Index, for `Steps`: the group that was created last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_group: Option<NodeId>,
    /// Index: executions at or below this node that have not ended.
    pub live: u32,
    /// Index, for `Steps` and `DAG`: executions of leaves of this very template that have not ended.
    pub live_here: u32,
    /// Index, for `Steps` and `DAG`: nodes of this very template that went wrong, step groups and
    /// task groups aside.
    pub failed_here: u32,
    /// Index, for DAGs: how many dependencies of each task are not fulfilled, by place of the task
    /// in the template.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmet: Vec<u32>,
}

impl Node {
    /// The execution that runs, or is asked for and not yet ended.
    pub fn live_execution(&self) -> Option<&Execution> {
        self.executions
            .last()
            .filter(|execution| execution.ended_at.is_none())
    }

    /// The value of an input.
    pub fn input(&self, name: &str) -> Option<&str> {
        self.inputs
            .iter()
            .find(|input| input.name == name)
            .map(|input| input.value.as_str())
    }
}
