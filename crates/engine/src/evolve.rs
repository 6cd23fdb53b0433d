//! Folding events into a run. Nothing is decided and no expression is evaluated here.

use std::collections::BTreeSet;

use crate::{
    event::{After, Event, NodeCreated, NodeFinished},
    id::NodeId,
    node::{Execution, Locks, Node, NodeKind, NodeOutputs, NodePhase, RunPhase},
    run::Run,
    time::Timestamp,
};

/// Takes an event into the run. The same events in the same order make the same run.
pub fn evolve(run: &mut Run, event: &Event) {
    match event {
        Event::RunCreated(new) => run.begin((**new).clone()),
        Event::RunLocksRequested { keys } => run.locks.ask(keys),
        Event::RunLocksWaiting { waiting, message } => {
            run.locks.wait(waiting);
            run.message.clone_from(message);
        }
        Event::RunLocksGranted => {
            run.locks.grant();
            run.message.clear();
        }
        Event::RunLocksReleased => run.locks = Locks::Released,
        Event::RunStarted { at, deadline } => {
            run.phase = RunPhase::Running;
            run.started_at = Some(*at);
            run.deadline = *deadline;
        }
        Event::StopRequested { at } => run.stop_requested_at = Some(*at),
        Event::DeadlinePassed { at } => run.deadline_passed_at = Some(*at),
        Event::NodeCreated(created) => create(run, created),
        Event::NodeLocksRequested { node, keys } => {
            run.waiting.insert(node.clone());
            run.node_mut(node).locks.ask(keys);
        }
        Event::NodeLocksWaiting {
            node,
            waiting,
            message,
        } => {
            let node = run.node_mut(node);
            node.locks.wait(waiting);
            node.message.clone_from(message);
        }
        Event::NodeLocksGranted { node } => {
            run.waiting.remove(node);
            let node = run.node_mut(node);
            node.locks.grant();
            node.message.clear();
        }
        Event::NodeLocksReleased { node } => {
            run.waiting.remove(node);
            run.node_mut(node).locks = Locks::Released;
        }
        Event::NodeStarted { node } => run.node_mut(node).phase = NodePhase::Running,
        Event::ExecutionRequested {
            node,
            execution,
            at,
        } => request_execution(run, node, *execution, *at),
        Event::ExecutionStarted { node, at, .. } => {
            let node = run.node_mut(node);
            if node.phase == NodePhase::Pending {
                node.phase = NodePhase::Running;
            }
            last_execution(node).started_at = Some(*at);
        }
        Event::ExecutionStopRequested { node, .. } => {
            last_execution(run.node_mut(node)).stop_requested = true;
        }
        Event::ExecutionEnded { node, at, .. } => {
            run.live.remove(node);
            last_execution(run.node_mut(node)).ended_at = Some(*at);
            count_live(run, node, |live| live.saturating_sub(1));
        }
        Event::NodeFinished(finished) => finish(run, finished),
        Event::RunFinished { phase, message, at } => {
            run.phase = *phase;
            run.message.clone_from(message);
            run.finished_at = Some(*at);
        }
    }
}

/// The fold of a whole journal.
pub fn replay<'a>(events: impl IntoIterator<Item = &'a Event>) -> Run {
    let mut run = Run::default();
    for event in events {
        evolve(&mut run, event);
    }
    run
}

fn create(run: &mut Run, created: &NodeCreated) {
    let unmet = if created.kind == NodeKind::Dag {
        run.shape(&created.template_name).dependency_counts()
    } else {
        Vec::new()
    };
    let fulfilled = created.phase.is_fulfilled();
    let node = Node {
        id: created.id.clone(),
        name: created.name.clone(),
        display_name: created.display_name.clone(),
        kind: created.kind,
        phase: created.phase,
        message: created.message.clone(),
        template_name: created.template_name.clone(),
        call: created.call.clone(),
        boundary: created.boundary.clone(),
        parent: created.parent.clone(),
        sequence: u32::try_from(run.order.len()).expect("a run has fewer than 2^32 nodes"),
        children: Vec::new(),
        inputs: created.inputs.clone(),
        target: created.target.clone(),
        outputs: NodeOutputs::default(),
        started_at: created.at,
        finished_at: fulfilled.then_some(created.at),
        executions: Vec::new(),
        locks: Locks::NotNeeded,
        outstanding: 0,
        last_group: None,
        live: 0,
        live_here: 0,
        failed_here: 0,
        unmet,
    };
    run.order.push(created.id.clone());
    run.nodes.insert(created.id.clone(), node);
    for predecessor in predecessors(run, &created.after) {
        run.node_mut(&predecessor).children.push(created.id.clone());
    }
    if created.kind == NodeKind::StepGroup
        && let Some(steps) = &created.parent
    {
        run.node_mut(steps).last_group = Some(created.id.clone());
    }
    if fulfilled {
        tell_dependents(run, &created.id);
    } else if let Some(parent) = &created.parent {
        run.node_mut(parent).outstanding += 1;
    }
}

fn predecessors(run: &mut Run, after: &After) -> BTreeSet<NodeId> {
    match after {
        After::Nothing => BTreeSet::new(),
        After::Node(node) => BTreeSet::from([node.clone()]),
        After::EndsOf(nodes) => run.ends_of(nodes),
    }
}

fn request_execution(run: &mut Run, node: &NodeId, execution: u32, at: Timestamp) {
    run.executions = execution;
    run.live.insert(node.clone());
    run.node_mut(node).executions.push(Execution {
        number: execution,
        requested_at: at,
        started_at: None,
        ended_at: None,
        stop_requested: false,
    });
    count_live(run, node, |live| live + 1);
}

/// Counts an execution at its leaf, at everything above it, and at the template it belongs to.
fn count_live(run: &mut Run, leaf: &NodeId, change: impl Fn(u32) -> u32) {
    if let Some(boundary) = run.node_ref(leaf).boundary.clone() {
        let boundary = run.node_mut(&boundary);
        boundary.live_here = change(boundary.live_here);
    }
    let mut above = Some(leaf.clone());
    while let Some(id) = above {
        let node = run.node_mut(&id);
        node.live = change(node.live);
        above = node.parent.clone();
    }
}

fn last_execution(node: &mut Node) -> &mut Execution {
    node.executions
        .last_mut()
        .expect("a leaf has the execution that an event speaks of")
}

fn finish(run: &mut Run, finished: &NodeFinished) {
    let node = run.node_mut(&finished.node);
    node.phase = finished.phase;
    if let Some(message) = &finished.message {
        node.message.clone_from(message);
    }
    node.outputs = finished.outputs.clone();
    node.finished_at = Some(finished.at);
    let counts = match node.kind {
        NodeKind::Pod | NodeKind::Steps | NodeKind::Dag | NodeKind::Retry => {
            node.phase.is_failure()
        }
        NodeKind::StepGroup | NodeKind::TaskGroup | NodeKind::Skipped | NodeKind::Suspend => false,
    };
    let (parent, boundary) = (node.parent.clone(), node.boundary.clone());
    if let Some(parent) = parent {
        let parent = run.node_mut(&parent);
        parent.outstanding = parent.outstanding.saturating_sub(1);
    }
    if let Some(boundary) = boundary.filter(|_| counts) {
        run.node_mut(&boundary).failed_here += 1;
    }
    tell_dependents(run, &finished.node);
}

/// Counts a fulfilled task at the tasks that depend on it.
fn tell_dependents(run: &mut Run, id: &NodeId) {
    let node = run.node_ref(id);
    let Some(parent) = node.parent.clone() else {
        return;
    };
    let call = node.call.clone();
    let dag = run.node_ref(&parent);
    if dag.kind != NodeKind::Dag {
        return;
    }
    let template = dag.template_name.clone();
    let shape = run.shape(&template);
    let Some(task) = shape.task(&call) else {
        return;
    };
    let dag = run.node_mut(&parent);
    for dependent in shape.dependents(task) {
        if let Some(count) = dag.unmet.get_mut(*dependent) {
            *count = count.saturating_sub(1);
        }
    }
}
