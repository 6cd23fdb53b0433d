//! Calling a template: its inputs are settled, its node is created, its locks are asked for, and
//! then it begins.

use crate::{
    decide::Turn,
    event::{After, Event, NodeCreated},
    id::NodeId,
    locks,
    node::{NamedValue, NodeKind, NodePhase, dag, leaf, steps},
    scope::{self, Processed},
    sync::LockKey,
};
use groundplan_workflow::document::{Parameter, Template, TemplateKind};

/// Templates may call each other so deep.
const DEEPEST: usize = 100;

/// A call of a template.
pub(crate) struct Call {
    /// Full name of the node.
    pub(crate) name: String,
    /// The step or task of the document.
    pub(crate) call: String,
    /// The same with the item of a fan-out; what `steps.name` and `tasks.name` stand for.
    pub(crate) full_call: String,
    /// The template called.
    pub(crate) template: String,
    /// What it is given.
    pub(crate) arguments: Vec<Parameter>,
    /// The node whose template calls.
    pub(crate) boundary: Option<NodeId>,
    /// The node that waits for this one.
    pub(crate) parent: Option<NodeId>,
    /// What this one comes after.
    pub(crate) after: After,
}

/// What a node has from its template, tags replaced, and not from its name.
#[derive(Debug, Default)]
struct Own {
    /// The targets of a DAG, where they are others than those of the document.
    target: Option<String>,
    /// How the node is called on screens.
    display_name: Option<String>,
}

/// A call that could not be carried out. Its node exists and is in error.
#[derive(Debug)]
pub(crate) struct CallFault {
    pub(crate) message: String,
}

/// The message of a node that could not be run: a DAG says which task it was.
fn shown_fault(turn: &Turn<'_>, boundary: Option<&NodeId>, name: &str, message: &str) -> String {
    match boundary {
        Some(boundary) if turn.node(boundary).kind == NodeKind::Dag => {
            format!("task '{name}' errored: {message}")
        }
        Some(_) | None => message.to_owned(),
    }
}

impl Turn<'_> {
    /// Ends a called node in error, and keeps the message for whoever called.
    pub(crate) fn fail_call(&mut self, id: &NodeId, message: String) {
        let node = self.node(id);
        let shown = shown_fault(self, node.boundary.as_ref(), &node.name, &message);
        self.fail_node(id, shown);
        self.faults.insert(id.clone(), message);
    }

    /// Why a node could not be run, if that turned out in this turn.
    pub(crate) fn take_fault(&mut self, id: &NodeId) -> Option<String> {
        self.faults.remove(id)
    }
}

/// Calls the entry template.
pub(crate) fn enter(turn: &mut Turn<'_>) -> Result<NodeId, CallFault> {
    let workflow = turn.run.workflow();
    let call = Call {
        name: workflow.metadata.name.clone(),
        call: String::new(),
        full_call: String::new(),
        template: workflow.spec.entrypoint.clone(),
        arguments: workflow.spec.arguments.parameters.clone(),
        boundary: None,
        parent: None,
        after: After::Nothing,
    };
    execute(turn, call)
}

/// Calls a template. The node exists afterwards, in whatever phase.
pub(crate) fn execute(turn: &mut Turn<'_>, call: Call) -> Result<NodeId, CallFault> {
    if depth(turn, &call) >= DEEPEST {
        let message = "Maximum recursion depth exceeded".to_owned();
        return Ok(create_stillborn(turn, &call, NodePhase::Error, message));
    }
    let prepared = prepare(turn, &call);
    let (processed, keys) = match prepared {
        Ok(prepared) => prepared,
        Err(message) => {
            let shown = shown_fault(turn, call.boundary.as_ref(), &call.name, &message);
            create_stillborn(turn, &call, NodePhase::Error, shown);
            return Err(CallFault { message });
        }
    };
    let waits = !keys.is_empty();
    let (kind, phase) = match processed.template.kind() {
        Some(TemplateKind::Steps) => (NodeKind::Steps, NodePhase::Running),
        Some(TemplateKind::Dag) => (NodeKind::Dag, NodePhase::Running),
        Some(TemplateKind::Container | TemplateKind::Script) | None => {
            (NodeKind::Pod, NodePhase::Pending)
        }
    };
    let phase = if waits { NodePhase::Pending } else { phase };
    let inputs = processed.inputs.clone();
    let own = Own {
        target: target_of(turn, &call.template, &processed.template),
        display_name: own_display_name(&processed.template).map(str::to_owned),
    };
    let node = create_with(turn, &call, (kind, phase, String::new()), inputs, own);
    if waits {
        locks::ask_for_node(turn, &node, keys);
        return Ok(node);
    }
    match processed.template.kind() {
        Some(TemplateKind::Steps) => steps::begin(turn, &node),
        Some(TemplateKind::Dag) => dag::begin(turn, &node),
        Some(TemplateKind::Container | TemplateKind::Script) | None => {
            leaf::begin(turn, &node, processed.template);
        }
    }
    match turn.take_fault(&node) {
        None => Ok(node),
        Some(message) => Err(CallFault { message }),
    }
}

fn depth(turn: &Turn<'_>, call: &Call) -> usize {
    let mut depth = 1;
    let mut boundary = call.boundary.clone();
    while let Some(id) = boundary {
        depth += 1;
        boundary = turn.node(&id).boundary.clone();
    }
    depth
}

fn prepare(turn: &mut Turn<'_>, call: &Call) -> Result<(Processed, Vec<LockKey>), String> {
    let template = template_of(turn, &call.template)?;
    let processed = scope::process_call(turn, call, &template)?;
    if processed.template.kind().is_none() {
        return Err(format!("template `{}` says not what to run", call.template));
    }
    check_display_name(&processed.template)?;
    let keys = processed
        .template
        .synchronization
        .as_ref()
        .map(|synchronization| locks::keys_of(synchronization, turn.run.namespace()))
        .unwrap_or_default();
    locks::check(turn, call.parent.as_ref(), &keys)?;
    Ok((processed, keys))
}

/// A template by name.
pub(crate) fn template_of(turn: &Turn<'_>, name: &str) -> Result<Template, String> {
    turn.run
        .workflow()
        .templates
        .get(name)
        .cloned()
        .ok_or_else(|| format!("template `{name}` is not defined"))
}

/// Creates the node of a call that never runs.
pub(crate) fn create_stillborn(
    turn: &mut Turn<'_>,
    call: &Call,
    phase: NodePhase,
    message: String,
) -> NodeId {
    create(turn, call, NodeKind::Skipped, phase, message, Vec::new())
}

/// The targets of a DAG, where replacing tags made them others than those of the document.
fn target_of(turn: &Turn<'_>, name: &str, processed: &Template) -> Option<String> {
    let target = &processed.dag.as_ref()?.target;
    let written = &turn
        .run
        .workflow()
        .templates
        .get(name)?
        .dag
        .as_ref()?
        .target;
    (written != target).then(|| target.clone())
}

/// Creates the node of a call.
pub(crate) fn create(
    turn: &mut Turn<'_>,
    call: &Call,
    kind: NodeKind,
    phase: NodePhase,
    message: String,
    inputs: Vec<NamedValue>,
) -> NodeId {
    create_with(turn, call, (kind, phase, message), inputs, Own::default())
}

fn create_with(
    turn: &mut Turn<'_>,
    call: &Call,
    (kind, phase, message): (NodeKind, NodePhase, String),
    inputs: Vec<NamedValue>,
    own: Own,
) -> NodeId {
    let id = turn.run.id_of(&call.name);
    let display_name = match (own.display_name, &call.boundary) {
        (Some(own), _) => own,
        (None, Some(boundary)) => display_name(&call.name, &turn.node(boundary).name),
        (None, None) => call.name.clone(),
    };
    let at = turn.now;
    turn.record(Event::NodeCreated(Box::new(NodeCreated {
        id: id.clone(),
        name: call.name.clone(),
        display_name,
        kind,
        phase,
        message,
        template_name: call.template.clone(),
        call: call.call.clone(),
        boundary: call.boundary.clone(),
        parent: call.parent.clone(),
        after: call.after.clone(),
        inputs,
        target: own.target,
        at,
    })));
    id
}

/// The annotation with which a template names its nodes.
const DISPLAY_NAME: &str = "workflows.argoproj.io/display-name";

/// The name that a template gives its nodes; an empty one counts for nothing.
fn own_display_name(processed: &Template) -> Option<&str> {
    let name = processed.annotations.get(DISPLAY_NAME)?.as_str();
    (!name.is_empty()).then_some(name)
}

/// Letters, digits, hyphens and dots, 2 to 63 of them, at the ends a letter or digit.
fn check_display_name(processed: &Template) -> Result<(), String> {
    let Some(name) = own_display_name(processed) else {
        return Ok(());
    };
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    let good = (2..=63).contains(&bytes.len())
        && bytes.iter().copied().all(is_inner)
        && is_end(bytes.first())
        && is_end(bytes.last());
    match good {
        true => Ok(()),
        false => Err(
            "displayName must match the regex ^[a-zA-Z0-9][a-zA-Z0-9-.]{0,61}[a-zA-Z0-9]$"
                .to_owned(),
        ),
    }
}

/// A node's name without that of its boundary, the group's number and the dot.
pub(crate) fn display_name(name: &str, boundary: &str) -> String {
    let rest = name.strip_prefix(boundary).unwrap_or(name);
    let after_number = rest
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
        .filter(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(rest, |(_, after)| after);
    match after_number.strip_prefix('.') {
        Some(name) => name.to_owned(),
        None => rest.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::display_name;

    #[test]
    fn a_display_name_is_the_name_within_the_template() {
        assert_eq!(display_name("r.a", "r"), "a");
        assert_eq!(display_name("r[0].a(0:x)", "r"), "a(0:x)");
        assert_eq!(display_name("r[12]", "r"), "[12]");
        assert_eq!(display_name("r.a[0].b", "r.a"), "b");
    }
}
