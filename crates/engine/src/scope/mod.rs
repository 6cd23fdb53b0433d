//! What names in a template mean, and the passes in which they are replaced.
//!
//! As in Argo: first what the whole workflow and the call know, then the inputs, and for the pieces
//! of steps and DAGs at last what earlier steps or tasks gave. Values that a node recorded as its
//! inputs are data: they are not replaced again.

mod globals;
mod mentions;
pub(crate) mod producers;

pub(crate) use mentions::Mentions;

use std::rc::Rc;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value as Json;

use crate::{
    call::{self, Call},
    decide::Turn,
    id::NodeId,
    node::{NamedValue, Node, NodeKind, fan_out::Callable, leaf},
    shape::TemplateShape,
};
use groundplan_workflow::{
    document::{Parameter, Synchronization, Template, Volume},
    expr::{
        expression::{Expression, Moment},
        identity,
        scope::{Layered, MapScope, Scope},
        tags::{self, Mode},
        when,
    },
};

/// A template with its tags replaced, and the values of its inputs.
pub(crate) struct Processed {
    pub(crate) template: Template,
    pub(crate) inputs: Vec<NamedValue>,
}

/// What the inside of a called template knows.
pub(crate) struct Frame {
    globals: Rc<MapScope>,
    locals: MapScope,
    inputs: MapScope,
    moment: Moment,
}

impl Frame {
    /// What remains known for the pieces of a template once its own passes are done.
    pub(crate) fn outer(&self) -> Layered<'_> {
        Layered::new([&*self.globals as &dyn Scope, &self.inputs])
    }

    /// The values of the inputs.
    pub(crate) fn inputs(&self) -> &MapScope {
        &self.inputs
    }

    pub(crate) fn moment(&self) -> &Moment {
        &self.moment
    }

    /// The two passes that every text of a template goes through when it is called.
    pub(crate) fn replace(&self, value: &mut Json) -> Result<(), String> {
        let first = Layered::new([&*self.globals as &dyn Scope, &self.locals]);
        replace(value, &first, Mode::Allow, &self.moment)?;
        let second = first.with(&self.inputs);
        replace(value, &second, Mode::Allow, &self.moment)
    }

    /// The same for a part of a document.
    pub(crate) fn replaced<T: Serialize + DeserializeOwned>(&self, part: &T) -> Result<T, String> {
        let mut value = encode(part)?;
        self.replace(&mut value)?;
        decode(value)
    }
}

/// One pass over every text of a value.
pub(crate) fn replace(
    value: &mut Json,
    scope: &dyn Scope,
    mode: Mode<'_>,
    moment: &Moment,
) -> Result<(), String> {
    tags::replace_in_json(value, scope, mode, moment)
        .map(|_| ())
        .map_err(|fault| fault.to_string())
}

pub(crate) fn encode<T: Serialize>(part: &T) -> Result<Json, String> {
    serde_json::to_value(part).map_err(|fault| fault.to_string())
}

pub(crate) fn decode<T: DeserializeOwned>(value: Json) -> Result<T, String> {
    serde_json::from_value(value)
        .map_err(|fault| format!("a value does not fit once its tags are replaced: {fault}"))
}

/// Settles the inputs of a call and replaces the tags of the template.
pub(crate) fn process_call(
    turn: &mut Turn<'_>,
    call: &Call,
    template: &Template,
) -> Result<Processed, String> {
    let supplied = supply(template, &call.arguments)?;
    let shape = turn.run.shape(&call.template);
    let mut locals = locals_of(turn, &call.name, &call.template, &shape);
    let calls_from_dag = call
        .boundary
        .as_ref()
        .is_some_and(|boundary| turn.node(boundary).kind == NodeKind::Dag);
    let word = if calls_from_dag { "tasks" } else { "steps" };
    locals.set(format!("{word}.name"), call.full_call.as_str());
    let mut frame = Frame {
        globals: turn.globals(),
        locals,
        inputs: MapScope::new(),
        moment: turn.moment(&call.name),
    };
    let values = settle(&mut frame, &supplied)?;
    add_output_paths(&mut frame.inputs, &shape);
    finish(&frame, template, values)
}

/// The template of a node that exists, its inputs being what they were when it was created.
pub(crate) fn process_again(turn: &mut Turn<'_>, id: &NodeId) -> Result<Processed, String> {
    let template = call::template_of(turn, &turn.node(id).template_name)?;
    let frame = frame_of(turn, id);
    let inputs = turn.node(id).inputs.clone();
    finish(&frame, &template, inputs)
}

/// What the template of a node knows.
pub(crate) fn frame_of(turn: &mut Turn<'_>, id: &NodeId) -> Frame {
    let node = turn.node(id);
    let (name, template) = (node.name.clone(), node.template_name.clone());
    let (word, full_call) = caller_of(turn, node);
    let mut inputs = input_scope(&node.inputs);
    let shape = turn.run.shape(&template);
    add_output_paths(&mut inputs, &shape);
    let mut locals = locals_of(turn, &name, &template, &shape);
    locals.set(format!("{word}.name"), full_call);
    Frame {
        globals: turn.globals(),
        locals,
        inputs,
        moment: turn.moment(&name),
    }
}

/// How the template that called a node names it.
fn caller_of(turn: &Turn<'_>, node: &Node) -> (&'static str, String) {
    match &node.boundary {
        None => ("steps", String::new()),
        Some(boundary) => {
            let boundary = turn.node(boundary);
            let word = if boundary.kind == NodeKind::Dag {
                "tasks"
            } else {
                "steps"
            };
            (word, call::display_name(&node.name, &boundary.name))
        }
    }
}

fn locals_of(turn: &Turn<'_>, node_name: &str, template: &str, shape: &TemplateShape) -> MapScope {
    let mut locals = MapScope::new();
    locals.set("node.name", node_name);
    if shape.is_leaf {
        locals.set(
            "pod.name",
            identity::pod_name(turn.run.name(), node_name, template),
        );
    }
    locals
}

/// The inputs with the values they are given, tags not replaced.
fn supply(template: &Template, arguments: &[Parameter]) -> Result<Vec<NamedValue>, String> {
    let value_of = |input: &Parameter| {
        let given = arguments
            .iter()
            .find(|argument| argument.name == input.name);
        match given {
            Some(argument) => argument.value.clone(),
            None => input.value.clone().or_else(|| input.default.clone()),
        }
    };
    template
        .inputs
        .parameters
        .iter()
        .map(|input| match value_of(input) {
            Some(value) => Ok(NamedValue {
                name: input.name.clone(),
                value: value.0,
            }),
            None => Err(format!("inputs.parameters.{} was not supplied", input.name)),
        })
        .collect()
}

/// Replaces the tags in the values of inputs: first by what the call knows, then by each other.
fn settle(frame: &mut Frame, supplied: &[NamedValue]) -> Result<Vec<NamedValue>, String> {
    let mut values: Json = supplied
        .iter()
        .map(|input| Json::String(input.value.clone()))
        .collect();
    let first = Layered::new([&*frame.globals as &dyn Scope, &frame.locals]);
    replace(&mut values, &first, Mode::Allow, &frame.moment)?;
    let once = input_scope(&named(supplied, &values));
    let second = Layered::new([&*frame.globals as &dyn Scope, &frame.locals, &once]);
    replace(&mut values, &second, Mode::Allow, &frame.moment)?;
    let settled = named(supplied, &values);
    frame.inputs = input_scope(&settled);
    Ok(settled)
}

fn named(inputs: &[NamedValue], values: &Json) -> Vec<NamedValue> {
    let values = values.as_array().into_iter().flatten();
    inputs
        .iter()
        .zip(values)
        .map(|(input, value)| NamedValue {
            name: input.name.clone(),
            value: value.as_str().unwrap_or_default().to_owned(),
        })
        .collect()
}

fn input_scope(inputs: &[NamedValue]) -> MapScope {
    let mut scope = MapScope::new();
    for input in inputs {
        scope.set(format!("inputs.parameters.{}", input.name), &*input.value);
    }
    let list: Vec<Parameter> = inputs.iter().map(parameter_of).collect();
    scope.set("inputs.parameters", globals::go_json_of(&list));
    scope
}

fn parameter_of(input: &NamedValue) -> Parameter {
    Parameter {
        name: input.name.clone(),
        value: Some(input.value.as_str().into()),
        ..Parameter::default()
    }
}

fn add_output_paths(scope: &mut MapScope, shape: &TemplateShape) {
    for (output, path) in &shape.output_paths {
        scope.set(format!("outputs.parameters.{output}.path"), path.as_str());
    }
}

fn finish(
    frame: &Frame,
    template: &Template,
    inputs: Vec<NamedValue>,
) -> Result<Processed, String> {
    let declared = template.inputs.clone();
    let mut body = template.clone();
    body.inputs.parameters.clear();
    let mut processed: Template = frame.replaced(&body)?;
    processed.inputs = declared;
    for (input, value) in processed.inputs.parameters.iter_mut().zip(&inputs) {
        input.value = Some(value.value.as_str().into());
        input.default = None;
        input.value_from = None;
    }
    Ok(Processed {
        template: processed,
        inputs,
    })
}

/// Replaces what the whole workflow knows.
pub(crate) fn replace_globals(
    turn: &mut Turn<'_>,
    synchronization: &Synchronization,
) -> Result<Synchronization, String> {
    let (globals, moment) = (turn.globals(), turn.moment(""));
    let mut value = encode(synchronization)?;
    replace(&mut value, &*globals, Mode::Allow, &moment)?;
    decode(value)
}

/// The volumes of the workflow that a leaf mounts, tags replaced.
pub(crate) fn volumes_of(turn: &mut Turn<'_>, template: &Template) -> Result<Vec<Volume>, String> {
    let Some(container) = leaf::container_of(template) else {
        return Ok(Vec::new());
    };
    let mounted: Vec<Volume> = turn
        .run
        .workflow()
        .spec
        .volumes
        .iter()
        .filter(|volume| {
            container
                .volume_mounts
                .iter()
                .any(|mount| mount.name == volume.name)
        })
        .cloned()
        .collect();
    if mounted.is_empty() {
        return Ok(mounted);
    }
    let (globals, moment) = (turn.globals(), turn.moment(""));
    let mut value = encode(&mounted)?;
    replace(&mut value, &*globals, Mode::Allow, &moment)?;
    decode(value)
}

/// The steps or tasks that a call speaks of.
pub(crate) fn mentions_of<T: Serialize>(call: &T, word: &str) -> Result<Mentions, String> {
    let text = serde_json::to_string(call).map_err(|fault| fault.to_string())?;
    Ok(mentions::of(&text, word))
}

/// What earlier steps or tasks gave must be there; other tags may wait for the item of a fan-out.
const MUST_RESOLVE: &[&str] = &["steps", "tasks"];

/// Replaces what earlier steps or tasks gave in a call. The condition comes first: where it is
/// false the rest is left alone. An argument that is nothing but an absent output is dropped, so
/// that the default of the input applies.
pub(crate) fn resolve<T: Callable>(
    call: &T,
    frame: &Frame,
    produced: &MapScope,
) -> Result<T, String> {
    let scope = frame.outer().with(produced);
    let mut call = call.clone();
    if !call.when().is_empty() {
        let mode = Mode::Strict(MUST_RESOLVE);
        let condition = tags::replace(call.when(), &scope, mode, frame.moment())
            .map_err(|fault| fault.to_string())?
            .text;
        match when::evaluate(&condition) {
            Ok(true) => {}
            Ok(false) => {
                call.set_when(condition);
                return Ok(call);
            }
            // It may speak of the item of a fan-out.
            Err(_) if call.is_fan_out() => {}
            Err(fault) => return Err(fault.to_string()),
        }
    }
    call.arguments_mut().parameters.retain(|argument| {
        let text = argument.value.as_ref().map_or("", |value| value.as_str());
        tags::absent_reference(text, &scope).is_none()
    });
    let mut value = encode(&call)?;
    let mode = Mode::Strict(MUST_RESOLVE);
    let left = tags::replace_in_json(&mut value, &scope, mode, frame.moment())
        .map_err(|fault| fault.to_string())?;
    match left.iter().find(|tag| speaks_of_calls(tag)) {
        // With an item at hand it may still be evaluated.
        Some(tag) if !call.is_fan_out() => Err(format!("failed to evaluate {{{{{tag}}}}}")),
        Some(_) | None => decode(value),
    }
}

/// Whether a tag that was left is an expression over earlier steps or tasks.
fn speaks_of_calls(tag: &str) -> bool {
    let Some(expression) = tag.strip_prefix('=') else {
        return false;
    };
    Expression::parse(expression).is_ok_and(|expression| {
        let names = expression.used_names();
        names.iter().any(|name| {
            let first = name.split(['.', '[']).next().unwrap_or_default();
            MUST_RESOLVE.contains(&first)
        })
    })
}
