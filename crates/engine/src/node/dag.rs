//! `dag`: tasks that start when what they depend on allows.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{
    call::{self, Call},
    decide::Turn,
    event::{After, Event},
    id::NodeId,
    node::{
        NodeKind, NodeOutputs, NodePhase, fail_fast,
        fan_out::{self, Callable, Spread},
    },
    outputs, pass,
    scope::{
        self, Frame,
        producers::{self, Gaps},
    },
    shape::TemplateShape,
};
use groundplan_workflow::{
    document::{ContinueOn, DagTask},
    expr::{
        depends::{Forgiven, Phase, TaskState, Verdict},
        scope::MapScope,
        when,
    },
};

/// Tasks that may start, by the order in which a walk meets them.
type Ready = BTreeSet<(u32, usize)>;

/// Begins a node that was created just now, or whose locks were granted.
pub(crate) fn begin(turn: &mut Turn<'_>, id: &NodeId) {
    let ready = turn.run.shape_of_dag(id).first_tasks().collect();
    go_on(turn, id, ready);
}

/// Looks at a node in which, or below which, something changed.
pub(crate) fn visit(turn: &mut Turn<'_>, id: &NodeId) {
    if turn.node(id).phase == NodePhase::Pending {
        turn.record(Event::NodeStarted { node: id.clone() });
        begin(turn, id);
        return;
    }
    if fail_fast::check(turn, id) {
        return;
    }
    go_on(turn, id, Ready::new());
}

/// Looks at changed tasks and starts what became ready, in the order of a walk.
fn go_on(turn: &mut Turn<'_>, id: &NodeId, mut ready: Ready) {
    let shape = turn.run.shape_of_dag(id);
    let mut frame = None;
    loop {
        let first_ready = ready.first().map(|(rank, _)| *rank);
        let task = match (turn.first_touched(id), first_ready) {
            (Some(rank), first) if first.is_none_or(|first| rank <= first) => {
                let Some(child) = turn.next_touched(id) else {
                    continue;
                };
                pass::visit(turn, &child);
                turn.take_fault(&child);
                shape.task(&turn.node(&child).call)
            }
            (_, Some(_)) => ready.pop_first().map(|(_, task)| {
                turn.decision.visits += 1;
                let frame = frame.get_or_insert_with(|| scope::frame_of(turn, id));
                start(turn, id, &shape, frame, task);
                task
            }),
            (_, None) => break,
        };
        let Some(task) = task else { continue };
        if let Err(message) = join_results(turn, id, &shape, task) {
            turn.fail_call(id, message);
            return;
        }
        tell(turn, id, &shape, task, &mut ready);
    }
    assess(turn, id, &shape);
}

fn task_node(turn: &Turn<'_>, dag: &NodeId, task: &str) -> NodeId {
    turn.run.id_of(&format!("{}.{task}", turn.node(dag).name))
}

/// Joins the results of a fanned-out task that the template asks for: if they can't be joined, the
/// fault is the DAG's.
fn join_results(
    turn: &mut Turn<'_>,
    id: &NodeId,
    shape: &TemplateShape,
    task: usize,
) -> Result<(), String> {
    let name = &shape.tasks[task].name;
    let node = turn.run.node(&task_node(turn, id, name));
    let joins = node.is_some_and(|node| {
        node.kind == NodeKind::TaskGroup && node.phase.is_fulfilled() && shape.wants_result_of(name)
    });
    if !joins {
        return Ok(());
    }
    let mentions = scope::Mentions::Names(BTreeSet::from([name.clone()]));
    producers::of_tasks(turn, id, None, &mentions, Gaps::Filled).map(|_| ())
}

/// Adds the dependents of a fulfilled task whose last dependency it was; none once a person asked
/// the run to stop.
fn tell(turn: &Turn<'_>, id: &NodeId, shape: &TemplateShape, task: usize, ready: &mut Ready) {
    let node = turn.run.node(&task_node(turn, id, &shape.tasks[task].name));
    let is_fulfilled = node.is_some_and(|node| node.phase.is_fulfilled());
    if !is_fulfilled || turn.run.stop_requested_at.is_some() {
        return;
    }
    for dependent in shape.dependents(task) {
        let met = turn.node(id).unmet.get(*dependent) == Some(&0);
        if met && let Some(rank) = shape.rank(*dependent) {
            let dependent_node = task_node(turn, id, &shape.tasks[*dependent].name);
            if turn.run.node(&dependent_node).is_none() {
                ready.insert((rank, *dependent));
            }
        }
    }
}

/// Starts a task all of whose dependencies are fulfilled.
fn start(turn: &mut Turn<'_>, id: &NodeId, shape: &TemplateShape, frame: &Frame, place: usize) {
    let task = &shape.tasks[place];
    let after = after_of(turn, id, shape, place);
    let plain = call_of(turn, id, task.name.clone(), task, id, after);
    match verdict(turn, id, shape, place) {
        Ok(Verdict::Run) => {}
        // Every dependency is fulfilled, so there is nothing to wait for.
        Ok(Verdict::Omit | Verdict::Wait) => {
            let message = "omitted: depends condition not met".to_owned();
            call::create_stillborn(turn, &plain, NodePhase::Omitted, message);
            return;
        }
        Err(message) => {
            call::create_stillborn(turn, &plain, NodePhase::Error, message);
            return;
        }
    }
    let resolved = resolve(turn, id, place, task, frame);
    let (resolved, spread) = match resolved {
        Ok(resolved) => resolved,
        Err(message) => {
            call::create_stillborn(turn, &plain, NodePhase::Error, message);
            return;
        }
    };
    if resolved.is_fan_out() {
        fan_out_task(turn, id, &plain, spread);
        return;
    }
    for Spread { full_call, call } in spread {
        let after = plain.after.clone();
        let condition = call.when.clone();
        let call = call_of(turn, id, full_call, &call, id, after);
        make_call(turn, call, &condition);
    }
}

fn resolve(
    turn: &mut Turn<'_>,
    id: &NodeId,
    place: usize,
    task: &DagTask,
    frame: &Frame,
) -> Result<(DagTask, Vec<Spread<DagTask>>), String> {
    let task: DagTask = frame.replaced(task)?;
    let mentions = scope::mentions_of(&task, "tasks")?;
    let produced: MapScope = producers::of_tasks(turn, id, Some(place), &mentions, Gaps::Filled)?;
    let task = scope::resolve(&task, frame, &produced)?;
    let spread = fan_out::spread(&task, frame, &produced)?;
    Ok((task, spread))
}

/// Makes the calls of a task that is fanned out, below a group of their own.
fn fan_out_task(turn: &mut Turn<'_>, id: &NodeId, plain: &Call, spread: Vec<Spread<DagTask>>) {
    if spread.is_empty() {
        let message = "Skipped, empty params".to_owned();
        call::create_stillborn(turn, plain, NodePhase::Skipped, message);
        return;
    }
    let kind = NodeKind::TaskGroup;
    let phase = NodePhase::Running;
    let group = call::create(turn, plain, kind, phase, String::new(), Vec::new());
    for Spread { full_call, call } in spread {
        let condition = call.when.clone();
        let after = After::Node(group.clone());
        let call = call_of(turn, id, full_call, &call, &group, after);
        make_call(turn, call, &condition);
    }
    fan_out::close(turn, &group);
}

/// Makes one call. A fault is in the node; a DAG goes on.
fn make_call(turn: &mut Turn<'_>, call: Call, condition: &str) {
    match when::evaluate(condition) {
        Ok(true) => {
            // The node tells what went wrong; only its phase matters to the DAG.
            let _ = call::execute(turn, call);
        }
        Ok(false) => {
            let message = format!("when '{condition}' evaluated false");
            call::create_stillborn(turn, &call, NodePhase::Skipped, message);
        }
        Err(fault) => {
            call::create_stillborn(turn, &call, NodePhase::Error, fault.to_string());
        }
    }
}

fn call_of(
    turn: &Turn<'_>,
    id: &NodeId,
    full_call: String,
    task: &DagTask,
    parent: &NodeId,
    after: After,
) -> Call {
    Call {
        name: format!("{}.{full_call}", turn.node(id).name),
        call: task.name.clone(),
        full_call,
        template: task.template.clone(),
        arguments: task.arguments.parameters.clone(),
        boundary: Some(id.clone()),
        parent: Some(parent.clone()),
        after,
    }
}

fn after_of(turn: &Turn<'_>, id: &NodeId, shape: &TemplateShape, place: usize) -> After {
    let dependencies: Vec<NodeId> = shape
        .dependencies(place)
        .iter()
        .map(|dependency| task_node(turn, id, &shape.tasks[*dependency].name))
        .filter(|node| turn.run.node(node).is_some())
        .collect();
    if dependencies.is_empty() {
        After::Node(id.clone())
    } else {
        After::EndsOf(dependencies)
    }
}

fn verdict(
    turn: &Turn<'_>,
    id: &NodeId,
    shape: &TemplateShape,
    place: usize,
) -> Result<Verdict, String> {
    let logic = shape.logic(place).as_ref().map_err(Clone::clone)?;
    let fan_outs = logic.fan_out_names();
    let states: Vec<(&str, Option<TaskState>)> = logic
        .names()
        .into_iter()
        .map(|name| (name, state_of(turn, id, name, fan_outs.contains(name))))
        .collect();
    let forgiven = |name: &str| {
        let task = shape.task(name).map(|place| &shape.tasks[place]);
        let forgiven = task.and_then(|task| task.continue_on).unwrap_or_default();
        Forgiven {
            error: forgiven.error,
            failed: forgiven.failed,
        }
    };
    let state = |name: &str| {
        let found = states
            .binary_search_by(|(known, _)| (*known).cmp(name))
            .ok()?;
        states[found].1.as_ref()
    };
    Ok(logic.decide(forgiven, state))
}

fn state_of(turn: &Turn<'_>, id: &NodeId, task: &str, with_children: bool) -> Option<TaskState> {
    let node_id = task_node(turn, id, task);
    let node = turn.run.node(&node_id)?;
    let mut state = TaskState::of(phase_of(node.phase));
    if with_children && node.kind == NodeKind::TaskGroup {
        let members = turn.run.members(&node_id);
        let phases = members.iter().map(|child| phase_of(turn.node(child).phase));
        state.children = Some(phases.collect());
    }
    Some(state)
}

fn phase_of(phase: NodePhase) -> Phase {
    match phase {
        NodePhase::Pending => Phase::Pending,
        NodePhase::Running => Phase::Running,
        NodePhase::Succeeded => Phase::Succeeded,
        NodePhase::Failed => Phase::Failed,
        NodePhase::Error => Phase::Error,
        NodePhase::Skipped => Phase::Skipped,
        NodePhase::Omitted => Phase::Omitted,
    }
}

/// Ends the DAG once nothing of it is outstanding or alive.
fn assess(turn: &mut Turn<'_>, id: &NodeId, shape: &TemplateShape) {
    let node = turn.node(id);
    if node.outstanding > 0 || node.live > 0 || node.phase.is_fulfilled() {
        return;
    }
    if turn.run.stop_requested_at.is_some() {
        turn.finish_node(id, NodePhase::Failed, None, NodeOutputs::default());
        return;
    }
    match result_of(turn, id, shape) {
        Ok(None) => match outputs::of_container(turn, id) {
            Ok(outputs) => turn.finish_node(id, NodePhase::Succeeded, None, outputs),
            Err(message) => turn.fail_call(id, message),
        },
        Ok(Some(phase)) => turn.finish_node(id, phase, None, NodeOutputs::default()),
        Err(message) => turn.fail_node(id, message),
    }
}

/// The failure that the targets come to, if any. A branch carries the phase of its last completed
/// node on to what was skipped or omitted behind it; going wrong weighs more than going well. `Err`
/// says what can never be reached.
fn result_of(
    turn: &mut Turn<'_>,
    id: &NodeId,
    shape: &TemplateShape,
) -> Result<Option<NodePhase>, String> {
    let branches = branch_phases(turn, id);
    let (mut failure, mut unreached) = (None, None);
    for target in shape.targets() {
        let Some(phase) = branches.get(&task_node(turn, id, target)) else {
            unreached.get_or_insert(target);
            continue;
        };
        let task = shape.task(target).map(|place| &shape.tasks[place]);
        let forgiven: ContinueOn = task.and_then(|task| task.continue_on).unwrap_or_default();
        let counts = (*phase == NodePhase::Failed && !forgiven.failed)
            || (*phase == NodePhase::Error && !forgiven.error);
        if counts {
            failure = Some(*phase);
            if shape.fail_fast {
                break;
            }
        }
    }
    match unreached {
        _ if failure.is_some() => Ok(failure),
        Some(target) => Err(format!("task `{target}` can never start")),
        None if shape.targets().next().is_none() && !shape.tasks.is_empty() => {
            Err("every task depends on another: none can ever start".to_owned())
        }
        None => Ok(failure),
    }
}

/// The phase of the branch that ends in each node below the DAG. Where branches meet, one that went
/// wrong decides.
fn branch_phases(turn: &mut Turn<'_>, id: &NodeId) -> BTreeMap<NodeId, NodePhase> {
    let mut phases: BTreeMap<NodeId, NodePhase> = BTreeMap::new();
    let mut seen: BTreeSet<(NodeId, NodePhase)> = BTreeSet::new();
    let children = turn.node(id).children.iter().cloned();
    let mut queue: VecDeque<(NodeId, NodePhase)> = children
        .map(|child| (child, NodePhase::Succeeded))
        .collect();
    while let Some((id, inherited)) = queue.pop_front() {
        if !seen.insert((id.clone(), inherited)) {
            continue;
        }
        turn.decision.visits += 1;
        let node = turn.node(&id);
        let phase = if node.phase.is_completed() {
            node.phase
        } else {
            inherited
        };
        let children = node.children.iter().cloned();
        queue.extend(children.map(|child| (child, phase)));
        let known = phases.entry(id).or_insert(phase);
        if !known.is_failure() {
            *known = phase;
        }
    }
    phases
}
