//! What nodes give: taken from files for leaves, gathered from below for steps and DAGs.

use crate::{
    decide::Turn,
    id::NodeId,
    node::{NamedValue, NodeOutputs},
    report::{StepEnd, StepOutcome},
    scope::{
        self,
        producers::{self, Gaps},
    },
};
use groundplan_workflow::{
    document::{Parameter, ValueFrom},
    expr::{
        scope::{Layered, MapScope, Scope},
        tags::{self, ReplaceError},
    },
};

/// The output parameters of a leaf, in the order of its template. What is missing without a default
/// is left out and named in the second value.
pub(crate) fn of_leaf(
    turn: &mut Turn<'_>,
    id: &NodeId,
    end: &StepEnd,
) -> (Vec<NamedValue>, Option<String>) {
    let template = turn
        .run
        .workflow()
        .templates
        .get(&turn.node(id).template_name);
    let declared = template
        .map(|template| template.outputs.parameters.clone())
        .unwrap_or_default();
    // Of what never ran to its end, or was stopped, only what was taken is known.
    let ran = end.outcome == StepOutcome::Exited && !end.asked_to_stop;
    let mut outputs = Vec::new();
    let mut missing = None;
    for output in declared {
        let value = match end.parameters.get(&output.name) {
            Some(value) => Some(value.clone()),
            None if ran => fallback(turn, id, &output),
            None => None,
        };
        match value {
            Some(value) => outputs.push(NamedValue {
                name: output.name,
                value,
            }),
            None if missing.is_none() => {
                missing = Some(format!(
                    "output parameter `{}` was not written and has no default",
                    output.name
                ));
            }
            None => {}
        }
    }
    (outputs, missing)
}

/// The value of an output that no file gave.
fn fallback(turn: &mut Turn<'_>, id: &NodeId, output: &Parameter) -> Option<String> {
    let text = match &output.value_from {
        Some(from) => from.default.as_ref(),
        None => output.value.as_ref(),
    }?;
    if !tags::has_tags(text.as_str()) {
        return Some(text.0.clone());
    }
    let frame = scope::frame_of(turn, id);
    frame.replaced(&text.0).ok()
}

/// The outputs of a `Steps` or `DAG` node, from what happened below it.
pub(crate) fn of_container(turn: &mut Turn<'_>, id: &NodeId) -> Result<NodeOutputs, String> {
    let template = crate::call::template_of(turn, &turn.node(id).template_name)?;
    if template.outputs.parameters.is_empty() {
        return Ok(NodeOutputs::default());
    }
    let frame = scope::frame_of(turn, id);
    let declared: Vec<Parameter> = frame.replaced(&template.outputs.parameters)?;
    let groups = template.steps.as_ref().map(Vec::len);
    let given = produced(turn, id, groups, Gaps::Left)?;
    let filled = produced(turn, id, groups, Gaps::Filled)?;
    let given = Layered::new([frame.inputs() as &dyn Scope, &given]);
    let filled = Layered::new([frame.inputs() as &dyn Scope, &filled]);
    let mut parameters = Vec::with_capacity(declared.len());
    for output in declared {
        let from = output
            .value_from
            .as_ref()
            .ok_or("output parameters must have a valueFrom specified")?;
        let value = match (value_of(from, &given, &frame), &from.default) {
            (Ok(value), _) => value,
            (Err(_), Some(default)) => default.0.clone(),
            (Err(_), None) => value_of(from, &filled, &frame)?,
        };
        parameters.push(NamedValue {
            name: output.name,
            value,
        });
    }
    Ok(NodeOutputs {
        parameters,
        ..NodeOutputs::default()
    })
}

fn produced(
    turn: &mut Turn<'_>,
    id: &NodeId,
    groups: Option<usize>,
    gaps: Gaps,
) -> Result<MapScope, String> {
    let all = scope::Mentions::Any;
    match groups {
        Some(groups) => producers::of_steps(turn, id, groups, &all, gaps),
        None => producers::of_tasks(turn, id, None, &all, gaps),
    }
}

fn value_of(from: &ValueFrom, known: &dyn Scope, frame: &scope::Frame) -> Result<String, String> {
    if let Some(expression) = from.expression.as_ref().filter(|text| !text.is_empty()) {
        return tags::value_of_expression(expression, known, frame.moment()).map_err(located);
    }
    match from.parameter.as_ref().filter(|text| !text.is_empty()) {
        Some(parameter) => tags::resolve(parameter, known, frame.moment())
            .map_err(|fault| {
                if let ReplaceError::Unresolved { name, .. } = fault {
                    format!("Unable to resolve: {name:?}")
                } else {
                    fault.to_string()
                }
            })?
            .to_inserted()
            .map_err(|fault| fault.to_string()),
        None => Ok(String::new()),
    }
}

/// The message of a faulty expression, with the place that it speaks of.
fn located(fault: ReplaceError) -> String {
    let ReplaceError::Expression { expression, error } = fault else {
        return fault.to_string();
    };
    if expression.contains('\n') {
        return error.message;
    }
    // A name that could not be fetched stands behind its dot.
    let offset = error.offset + usize::from(error.message.starts_with("cannot fetch"));
    let before = expression
        .char_indices()
        .take_while(|(at, _)| *at < offset)
        .count();
    format!(
        "{} (1:{})\n | {expression}\n | {}^",
        error.message,
        before + 1,
        ".".repeat(before)
    )
}
