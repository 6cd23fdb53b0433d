//! `steps`: groups of calls, one group after the other.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    call::{self, Call},
    decide::Turn,
    event::{After, Event, NodeCreated},
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
};
use groundplan_workflow::{
    document::{ContinueOn, WorkflowStep},
    expr::{scope::MapScope, when},
};

/// Begins a node that was created just now, or whose locks were granted.
pub(crate) fn begin(turn: &mut Turn<'_>, id: &NodeId) {
    go_on(turn, id, 0);
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
    while let Some(child) = turn.next_touched(id) {
        pass::visit(turn, &child);
    }
    if let Some(group) = turn.node(id).last_group.clone() {
        let number = group_number(turn, id, &group);
        if went_well(turn, id, &group, number) {
            go_on(turn, id, number + 1);
        }
    }
}

fn group_number(turn: &Turn<'_>, steps: &NodeId, group: &NodeId) -> usize {
    let name = &turn.node(group).name;
    name.strip_prefix(turn.node(steps).name.as_str())
        .and_then(|rest| rest.strip_prefix('[')?.strip_suffix(']')?.parse().ok())
        .unwrap_or(0)
}

/// Begins groups from number `first` on, as far as they come.
fn go_on(turn: &mut Turn<'_>, id: &NodeId, first: usize) {
    let template = turn.node(id).template_name.clone();
    let shape = turn.run.shape(&template);
    let mut number = first;
    while let Some(steps) = shape.groups.get(number) {
        let group = create_group(turn, id, number);
        begin_group(turn, id, &group, number, steps);
        if !went_well(turn, id, &group, number) {
            return;
        }
        number += 1;
    }
    match outputs::of_container(turn, id) {
        Ok(outputs) => turn.finish_node(id, NodePhase::Succeeded, None, outputs),
        Err(message) => turn.fail_call(id, message),
    }
}

/// Whether a group went well, so that the next may begin. One that failed ends the node.
fn went_well(turn: &mut Turn<'_>, id: &NodeId, group: &NodeId, number: usize) -> bool {
    let node = turn.node(group);
    if !node.phase.is_fulfilled() {
        return false;
    }
    if node.phase.is_failure() {
        let message = Some(node.message.clone());
        turn.finish_node(id, NodePhase::Failed, message, NodeOutputs::default());
        return false;
    }
    match join_results(turn, id, number) {
        Ok(_) => true,
        Err(message) => {
            turn.fail_call(id, message);
            false
        }
    }
}

/// Joins the results of a group's fan-outs that the template asks for: if they can't be joined, the
/// fault is this node's, not that of those who ask.
fn join_results(turn: &mut Turn<'_>, id: &NodeId, number: usize) -> Result<MapScope, String> {
    let template = turn.node(id).template_name.clone();
    let shape = turn.run.shape(&template);
    let wanted: BTreeSet<String> = shape.groups[number]
        .iter()
        .filter(|step| step.is_fan_out() && shape.wants_result_of(&step.name))
        .map(|step| step.name.clone())
        .collect();
    producers::of_steps(
        turn,
        id,
        number + 1,
        &scope::Mentions::Names(wanted),
        Gaps::Filled,
    )
}

fn create_group(turn: &mut Turn<'_>, id: &NodeId, number: usize) -> NodeId {
    let steps = turn.node(id);
    let name = format!("{}[{number}]", steps.name);
    let after = match &steps.last_group {
        Some(previous) => After::EndsOf(vec![previous.clone()]),
        None => After::Node(id.clone()),
    };
    let group = turn.run.id_of(&name);
    let at = turn.now;
    turn.record(Event::NodeCreated(Box::new(NodeCreated {
        id: group.clone(),
        display_name: format!("[{number}]"),
        name,
        kind: NodeKind::StepGroup,
        phase: NodePhase::Running,
        message: String::new(),
        template_name: String::new(),
        call: String::new(),
        boundary: Some(id.clone()),
        parent: Some(id.clone()),
        after,
        inputs: Vec::new(),
        target: None,
        at,
    })));
    group
}

/// Makes all calls of a group.
fn begin_group(
    turn: &mut Turn<'_>,
    id: &NodeId,
    group: &NodeId,
    number: usize,
    steps: &[WorkflowStep],
) {
    let frame = scope::frame_of(turn, id);
    let spread = match resolve_group(turn, id, group, number, steps, &frame) {
        Ok(spread) => spread,
        Err(message) => {
            turn.fail_node(group, message);
            return;
        }
    };
    for Spread { full_call, call } in spread {
        if let Err(message) = make_call(turn, id, group, full_call, call) {
            turn.fail_node(group, message);
            return;
        }
    }
    close_group(turn, group);
}

fn resolve_group(
    turn: &mut Turn<'_>,
    id: &NodeId,
    group: &NodeId,
    number: usize,
    steps: &[WorkflowStep],
    frame: &Frame,
) -> Result<Vec<Spread<WorkflowStep>>, String> {
    let mut resolved = Vec::with_capacity(steps.len());
    for step in steps {
        let step: WorkflowStep = frame.replaced(step)?;
        let mentions = scope::mentions_of(&step, "steps")?;
        let produced = producers::of_steps(turn, id, number, &mentions, Gaps::Filled)?;
        let step = scope::resolve(&step, frame, &produced)
            .map_err(|fault| format!("failed to resolve references: {fault}"))?;
        resolved.push((step, produced));
    }
    let mut all = Vec::new();
    for (step, produced) in resolved {
        let produced: MapScope = produced;
        let spread = fan_out::spread(&step, frame, &produced)?;
        if spread.is_empty() {
            let call = call_of(turn, id, group, step.name.clone(), step);
            let message = "Skipped, empty params".to_owned();
            call::create_stillborn(turn, &call, NodePhase::Skipped, message);
        }
        all.extend(spread);
    }
    Ok(all)
}

fn call_of(
    turn: &Turn<'_>,
    id: &NodeId,
    group: &NodeId,
    full_call: String,
    step: WorkflowStep,
) -> Call {
    Call {
        name: format!("{}.{full_call}", turn.node(group).name),
        call: step.name,
        full_call,
        template: step.template,
        arguments: step.arguments.parameters,
        boundary: Some(id.clone()),
        parent: Some(group.clone()),
        after: After::Node(group.clone()),
    }
}

/// Makes one call of a group; `Err` ends the group.
fn make_call(
    turn: &mut Turn<'_>,
    id: &NodeId,
    group: &NodeId,
    full_call: String,
    step: WorkflowStep,
) -> Result<(), String> {
    let condition = step.when.clone();
    let call = call_of(turn, id, group, full_call, step);
    match when::evaluate(&condition) {
        Ok(true) => {}
        Ok(false) => {
            let message = format!("when '{condition}' evaluated false");
            call::create_stillborn(turn, &call, NodePhase::Skipped, message);
            return Ok(());
        }
        Err(fault) => {
            let message = fault.to_string();
            call::create_stillborn(turn, &call, NodePhase::Error, message.clone());
            return Err(message);
        }
    }
    let name = call.name.clone();
    match call::execute(turn, call) {
        Ok(_) => Ok(()),
        Err(fault) => Err(errored(&name, &fault.message)),
    }
}

/// Looks at what changed below a group.
pub(crate) fn visit_group(turn: &mut Turn<'_>, id: &NodeId) {
    while let Some(child) = turn.next_touched(id) {
        pass::visit(turn, &child);
        if let Some(message) = turn.take_fault(&child)
            && !turn.node(id).phase.is_fulfilled()
        {
            let message = errored(&turn.node(&child).name, &message);
            turn.fail_node(id, message);
        }
    }
    if !turn.node(id).phase.is_fulfilled() {
        close_group(turn, id);
    }
}

fn errored(child: &str, message: &str) -> String {
    format!("step group deemed errored due to child {child} error: {message}")
}

/// Ends a group once all its calls are fulfilled: it fails with the first that went wrong and is
/// not forgiven.
fn close_group(turn: &mut Turn<'_>, id: &NodeId) {
    if turn.node(id).outstanding > 0 {
        return;
    }
    let members = turn.run.members(id);
    turn.decision.visits += members.len() as u64;
    let forgiven = forgiven_of(turn, id);
    let failed = members.iter().find(|child| {
        let child = turn.node(child);
        let forgiven = forgiven.get(&child.call).copied().unwrap_or_default();
        (child.phase == NodePhase::Failed && !forgiven.failed)
            || (child.phase == NodePhase::Error && !forgiven.error)
    });
    let (phase, message) = match failed {
        Some(child) => (NodePhase::Failed, Some(format!("child '{child}' failed"))),
        None => (NodePhase::Succeeded, None),
    };
    turn.finish_node(id, phase, message, NodeOutputs::default());
}

/// Which failures each step of a group forgives.
fn forgiven_of(turn: &mut Turn<'_>, group: &NodeId) -> BTreeMap<String, ContinueOn> {
    let Some(steps) = turn.node(group).boundary.clone() else {
        return BTreeMap::new();
    };
    let number = group_number(turn, &steps, group);
    let template = turn.node(&steps).template_name.clone();
    let shape = turn.run.shape(&template);
    let group = shape.groups.get(number).into_iter().flatten();
    group
        .map(|step| (step.name.clone(), step.continue_on.unwrap_or_default()))
        .collect()
}
