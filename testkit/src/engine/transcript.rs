//! What happened, as lines that read like a story.

use std::fmt::Write as _;

use groundplan_engine::{
    action::Action,
    event::Event,
    id::NodeId,
    node::{Node, NodeOutputs},
    run::Run,
};

/// An event as one line.
pub fn line_of_event(event: &Event, run: &Run) -> String {
    let name = |id: &NodeId| match run.node(id) {
        Some(node) => node.name.clone(),
        None => id.to_string(),
    };
    match event {
        Event::RunCreated(new) => format!("run created: {}", new.id),
        Event::RunLocksRequested { keys } => format!("run asks for {}", joined(keys)),
        Event::RunLocksWaiting { message, .. } => format!("run waits: {message}"),
        Event::RunLocksGranted => "run holds its locks".to_owned(),
        Event::RunLocksReleased => "run lets its locks go".to_owned(),
        Event::RunStarted { deadline, .. } => match deadline {
            Some(_) => "run started, with a deadline".to_owned(),
            None => "run started".to_owned(),
        },
        Event::StopRequested { .. } => "stop requested".to_owned(),
        Event::DeadlinePassed { .. } => "deadline passed".to_owned(),
        Event::NodeCreated(created) => {
            let mut line = format!(
                "{} {} {}",
                created.kind.as_str(),
                created.name,
                created.phase
            );
            for input in &created.inputs {
                let _ = write!(line, " {}={:?}", input.name, input.value);
            }
            if !created.message.is_empty() {
                let _ = write!(line, ": {}", created.message);
            }
            line
        }
        Event::NodeLocksRequested { node, keys } => {
            format!("{} asks for {}", name(node), joined(keys))
        }
        Event::NodeLocksWaiting { node, message, .. } => {
            format!("{} waits: {message}", name(node))
        }
        Event::NodeLocksGranted { node } => format!("{} holds its locks", name(node)),
        Event::NodeLocksReleased { node } => format!("{} lets its locks go", name(node)),
        Event::NodeStarted { node } => format!("{} begins", name(node)),
        Event::ExecutionRequested {
            node, execution, ..
        } => format!("{} requests #{execution}", name(node)),
        Event::ExecutionStarted { node, .. } => format!("{} runs", name(node)),
        Event::ExecutionStopRequested { node, .. } => format!("{} is asked to stop", name(node)),
        Event::ExecutionEnded {
            node, execution, ..
        } => format!("{} #{execution} ended", name(node)),
        Event::NodeFinished(finished) => {
            let mut line = format!("{} {}", name(&finished.node), finished.phase);
            line.push_str(&outputs_of(&finished.outputs));
            if let Some(message) = finished.message.as_ref().filter(|text| !text.is_empty()) {
                let _ = write!(line, ": {message}");
            }
            line
        }
        Event::RunFinished { phase, message, .. } => match message.as_str() {
            "" => format!("run {phase}"),
            message => format!("run {phase}: {message}"),
        },
    }
}

fn joined(keys: &[groundplan_engine::sync::LockKey]) -> String {
    let keys: Vec<&str> = keys.iter().map(|key| key.0.as_str()).collect();
    keys.join(", ")
}

fn outputs_of(outputs: &NodeOutputs) -> String {
    let mut text = String::new();
    for output in &outputs.parameters {
        let _ = write!(text, " {}={:?}", output.name, output.value);
    }
    if let Some(result) = &outputs.result {
        let _ = write!(text, " result={result:?}");
    }
    text
}

/// An action as one line.
pub fn line_of_action(action: &Action) -> String {
    match action {
        Action::StartStep(request) => {
            let template = &request.template;
            let container = template
                .container
                .as_ref()
                .or_else(|| template.script.as_ref().map(|script| &script.container));
            let words = container.map(|container| {
                let words = container.command.iter().chain(&container.args);
                words
                    .map(|word| word.as_str())
                    .collect::<Vec<_>>()
                    .join(" ")
            });
            let source = template
                .script
                .as_ref()
                .map(|script| format!(" <<< {:?}", script.source));
            format!(
                "start #{} {} [{}{}]",
                request.step.execution,
                request.node_name,
                words.unwrap_or_default(),
                source.unwrap_or_default()
            )
        }
        Action::StopStep { step, reason } => format!("stop #{} ({reason:?})", step.execution),
    }
}

/// The nodes of a run in the order of their creation, one line each.
pub fn tree_of(run: &Run) -> String {
    let mut text = format!("{} {}: {}\n", run.name(), run.phase(), run.message());
    for node in run.nodes() {
        text.push_str(&line_of_node(run, node));
        text.push('\n');
    }
    text
}

fn line_of_node(run: &Run, node: &Node) -> String {
    let mut line = format!("{} {} {}", node.kind.as_str(), node.name, node.phase);
    line.push_str(&outputs_of(&node.outputs));
    if !node.message.is_empty() {
        let _ = write!(line, ": {}", node.message);
    }
    if !node.children.is_empty() {
        let names = node.children.iter().filter_map(|id| run.node(id));
        let names: Vec<&str> = names.map(|child| child.display_name.as_str()).collect();
        let _ = write!(line, " -> {}", names.join(" "));
    }
    line
}
