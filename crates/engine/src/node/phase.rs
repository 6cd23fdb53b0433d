//! Phases of nodes and of whole runs, in Argo's words.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum NodePhase {
    /// It exists and waits: for its runner, or for a lock.
    Pending,
    /// It, or something below it, runs.
    Running,
    /// It went well.
    Succeeded,
    /// What it ran went wrong.
    Failed,
    /// It could not be run, or what it made could not be taken.
    Error,
    /// Its `when` was false, or its list of items was empty.
    Skipped,
    /// Its `depends` was false.
    Omitted,
}

impl NodePhase {
    /// Whether nothing more will happen to the node.
    pub fn is_fulfilled(self) -> bool {
        match self {
            NodePhase::Pending | NodePhase::Running => false,
            NodePhase::Succeeded
            | NodePhase::Failed
            | NodePhase::Error
            | NodePhase::Skipped
            | NodePhase::Omitted => true,
        }
    }

    /// Whether the node ran to an end of its own, good or bad.
    pub fn is_completed(self) -> bool {
        match self {
            NodePhase::Succeeded | NodePhase::Failed | NodePhase::Error => true,
            NodePhase::Pending | NodePhase::Running | NodePhase::Skipped | NodePhase::Omitted => {
                false
            }
        }
    }

    /// Whether it went wrong.
    pub fn is_failure(self) -> bool {
        match self {
            NodePhase::Failed | NodePhase::Error => true,
            NodePhase::Pending
            | NodePhase::Running
            | NodePhase::Succeeded
            | NodePhase::Skipped
            | NodePhase::Omitted => false,
        }
    }

    /// The word in documents and on screens.
    pub fn as_str(self) -> &'static str {
        match self {
            NodePhase::Pending => "Pending",
            NodePhase::Running => "Running",
            NodePhase::Succeeded => "Succeeded",
            NodePhase::Failed => "Failed",
            NodePhase::Error => "Error",
            NodePhase::Skipped => "Skipped",
            NodePhase::Omitted => "Omitted",
        }
    }
}

impl fmt::Display for NodePhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RunPhase {
    /// It waits: not begun, or without the locks it needs.
    #[default]
    Pending,
    /// It runs.
    Running,
    /// It went well.
    Succeeded,
    /// A node went wrong, or a person or the deadline stopped it.
    Failed,
    /// It could not be run.
    Error,
}

impl RunPhase {
    /// Whether nothing more will happen to the run.
    pub fn is_finished(self) -> bool {
        match self {
            RunPhase::Pending | RunPhase::Running => false,
            RunPhase::Succeeded | RunPhase::Failed | RunPhase::Error => true,
        }
    }

    /// The word in documents and on screens.
    pub fn as_str(self) -> &'static str {
        match self {
            RunPhase::Pending => "Pending",
            RunPhase::Running => "Running",
            RunPhase::Succeeded => "Succeeded",
            RunPhase::Failed => "Failed",
            RunPhase::Error => "Error",
        }
    }
}

impl fmt::Display for RunPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completed_phases_are_fulfilled_and_failures_are_completed() {
        use NodePhase::{Error, Failed, Omitted, Pending, Running, Skipped, Succeeded};
        for phase in [Pending, Running, Succeeded, Failed, Error, Skipped, Omitted] {
            assert!(!phase.is_completed() || phase.is_fulfilled());
            assert!(!phase.is_failure() || phase.is_completed());
        }
        assert!(Skipped.is_fulfilled() && !Skipped.is_completed());
        assert!(Omitted.is_fulfilled() && !Omitted.is_completed());
    }
}
