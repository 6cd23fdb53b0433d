//! Names of runs, nodes and executions.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A run, for ever unique within a data directory: 26 lowercase characters that sort by time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub String);

/// A node within a run, as Argo computes it: the workflow's name for the root, else
/// `<workflow>-<fnv1a32(node name)>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub String);

/// One start of a leaf node: run, node, and the number of the start within the run (from 1).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StepId {
    /// The run.
    pub run: RunId,
    /// The leaf node.
    pub node: NodeId,
    /// Number of the execution within the run, from 1.
    pub execution: u32,
}

impl NodeId {
    /// The id of the node called `name` in the run called `run`.
    pub fn of(run: &str, name: &str) -> Self {
        if name == run {
            return NodeId(run.to_owned());
        }
        let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        NodeId(format!("{run}-{hash}"))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.run, self.node, self.execution)
    }
}
