//! `groundplan logs`: what steps wrote, masked.

use std::collections::BTreeSet;

use groundplan_engine::{
    id::{NodeId, StepId},
    node::{Node, NodeKind},
    run::Run,
};
use groundplan_ports::{logs::LogSource, runner::Runner};

use crate::{
    arguments::{Global, Logs},
    commands::run::show::Lines,
    compose::{Choices, Composition, compose, runtime},
    config::Machine,
    exit::Exit,
    failure::Failure,
    terminal::{
        self,
        style::{Paint, Style, harmless},
    },
};

/// Prints the logs of a run, or of one node.
pub(crate) fn logs(global: &Global, arguments: &Logs) -> Result<Exit, Failure> {
    let machine = Machine::read(global)?;
    let runtime = runtime()?;
    let composition = runtime.block_on(compose(&machine, Choices::default()))?;
    runtime.block_on(print(&composition, arguments))
}

async fn print(composition: &Composition, arguments: &Logs) -> Result<Exit, Failure> {
    let controller = &composition.controller;
    let found = controller.ports().store.find_run(&arguments.run).await?;
    let mut printed = BTreeSet::new();
    loop {
        controller.record(&found.run).await?;
        let history = controller.history(&found.run.0).await?;
        let run = &history.run;
        let nodes = chosen(run, arguments.node.as_deref())?;
        let named = nodes.len() > 1 || arguments.node.is_none();
        for (step, name) in steps(&found.run, run, &nodes) {
            if printed.insert(step.clone()) {
                print_step(composition, &step, named.then_some(name.as_str())).await?;
            }
        }
        if !arguments.follow || run.phase().is_finished() {
            return Ok(Exit::Done);
        }
        if super::runs::driver(controller, &found.run).await?.is_none()
            && run.live_leaves().next().is_none()
        {
            terminal::note(format!(
                "nobody drives this run; go on with it: groundplan run --resume {}",
                run.name()
            ));
            return Ok(Exit::Done);
        }
        controller
            .ports()
            .store
            .wait_for_hint(std::time::Duration::from_secs(1))
            .await?;
    }
}

/// The leaves that a name chooses: by full name, id, display name, or as a part of the tree.
fn chosen(run: &Run, name: Option<&str>) -> Result<Vec<NodeId>, Failure> {
    let leaf = |node: &&Node| node.kind == NodeKind::Pod;
    let Some(name) = name else {
        return Ok(run
            .nodes()
            .filter(leaf)
            .map(|node| node.id.clone())
            .collect());
    };
    let is_named =
        |node: &Node| node.name == name || node.id.0 == name || node.display_name == name;
    let mut found: Vec<NodeId> = Vec::new();
    for node in run.nodes().filter(|node| is_named(node)) {
        let below = |leaf: &Node| leaf.name == node.name || is_below(run, leaf, &node.id);
        found.extend(
            run.nodes()
                .filter(leaf)
                .filter(|leaf| below(leaf))
                .map(|leaf| leaf.id.clone()),
        );
    }
    if found.is_empty() {
        let names: Vec<&str> = run
            .nodes()
            .filter(leaf)
            .map(|node| node.display_name.as_str())
            .take(20)
            .collect();
        return Err(Failure::user(format!(
            "run `{}` has no node `{name}` with a log",
            run.name()
        ))
        .with_hint(format!("its leaves are: {}", names.join(", "))));
    }
    found.dedup();
    Ok(found)
}

fn is_below(run: &Run, node: &Node, above: &NodeId) -> bool {
    let mut next = node.parent.as_ref();
    while let Some(parent) = next {
        if parent == above {
            return true;
        }
        next = run.node(parent).and_then(|parent| parent.parent.as_ref());
    }
    false
}

fn steps(id: &groundplan_engine::id::RunId, run: &Run, nodes: &[NodeId]) -> Vec<(StepId, String)> {
    nodes
        .iter()
        .filter_map(|node| run.node(node))
        .flat_map(|node| {
            node.executions.iter().map(|execution| {
                let step = StepId {
                    run: id.clone(),
                    node: node.id.clone(),
                    execution: execution.number,
                };
                (step, terminal::path_of(run, node))
            })
        })
        .collect()
}

async fn print_step(
    composition: &Composition,
    step: &StepId,
    name: Option<&str>,
) -> Result<(), Failure> {
    let logs = &composition.controller.ports().logs;
    let mut source: Box<dyn LogSource> = match logs.record(step).await? {
        Some(_) => logs.read(step, 0).await?,
        None => composition.runner.log(step).await?,
    };
    let paint = Paint::for_stream(&std::io::stdout());
    let mut lines = Lines::default();
    while let Some(frames) = source.next().await? {
        for frame in frames {
            match name {
                None => terminal::bytes(&frame.bytes),
                Some(name) => lines
                    .push(&frame.bytes)
                    .iter()
                    .for_each(|line| print_line(paint, name, line)),
            }
        }
    }
    if let (Some(name), Some(line)) = (name, lines.rest()) {
        print_line(paint, name, &line);
    }
    Ok(())
}

fn print_line(paint: Paint, name: &str, line: &str) {
    let line = line.trim_end_matches('\r');
    terminal::line(format!(
        "{} {line}",
        paint.with(Style::Faint, format!("{} |", harmless(name)))
    ));
}
