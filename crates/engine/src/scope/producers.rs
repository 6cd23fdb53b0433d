//! What earlier steps and tasks gave: `steps.…` and `tasks.…`.
//!
//! Where Argo would wait for ever, the value is settled: an output of a skipped or omitted node is
//! its declared default, else absent; an output declared by the template of a fan-out of which no
//! child succeeded is the empty list.

use std::collections::{BTreeMap, BTreeSet};

use super::{globals::rfc3339, mentions::Mentions};
use crate::{
    decide::Turn,
    id::NodeId,
    node::{Node, NodeKind, NodePhase},
};
use groundplan_workflow::{
    document::Template,
    expr::{aggregate, scope::MapScope},
};

/// What becomes of outputs for which Argo would wait for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gaps {
    /// They stay unknown.
    Left,
    /// An output declared by a fan-out of which no child succeeded is the empty list.
    Filled,
}

/// What the steps of groups before number `before` gave.
pub(crate) fn of_steps(
    turn: &mut Turn<'_>,
    steps: &NodeId,
    before: usize,
    mentions: &Mentions,
    gaps: Gaps,
) -> Result<MapScope, String> {
    let (name, template) = name_and_template(turn, steps);
    let shape = turn.run.shape(&template);
    let mut scope = MapScope::new();
    for step in chosen(mentions, shape.calls()) {
        let Some(group) = shape.group_of(&step).filter(|group| *group < before) else {
            continue;
        };
        let prefix = format!("steps.{step}");
        let group = format!("{name}[{group}]");
        let direct = turn.run.id_of(&format!("{group}.{step}"));
        if turn.run.node(&direct).is_some() {
            add_single(turn, &mut scope, &prefix, &direct);
            continue;
        }
        let group = turn.run.id_of(&group);
        if turn.run.node(&group).is_none() {
            continue;
        }
        let members: Vec<NodeId> = turn.run.members(&group);
        let members: Vec<&Node> = members
            .iter()
            .map(|id| turn.node(id))
            .filter(|node| node.call == step)
            .collect();
        add_aggregate(turn, &mut scope, &prefix, &members, gaps)?;
        add_identity(&mut scope, &prefix, turn.node(&group));
    }
    Ok(scope)
}

/// What the tasks that come before `task` gave; with `None`, what all tasks of the DAG gave.
pub(crate) fn of_tasks(
    turn: &mut Turn<'_>,
    dag: &NodeId,
    task: Option<usize>,
    mentions: &Mentions,
    gaps: Gaps,
) -> Result<MapScope, String> {
    let (name, template) = name_and_template(turn, dag);
    let shape = turn.run.shape(&template);
    let mut scope = MapScope::new();
    for other in chosen(mentions, shape.calls()) {
        let Some(place) = shape.task(&other) else {
            continue;
        };
        if task.is_some_and(|task| !shape.is_before(place, task)) {
            continue;
        }
        let id = turn.run.id_of(&format!("{name}.{other}"));
        let Some(node) = turn.run.node(&id) else {
            continue;
        };
        let prefix = format!("tasks.{other}");
        if node.kind == NodeKind::TaskGroup {
            let members = turn.run.members(&id);
            let members: Vec<&Node> = members.iter().map(|id| turn.node(id)).collect();
            add_aggregate(turn, &mut scope, &prefix, &members, gaps)?;
            add_identity(&mut scope, &prefix, turn.node(&id));
        } else {
            add_single(turn, &mut scope, &prefix, &id);
        }
    }
    Ok(scope)
}

fn name_and_template(turn: &Turn<'_>, id: &NodeId) -> (String, String) {
    let node = turn.node(id);
    (node.name.clone(), node.template_name.clone())
}

fn chosen<'a>(mentions: &Mentions, all: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    match mentions {
        Mentions::Names(names) => names.clone(),
        Mentions::Any => all.map(str::to_owned).collect(),
    }
}

fn add_identity(scope: &mut MapScope, prefix: &str, node: &Node) {
    scope.set(format!("{prefix}.id"), node.id.0.as_str());
    scope.set(format!("{prefix}.status"), node.phase.as_str());
    scope.set(format!("{prefix}.startedAt"), rfc3339(node.started_at));
    if let Some(at) = node.finished_at {
        scope.set(format!("{prefix}.finishedAt"), rfc3339(at));
    }
}

fn add_single(turn: &Turn<'_>, scope: &mut MapScope, prefix: &str, id: &NodeId) {
    let node = turn.node(id);
    add_identity(scope, prefix, node);
    if let NodePhase::Skipped | NodePhase::Omitted = node.phase {
        add_skipped(scope, prefix, template_of(turn, node));
    }
    if let Some(result) = &node.outputs.result {
        scope.set(format!("{prefix}.outputs.result"), result.as_str());
    }
    if let Some(code) = node.outputs.exit_code {
        scope.set(format!("{prefix}.exitCode"), code.to_string());
    }
    for output in &node.outputs.parameters {
        scope.set(
            format!("{prefix}.outputs.parameters.{}", output.name),
            output.value.as_str(),
        );
    }
}

fn template_of<'a>(turn: &'a Turn<'_>, node: &Node) -> Option<&'a Template> {
    turn.run.workflow().templates.get(&node.template_name)
}

fn add_skipped(scope: &mut MapScope, prefix: &str, template: Option<&Template>) {
    scope.set_absent(format!("{prefix}.outputs.result"));
    scope.set_absent(format!("{prefix}.exitCode"));
    for output in template
        .iter()
        .flat_map(|template| &template.outputs.parameters)
    {
        let name = format!("{prefix}.outputs.parameters.{}", output.name);
        let default = output
            .value_from
            .as_ref()
            .and_then(|from| from.default.as_ref());
        match default {
            Some(default) => scope.set(name, default.as_str()),
            None => scope.set_absent(name),
        }
    }
}

/// Joins what the children of a fan-out gave, those that succeeded, in item order.
fn add_aggregate(
    turn: &Turn<'_>,
    scope: &mut MapScope,
    prefix: &str,
    members: &[&Node],
    gaps: Gaps,
) -> Result<(), String> {
    let good: Vec<&Node> = members
        .iter()
        .copied()
        .filter(|node| node.phase == NodePhase::Succeeded)
        .collect();
    let results: Vec<&str> = good
        .iter()
        .filter_map(|node| node.outputs.result.as_deref())
        .collect();
    let joined = aggregate::results(&results).map_err(|fault| fault.to_string())?;
    scope.set(format!("{prefix}.outputs.result"), joined);
    let maps: Vec<BTreeMap<String, String>> = good
        .iter()
        .filter(|node| !node.outputs.parameters.is_empty())
        .map(|node| {
            let outputs = node.outputs.parameters.iter();
            outputs
                .map(|output| (output.name.clone(), output.value.clone()))
                .collect()
        })
        .collect();
    scope.set(
        format!("{prefix}.outputs.parameters"),
        aggregate::parameters(&maps),
    );
    let declared = members
        .first()
        .filter(|_| gaps == Gaps::Filled)
        .and_then(|node| template_of(turn, node))
        .map(|template| template.outputs.parameters.as_slice())
        .unwrap_or_default();
    let names: BTreeSet<&str> = declared
        .iter()
        .map(|output| output.name.as_str())
        .chain(maps.iter().flat_map(|map| map.keys().map(String::as_str)))
        .collect();
    for name in names {
        let values: Vec<&String> = maps.iter().filter_map(|map| map.get(name)).collect();
        scope.set(
            format!("{prefix}.outputs.parameters.{name}"),
            aggregate::values(&values),
        );
    }
    Ok(())
}
