//! What is said of a run that is over.

use groundplan_engine::{
    id::{RunId, StepId},
    node::{Node, NodeKind, RunPhase},
    run::Run,
};

use super::show::Lines;
use crate::{
    compose::Composition,
    failure::Failure,
    terminal::{
        self,
        style::{Paint, Style, duration, first_line, harmless},
    },
};

/// What a person reads when a run is over.
pub(super) async fn conclude(
    composition: &Composition,
    id: &RunId,
    run: &Run,
) -> Result<(), Failure> {
    let paint = Paint::for_stream(&std::io::stdout());
    failures(composition, id, run, TAIL).await?;
    let style = if run.phase() == RunPhase::Succeeded {
        Style::Good
    } else {
        Style::Bad
    };
    let time = match (run.started_at(), run.finished_at()) {
        (Some(start), Some(end)) => format!(" in {}", duration(end.0 - start.0)),
        _ => String::new(),
    };
    let message = if run.message().is_empty() {
        String::new()
    } else {
        format!(": {}", harmless(first_line(run.message())))
    };
    terminal::line("");
    terminal::line(format!(
        "{} {}{time}{message}",
        paint.with(style, run.phase().as_str()),
        harmless(run.name())
    ));
    terminal::line(paint.with(
        Style::Faint,
        format!(
            "groundplan logs {0}  ·  groundplan runs show {0}",
            run.name()
        ),
    ));
    Ok(())
}

/// Shows the steps that went wrong, each with so many last lines of its log.
pub(crate) async fn failures(
    composition: &Composition,
    id: &RunId,
    run: &Run,
    lines: usize,
) -> Result<(), Failure> {
    let paint = Paint::for_stream(&std::io::stdout());
    for node in run
        .nodes()
        .filter(|node| node.kind == NodeKind::Pod && node.phase.is_failure())
    {
        terminal::line("");
        terminal::line(format!(
            "{} {}",
            paint.with(Style::Bad, "✖"),
            paint.with(Style::Strong, harmless(&node.name))
        ));
        for line in node.message.lines() {
            terminal::line(format!("  {}", harmless(line)));
        }
        for line in last_lines(composition, id, node, lines).await? {
            terminal::line(paint.with(Style::Faint, format!("  │ {}", harmless(&line))));
        }
        if node.outputs.exit_code == Some(NOT_FOUND) {
            terminal::line(
                "  hint: a program was not found; `groundplan tools list` says which tools are here",
            );
        }
    }
    Ok(())
}

/// What a shell answers for a program that it does not find.
const NOT_FOUND: i32 = 127;

/// Lines shown of a failed step.
const TAIL: usize = 20;

/// The last lines of what a leaf printed when it was started last.
pub(crate) async fn last_lines(
    composition: &Composition,
    run: &RunId,
    node: &Node,
    most: usize,
) -> Result<Vec<String>, Failure> {
    let Some(execution) = node.executions.last() else {
        return Ok(Vec::new());
    };
    let step = StepId {
        run: run.clone(),
        node: node.id.clone(),
        execution: execution.number,
    };
    let logs = &composition.controller.ports().logs;
    if logs.record(&step).await?.is_none() {
        return Ok(Vec::new());
    }
    let mut source = logs.read(&step, 0).await?;
    let mut lines = Lines::default();
    let mut tail = std::collections::VecDeque::new();
    let mut keep = |line: String| {
        tail.push_back(line);
        if tail.len() > most {
            tail.pop_front();
        }
    };
    while let Some(frames) = source.next().await? {
        frames
            .iter()
            .flat_map(|frame| lines.push(&frame.bytes))
            .for_each(&mut keep);
    }
    lines.rest().into_iter().for_each(&mut keep);
    Ok(tail.into())
}
