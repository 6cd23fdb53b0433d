//! What a run asks of the lock space, and what the answers mean to it. A node's locks are let go
//! when it is fulfilled and nothing below it lives any more.

use std::collections::BTreeSet;

use crate::{
    decide::{RefusalReason, Turn},
    event::{Event, NodeFinished},
    id::NodeId,
    node::{Locks, NodeOutputs, NodePhase, RunPhase, WaitingForLock},
    scope,
    sync::{Holder, LockAnswer, LockKey, LockRequest},
};
use groundplan_workflow::document::Synchronization;

/// Names of the locks that a document asks for.
pub(crate) fn keys_of(synchronization: &Synchronization, namespace: &str) -> Vec<LockKey> {
    synchronization
        .mutexes
        .iter()
        .map(|mutex| {
            let namespace = if mutex.namespace.is_empty() {
                namespace
            } else {
                &mutex.namespace
            };
            LockKey::mutex(namespace, &mutex.name)
        })
        .collect()
}

/// Asks for the locks of the workflow, if it wants any.
pub(crate) fn ask_for_run(turn: &mut Turn<'_>) {
    let Some(synchronization) = turn.run.workflow().spec.synchronization.clone() else {
        return;
    };
    if synchronization.mutexes.is_empty() {
        return;
    }
    let synchronization = match scope::replace_globals(turn, &synchronization) {
        Ok(synchronization) => synchronization,
        Err(message) => {
            finish_run(turn, RunPhase::Error, message);
            return;
        }
    };
    let keys = keys_of(&synchronization, turn.run.namespace());
    turn.record(Event::RunLocksRequested { keys: keys.clone() });
    request(turn, None, keys);
}

/// Asks for the locks of a node that exists and is pending.
pub(crate) fn ask_for_node(turn: &mut Turn<'_>, node: &NodeId, keys: Vec<LockKey>) {
    turn.record(Event::NodeLocksRequested {
        node: node.clone(),
        keys: keys.clone(),
    });
    request(turn, Some(node.clone()), keys);
}

fn request(turn: &mut Turn<'_>, node: Option<NodeId>, keys: Vec<LockKey>) {
    let run = &turn.run;
    let mut holder_name = format!("{}/{}", run.namespace(), run.name());
    if let Some(node) = &node {
        holder_name = format!("{holder_name}/{node}");
    }
    let request = LockRequest::Acquire {
        holder: Holder {
            run: run.id().clone(),
            node,
        },
        holder_name,
        keys,
        priority: run.workflow().spec.priority.unwrap_or(0),
        created_at: run.expect_new().created_at,
    };
    turn.decision.locks.push(request);
}

/// Whether these locks can be waited for: no two are equal, and neither the run itself nor a node
/// above holds one, for then the waiting would never end.
pub(crate) fn check(
    turn: &Turn<'_>,
    above: Option<&NodeId>,
    keys: &[LockKey],
) -> Result<(), String> {
    let distinct: BTreeSet<&LockKey> = keys.iter().collect();
    if distinct.len() < keys.len() {
        return Err("duplicate synchronization item found".to_owned());
    }
    match held_above(turn, above, keys) {
        Some((key, holder)) => Err(format!(
            "lock `{}` is held by `{holder}`, which this node is part of: it would wait for ever",
            key.0
        )),
        None => Ok(()),
    }
}

fn held_above(
    turn: &Turn<'_>,
    above: Option<&NodeId>,
    keys: &[LockKey],
) -> Option<(LockKey, String)> {
    let wanted: BTreeSet<&LockKey> = keys.iter().collect();
    let find = |locks: &Locks| match locks {
        Locks::Held { keys } => keys.iter().find(|key| wanted.contains(key)).cloned(),
        Locks::NotNeeded | Locks::Asked { .. } | Locks::Released => None,
    };
    if let Some(key) = find(turn.run.locks()) {
        return Some((key, turn.run.name().to_owned()));
    }
    let mut above = above.cloned();
    while let Some(id) = above {
        let node = turn.run.node_ref(&id);
        if let Some(key) = find(&node.locks) {
            return Some((key, node.name.clone()));
        }
        above = node.parent.clone();
    }
    None
}

/// Takes an answer of the lock space in.
pub(crate) fn answered(turn: &mut Turn<'_>, holder: &Holder, answer: &LockAnswer) {
    const INPUT: &str = "locks_answered";
    if !turn.run.is_created() || *turn.run.id() != holder.run {
        turn.refuse_for_run(INPUT, RefusalReason::Unknown);
        return;
    }
    let locks = match &holder.node {
        None => turn.run.locks.clone(),
        Some(id) => match turn.run.node(id) {
            Some(node) => node.locks.clone(),
            None => {
                turn.refuse(INPUT, id, "-", RefusalReason::Unknown);
                return;
            }
        },
    };
    let refusal = match (&locks, answer) {
        (Locks::Asked { waiting, .. }, answer) => {
            return take_answer(turn, holder, waiting.as_ref(), answer);
        }
        (Locks::Held { .. }, LockAnswer::Granted)
        | (Locks::Held { .. }, LockAnswer::Waiting { .. })
        | (Locks::Released, _) => RefusalReason::Late,
        (Locks::Held { .. }, LockAnswer::Refused { .. }) | (Locks::NotNeeded, _) => {
            RefusalReason::Illegal
        }
    };
    match &holder.node {
        None => turn.refuse_for_run(INPUT, refusal),
        Some(id) => {
            let phase = turn.run.node_ref(id).phase;
            turn.refuse(INPUT, id, phase, refusal);
        }
    }
}

fn take_answer(
    turn: &mut Turn<'_>,
    holder: &Holder,
    before: Option<&WaitingForLock>,
    answer: &LockAnswer,
) {
    match answer {
        LockAnswer::Granted => {
            turn.record(match &holder.node {
                None => Event::RunLocksGranted,
                Some(node) => Event::NodeLocksGranted { node: node.clone() },
            });
            if let Some(node) = &holder.node {
                turn.touch(node);
            }
        }
        LockAnswer::Waiting {
            blocked_by,
            holder: other,
            place,
        } => {
            let waiting = WaitingForLock {
                blocked_by: blocked_by.clone(),
                holder: other.clone(),
                place: *place,
            };
            if before == Some(&waiting) {
                return;
            }
            let message = format!("Waiting for {} lock. Lock status: 0/1", blocked_by.0);
            turn.record(match holder.node.clone() {
                None => Event::RunLocksWaiting { waiting, message },
                Some(node) => Event::NodeLocksWaiting {
                    node,
                    waiting,
                    message,
                },
            });
        }
        LockAnswer::Refused { message } => match &holder.node {
            None => {
                turn.record(Event::RunLocksReleased);
                let message = format!("Failed to acquire the synchronization lock. {message}");
                finish_run(turn, RunPhase::Failed, message);
            }
            Some(node) => fail_waiting(turn, node, NodePhase::Error, message.clone()),
        },
    }
}

/// Ends a node that waits for its locks, and takes it out of the queues.
pub(crate) fn fail_waiting(turn: &mut Turn<'_>, node: &NodeId, phase: NodePhase, message: String) {
    let at = turn.now;
    turn.record(Event::NodeFinished(Box::new(NodeFinished {
        node: node.clone(),
        phase,
        message: Some(message),
        outputs: NodeOutputs::default(),
        at,
    })));
    turn.touch(node);
    release_what_is_idle(turn, node);
}

/// Lets the locks go of this node and of those above it which are fulfilled with nothing alive
/// below.
pub(crate) fn release_what_is_idle(turn: &mut Turn<'_>, from: &NodeId) {
    let mut above = Some(from.clone());
    while let Some(id) = above {
        let node = turn.run.node_ref(&id);
        above = node.parent.clone();
        let has_locks = match node.locks {
            Locks::Asked { .. } | Locks::Held { .. } => true,
            Locks::NotNeeded | Locks::Released => false,
        };
        if has_locks && node.phase.is_fulfilled() && node.live == 0 {
            turn.record(Event::NodeLocksReleased { node: id.clone() });
            release(turn, Some(id));
        }
    }
}

fn release(turn: &mut Turn<'_>, node: Option<NodeId>) {
    let run = turn.run.id().clone();
    turn.decision.locks.push(LockRequest::Release {
        holder: Holder { run, node },
    });
}

/// Ends the run, and lets the locks of its workflow go.
pub(crate) fn finish_run(turn: &mut Turn<'_>, phase: RunPhase, message: String) {
    let at = turn.now;
    match turn.run.locks {
        Locks::Asked { .. } | Locks::Held { .. } => {
            turn.record(Event::RunLocksReleased);
            release(turn, None);
        }
        Locks::NotNeeded | Locks::Released => {}
    }
    turn.record(Event::RunFinished { phase, message, at });
}
