//! Deadlines and stopping: running leaves are asked to end, what waits for a lock ends at once, and
//! nothing new starts.

use crate::{
    action::{Action, StopReason},
    decide::Turn,
    event::Event,
    id::{NodeId, StepId},
    locks,
    node::NodePhase,
    run::Run,
    time::Timestamp,
};

/// When a run that starts now must have ended: whole seconds, as Argo counts.
pub(crate) fn of_run(run: &Run, started_at: Timestamp) -> Option<Timestamp> {
    let seconds = run.workflow().spec.active_deadline_seconds?;
    let start = Timestamp(started_at.seconds() * 1000);
    Some(start.plus_millis(seconds.saturating_mul(1000)))
}

/// Sees whether the run's deadline passed.
pub(crate) fn check(turn: &mut Turn<'_>) {
    let passed = turn
        .run
        .wake_at()
        .is_some_and(|deadline| deadline <= turn.now);
    if passed {
        let at = turn.now;
        turn.record(Event::DeadlinePassed { at });
        stop_everything(turn);
    }
}

/// Why nothing new may start, with the message of a leaf that would have.
pub(crate) fn nothing_starts(run: &Run) -> Option<&'static str> {
    if run.stop_requested_at.is_some() {
        Some("workflow shutdown with strategy: Stop")
    } else if run.deadline_passed_at.is_some() {
        Some("Step exceeded its deadline")
    } else {
        None
    }
}

/// Asks every running leaf to end, and ends every node that waits for a lock.
pub(crate) fn stop_everything(turn: &mut Turn<'_>) {
    let reason = if turn.run.stop_requested_at.is_some() {
        StopReason::Requested
    } else {
        StopReason::Deadline
    };
    let live: Vec<NodeId> = in_order(turn, |run| run.live.iter().cloned().collect());
    for node in live {
        ask_to_stop(turn, &node, reason);
    }
    let message = nothing_starts(turn.run).unwrap_or_default();
    let waiting: Vec<NodeId> = in_order(turn, |run| run.waiting.iter().cloned().collect());
    for node in waiting {
        locks::fail_waiting(turn, &node, NodePhase::Failed, message.to_owned());
    }
}

fn in_order(turn: &Turn<'_>, nodes: impl Fn(&Run) -> Vec<NodeId>) -> Vec<NodeId> {
    let mut nodes = nodes(turn.run);
    nodes.sort_by_key(|id| turn.run.node_ref(id).sequence);
    nodes
}

fn ask_to_stop(turn: &mut Turn<'_>, id: &NodeId, reason: StopReason) {
    let node = turn.run.node_ref(id);
    let Some(execution) = node.live_execution() else {
        return;
    };
    if execution.stop_requested {
        return;
    }
    let execution = execution.number;
    turn.record(Event::ExecutionStopRequested {
        node: id.clone(),
        execution,
    });
    let run = turn.run.id().clone();
    turn.act(Action::StopStep {
        step: StepId {
            run,
            node: id.clone(),
            execution,
        },
        reason,
    });
}
