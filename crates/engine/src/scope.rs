//! What names in a template mean, and the passes in which they are replaced.

use crate::{
    call::{self, Call},
    decide::Turn,
    id::NodeId,
    node::{NamedValue, leaf},
};
use groundplan_workflow::document::{Synchronization, Template, Volume};

/// A template with its tags replaced, and the values of its inputs.
pub(crate) struct Processed {
    pub(crate) template: Template,
    pub(crate) inputs: Vec<NamedValue>,
}

/// Settles the inputs of a call.
pub(crate) fn process_call(
    _turn: &mut Turn<'_>,
    call: &Call,
    template: &Template,
) -> Result<Processed, String> {
    let mut inputs = Vec::new();
    for input in &template.inputs.parameters {
        let argument = call
            .arguments
            .iter()
            .find(|argument| argument.name == input.name)
            .and_then(|argument| argument.value.as_ref());
        let value = argument.or(input.value.as_ref()).or(input.default.as_ref());
        let Some(value) = value else {
            return Err(format!("inputs.parameters.{} was not supplied", input.name));
        };
        inputs.push(NamedValue {
            name: input.name.clone(),
            value: value.0.clone(),
        });
    }
    Ok(Processed {
        template: template.clone(),
        inputs,
    })
}

/// The template of a node that exists.
pub(crate) fn process_again(turn: &mut Turn<'_>, id: &NodeId) -> Result<Processed, String> {
    let node = turn.node(id);
    let inputs = node.inputs.clone();
    let template = call::template_of(turn, &node.template_name)?;
    Ok(Processed { template, inputs })
}

/// Replaces what the whole workflow knows.
pub(crate) fn replace_globals(
    _turn: &mut Turn<'_>,
    synchronization: &Synchronization,
) -> Result<Synchronization, String> {
    Ok(synchronization.clone())
}

/// The volumes of the workflow that a leaf mounts.
pub(crate) fn volumes_of(turn: &mut Turn<'_>, template: &Template) -> Result<Vec<Volume>, String> {
    let mounts = leaf::container_of(template).map(|container| container.volume_mounts.as_slice());
    let volumes = &turn.run.workflow().spec.volumes;
    Ok(volumes
        .iter()
        .filter(|volume| {
            mounts
                .unwrap_or_default()
                .iter()
                .any(|mount| mount.name == volume.name)
        })
        .cloned()
        .collect())
}
