//! Locks between runs: an aggregate of its own, pure. A holder is a run or a node, never a process;
//! no lock is freed by time.
//!
//! Whoever needs locks asks for the whole set: all are granted or none. Queues are ordered by
//! priority (higher first), then creation time, then run id, then arrival. A claim that cannot have
//! its whole set yet is passed over, so that it never keeps a free lock from those behind it.

mod space;

use serde::{Deserialize, Serialize};

use crate::{
    id::{NodeId, RunId},
    time::Timestamp,
};
pub use space::{Claim, LockDecision, LockEvent, LockSpace, decide, evolve};

/// Name of a lock: `<namespace>/Mutex/<name>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LockKey(pub String);

impl LockKey {
    /// The key of a mutex.
    pub fn mutex(namespace: &str, name: &str) -> Self {
        LockKey(format!("{namespace}/Mutex/{name}"))
    }
}

/// Who holds or wants locks: a run, or one node of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Holder {
    /// The run.
    pub run: RunId,
    /// The node, for locks of a template; `None` for locks of the workflow.
    pub node: Option<NodeId>,
}

/// What a run wants of the lock space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockRequest {
    /// All of these locks at once. Asking again changes nothing.
    Acquire {
        /// Who wants them.
        holder: Holder,
        /// Name shown to those who wait behind, such as `default/tf-pr-x7k2p`.
        holder_name: String,
        /// Which locks.
        keys: Vec<LockKey>,
        /// Higher goes first.
        priority: i32,
        /// Earlier goes first among equals; then by run id.
        created_at: Timestamp,
    },
    /// Everything the holder has or waits for.
    Release {
        /// Who lets go.
        holder: Holder,
    },
}

/// What the lock space says to one who asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockAnswer {
    /// All are held.
    Granted,
    /// None is held yet.
    Waiting {
        /// The first lock in the way.
        blocked_by: LockKey,
        /// Who holds it, by shown name.
        holder: String,
        /// Place in the queue, from 1.
        place: u32,
    },
    /// The request can never be met (the same lock twice).
    Refused {
        /// Why.
        message: String,
    },
}
