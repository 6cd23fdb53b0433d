//! Why something does not move: values for those who show it.

use crate::{
    id::NodeId,
    node::{Locks, Node, NodeKind},
    run::Run,
    sync::LockKey,
    time::Timestamp,
};

/// What a node or a run waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Locks, and the lock space has not answered yet.
    LockSpace {
        /// Which locks.
        keys: Vec<LockKey>,
    },
    /// A lock that another holds.
    Lock {
        /// The first lock in the way.
        key: LockKey,
        /// Who holds it, by shown name.
        holder: String,
        /// Place in the queue, from 1.
        place: u32,
    },
    /// A runner: the step was asked for and has not begun.
    Runner {
        /// Number of the execution.
        execution: u32,
        /// Since when.
        since: Timestamp,
    },
    /// The tool, which runs.
    Tool {
        /// Number of the execution.
        execution: u32,
        /// Since when.
        since: Timestamp,
    },
    /// The tool, which was asked to stop.
    Stopping {
        /// Number of the execution.
        execution: u32,
    },
    /// Nodes below it.
    Nodes {
        /// So many.
        count: u32,
    },
    /// Tasks that come before it.
    Tasks {
        /// Their names, in the order of the alphabet.
        names: Vec<String>,
    },
}

/// What the run as a whole waits for before it begins; `None` where it has begun or is over.
pub fn run(run: &Run) -> Option<Obstacle> {
    locks(run.locks())
}

/// What a node waits for; `None` where it is fulfilled or unknown.
pub fn node(run: &Run, id: &NodeId) -> Option<Obstacle> {
    let node = run.node(id)?;
    if node.phase.is_fulfilled() {
        return None;
    }
    locks(&node.locks).or_else(|| execution(node)).or_else(|| {
        (node.outstanding > 0).then_some(Obstacle::Nodes {
            count: node.outstanding,
        })
    })
}

/// The tasks of a DAG node that have no node yet, each with the tasks it waits for.
pub fn tasks_to_come(run: &Run, dag: &NodeId) -> Vec<(String, Obstacle)> {
    let Some(node) = run.node(dag) else {
        return Vec::new();
    };
    if node.kind != NodeKind::Dag || node.phase.is_fulfilled() {
        return Vec::new();
    }
    let shape = run.shape_of(&node.template_name);
    let state = |task: &str| run.node_named(&format!("{}.{task}", node.name));
    shape
        .calls()
        .filter(|task| state(task).is_none())
        .filter_map(|task| {
            let place = shape.task(task)?;
            shape.rank(place)?;
            let before = shape.dependencies(place).iter();
            let names: Vec<String> = before
                .filter_map(|place| shape.name_of(*place))
                .filter(|name| !state(name).is_some_and(|node| node.phase.is_fulfilled()))
                .map(str::to_owned)
                .collect();
            (!names.is_empty()).then(|| (task.to_owned(), Obstacle::Tasks { names }))
        })
        .collect()
}

fn locks(locks: &Locks) -> Option<Obstacle> {
    match locks {
        Locks::NotNeeded | Locks::Held { .. } | Locks::Released => None,
        Locks::Asked {
            keys,
            waiting: None,
        } => Some(Obstacle::LockSpace { keys: keys.clone() }),
        Locks::Asked {
            waiting: Some(waiting),
            ..
        } => Some(Obstacle::Lock {
            key: waiting.blocked_by.clone(),
            holder: waiting.holder.clone(),
            place: waiting.place,
        }),
    }
}

fn execution(node: &Node) -> Option<Obstacle> {
    let live = node.live_execution()?;
    let execution = live.number;
    Some(match live.started_at {
        _ if live.stop_requested => Obstacle::Stopping { execution },
        Some(since) => Obstacle::Tool { execution, since },
        None => Obstacle::Runner {
            execution,
            since: live.requested_at,
        },
    })
}
