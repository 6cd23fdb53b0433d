//! One walk over what changed: from the root down to changed nodes, in the order in which a walk
//! over the whole tree would meet them.

use crate::{
    call, deadline,
    decide::Turn,
    event::{Event, NodeFinished},
    id::NodeId,
    locks,
    node::{Locks, Node, NodeKind, NodeOutputs, NodePhase, RunPhase, dag, fan_out, leaf, steps},
};

/// Draws the consequences of all inputs of the turn.
pub(crate) fn go(turn: &mut Turn<'_>) {
    if !turn.run.is_created() {
        return;
    }
    if turn.run.phase() == RunPhase::Pending {
        begin(turn);
    }
    if turn.run.phase() == RunPhase::Running {
        deadline::check(turn);
        if turn.root_touched
            && let Some(root) = turn.run.root()
        {
            let root = root.id.clone();
            visit(turn, &root);
            if let Some(fault) = turn.take_fault(&root) {
                turn.entry_fault = Some(fault);
            }
        }
        end(turn);
    }
}

fn begin(turn: &mut Turn<'_>) {
    if turn.run.stop_requested_at.is_some() {
        locks::finish_run(turn, RunPhase::Failed, STOPPED.to_owned());
        return;
    }
    match turn.run.locks {
        Locks::Asked { .. } | Locks::Released => {}
        Locks::NotNeeded | Locks::Held { .. } => {
            let at = turn.now;
            let deadline = deadline::of_run(turn.run, at);
            turn.record(Event::RunStarted { at, deadline });
            deadline::check(turn);
            if let Err(fault) = call::enter(turn) {
                turn.entry_fault = Some(fault.message);
            }
        }
    }
}

const STOPPED: &str = "Stopped with strategy 'Stop'";

/// Ends the run when its root is fulfilled and nothing of it lives.
fn end(turn: &mut Turn<'_>) {
    let Some(root) = turn.run.root() else {
        return;
    };
    if !root.phase.is_fulfilled() || !turn.run.live.is_empty() {
        return;
    }
    let (phase, message) = match root.phase {
        NodePhase::Failed => (RunPhase::Failed, root.message.clone()),
        NodePhase::Error => (RunPhase::Error, root.message.clone()),
        NodePhase::Succeeded
        | NodePhase::Skipped
        | NodePhase::Omitted
        | NodePhase::Pending
        | NodePhase::Running => (RunPhase::Succeeded, String::new()),
    };
    let failed = phase != RunPhase::Succeeded;
    let message = match turn.entry_fault.take() {
        Some(fault) => format!("error in entry template execution: {fault}"),
        None if failed && turn.run.stop_requested_at.is_some() => STOPPED.to_owned(),
        None => message,
    };
    locks::finish_run(turn, phase, message);
}

/// Looks at a node in which, or below which, something changed.
pub(crate) fn visit(turn: &mut Turn<'_>, id: &NodeId) {
    turn.decision.visits += 1;
    let node = turn.run.node_ref(id);
    if node.phase.is_fulfilled() {
        skip_below(turn, id);
        return;
    }
    if let Locks::Asked { .. } = node.locks {
        return;
    }
    match node.kind {
        NodeKind::Pod => leaf::visit(turn, id),
        NodeKind::Steps => steps::visit(turn, id),
        NodeKind::StepGroup => steps::visit_group(turn, id),
        NodeKind::Dag => dag::visit(turn, id),
        NodeKind::TaskGroup => fan_out::visit(turn, id),
        NodeKind::Skipped | NodeKind::Retry | NodeKind::Suspend => {}
    }
}

/// What changed below a fulfilled node has no consequences.
fn skip_below(turn: &mut Turn<'_>, id: &NodeId) {
    while let Some(child) = turn.next_touched(id) {
        visit(turn, &child);
    }
}

impl Turn<'_> {
    /// Ends a node, and lets its locks go if nothing below it lives.
    pub(crate) fn finish_node(
        &mut self,
        id: &NodeId,
        phase: NodePhase,
        message: Option<String>,
        outputs: NodeOutputs,
    ) {
        let at = self.now;
        self.record(Event::NodeFinished(Box::new(NodeFinished {
            node: id.clone(),
            phase,
            message,
            outputs,
            at,
        })));
        let has_locks = match self.run.node_ref(id).locks {
            Locks::Asked { .. } | Locks::Held { .. } => true,
            Locks::NotNeeded | Locks::Released => false,
        };
        if has_locks {
            locks::release_what_is_idle(self, id);
        }
    }

    /// Ends a node in error.
    pub(crate) fn fail_node(&mut self, id: &NodeId, message: String) {
        self.finish_node(id, NodePhase::Error, Some(message), NodeOutputs::default());
    }

    pub(crate) fn node(&self, id: &NodeId) -> &Node {
        self.run.node_ref(id)
    }
}
