//! `groundplan runs`: history.

use groundplan_controller::{Controller, History};
use groundplan_engine::{
    id::RunId,
    node::{Node, NodeKind},
};
use groundplan_ports::store::{Owner, RunRow};
use groundplan_store::owner::{Liveness, liveness};

use crate::{
    arguments::{Global, Runs},
    clock,
    compose::{Choices, Composition, compose, runtime},
    config::Machine,
    exit::Exit,
    failure::Failure,
    terminal::{
        self,
        style::{Paint, Style, cut, duration, first_line, harmless, width},
        tree::{Around, draw},
    },
};

/// Lists runs, shows one, or asks one to stop.
pub(crate) fn runs(global: &Global, command: Option<Runs>) -> Result<Exit, Failure> {
    let machine = Machine::read(global)?;
    let runtime = runtime()?;
    let composition = runtime.block_on(compose(&machine, Choices::default()))?;
    runtime.block_on(async {
        match command.unwrap_or(Runs::List { limit: 20 }) {
            Runs::List { limit } => list(&composition.controller, limit).await,
            Runs::Show { run, json } => show(&composition, &run, json).await,
            Runs::Stop { run } => stop(&composition.controller, &run).await,
        }
    })
}

async fn list(controller: &Controller, limit: usize) -> Result<Exit, Failure> {
    let mut rows = controller.ports().store.runs(limit).await?;
    for row in rows.iter_mut().filter(|row| row.finished_at.is_none()) {
        controller.record(&row.run).await?;
        *row = controller.ports().store.find_run(&row.run.0).await?;
    }
    if rows.is_empty() {
        terminal::note("no runs yet; `groundplan run FILE` makes one");
        return Ok(Exit::Done);
    }
    let paint = Paint::for_stream(&std::io::stdout());
    let widest = rows
        .iter()
        .map(|row| width(&row.name))
        .max()
        .unwrap_or(4)
        .clamp(4, 48);
    let head = format!(
        "{:<widest$}  {:<9}  {:>7}  {:<16}  ID",
        "NAME", "PHASE", "TOOK", "CREATED (UTC)"
    );
    terminal::line(paint.with(Style::Faint, head));
    for row in rows {
        let phase = paint.with(phase_style(&row.phase), format!("{:<9}", row.phase));
        let created = date(row.created_at.0);
        let name = cut(&harmless(&row.name), widest);
        let id = paint.with(Style::Faint, &row.run.0);
        terminal::line(format!(
            "{name:<widest$}  {phase}  {:>7}  {created}  {id}",
            took(&row)
        ));
    }
    Ok(Exit::Done)
}

fn took(row: &RunRow) -> String {
    let Some(start) = row.started_at else {
        return String::new();
    };
    duration(row.finished_at.unwrap_or_else(clock::now).0 - start.0)
}

fn phase_style(phase: &str) -> Style {
    match phase {
        "Succeeded" => Style::Good,
        "Failed" | "Error" => Style::Bad,
        "Running" => Style::Busy,
        _ => Style::Faint,
    }
}

/// A time as `2026-11-30 09:12`.
fn date(millis: i64) -> String {
    jiff::Timestamp::from_millisecond(millis)
        .map(|time| time.strftime("%Y-%m-%d %H:%M").to_string())
        .unwrap_or_default()
}

async fn show(composition: &Composition, name: &str, json: bool) -> Result<Exit, Failure> {
    let controller = &composition.controller;
    let found = controller.ports().store.find_run(name).await?;
    controller.record(&found.run).await?;
    let history = controller.history(&found.run.0).await?;
    if json {
        terminal::line(serde_json::to_string_pretty(&history.run).expect("a run has a JSON form"));
        return Ok(Exit::Done);
    }
    let paint = Paint::for_stream(&std::io::stdout());
    head(&history, paint);
    if history.row.finished_at.is_none() {
        terminal::line(drivers(controller, &history.row).await?);
    }
    terminal::line("");
    let around = Around {
        now: clock::now(),
        details: true,
        ..Around::default()
    };
    let (columns, _) = terminal::size();
    for line in draw(&history.run, &around, paint, columns.max(100)) {
        terminal::line(line);
    }
    values(&history, paint);
    Ok(Exit::Done)
}

fn head(history: &History, paint: Paint) {
    let (run, row, settings) = (&history.run, &history.row, &history.settings);
    let field = |name: &str, value: String| {
        if !value.is_empty() {
            terminal::line(format!(
                "{} {value}",
                paint.with(Style::Faint, format!("{name:<11}"))
            ));
        }
    };
    field("name", harmless(run.name()));
    field("id", row.run.0.clone());
    field("phase", paint.with(phase_style(&row.phase), &row.phase));
    field("message", harmless(first_line(run.message())));
    field("document", harmless(&settings.document));
    field("created", format!("{} UTC", date(row.created_at.0)));
    field("took", took(row));
    field(
        "sandbox",
        if settings.sandbox { "yes" } else { "no" }.to_owned(),
    );
    field("passed in", settings.passed_variables.join(", "));
    field(
        "secrets",
        settings
            .secrets_file
            .as_ref()
            .map(|file| file.display().to_string())
            .unwrap_or_default(),
    );
    let volumes = settings
        .volumes
        .iter()
        .map(|(name, directory)| format!("{name}={}", directory.display()));
    field("volumes", volumes.collect::<Vec<_>>().join(", "));
    let arguments = run
        .created()
        .map(|new| &new.workflow.spec.arguments.parameters[..])
        .unwrap_or_default();
    for argument in arguments {
        let value = argument
            .value
            .as_ref()
            .map(|value| value.0.as_str())
            .unwrap_or_default();
        field(
            "argument",
            format!(
                "{} = {}",
                harmless(&argument.name),
                cut(&harmless(value), 200)
            ),
        );
    }
}

/// The living process that drives a run, if any.
pub(super) async fn driver(controller: &Controller, run: &RunId) -> Result<Option<Owner>, Failure> {
    let owner = controller.driver(run).await?;
    Ok(owner.filter(|owner| liveness(owner) != Liveness::Dead))
}

/// Who drives a run, or that nobody does.
async fn drivers(controller: &Controller, row: &RunRow) -> Result<String, Failure> {
    Ok(match driver(controller, &row.run).await? {
        Some(owner) => format!("driven by process {} on {}", owner.pid, owner.host),
        None => format!(
            "nobody drives this run; go on with it: groundplan run --resume {}",
            row.name
        ),
    })
}

/// Inputs and outputs of nodes that have any.
fn values(history: &History, paint: Paint) {
    let with_values = |node: &&Node| {
        node.kind == NodeKind::Pod
            && !(node.inputs.is_empty() && node.outputs.parameters.is_empty())
    };
    for node in history.run.nodes().filter(with_values) {
        terminal::line("");
        terminal::line(paint.with(Style::Strong, harmless(&node.name)));
        let inputs = node.inputs.iter().map(|input| ("in ", input));
        let outputs = node.outputs.parameters.iter().map(|output| ("out", output));
        for (direction, value) in inputs.chain(outputs) {
            for (place, line) in value.value.lines().take(12).enumerate() {
                let name = if place == 0 {
                    format!("{} = ", harmless(&value.name))
                } else {
                    "      ".to_owned()
                };
                terminal::line(format!(
                    "  {} {name}{}",
                    paint.with(Style::Faint, direction),
                    cut(&harmless(line), 200)
                ));
            }
        }
    }
}

async fn stop(controller: &Controller, name: &str) -> Result<Exit, Failure> {
    let row = controller.ports().store.find_run(name).await?;
    if row.finished_at.is_some() {
        terminal::note(format!("run `{}` is over already: {}", row.name, row.phase));
        return Ok(Exit::Done);
    }
    controller.request_stop(&row.run).await?;
    match driver(controller, &row.run).await? {
        Some(owner) => terminal::note(format!(
            "process {} on {} is told to stop run `{}`",
            owner.pid, owner.host, row.name
        )),
        None => {
            controller.record(&row.run).await?;
            terminal::note(format!(
                "nobody drives run `{}`; its running steps are told to stop, and `groundplan run --resume {}` sees it to its end",
                row.name, row.name
            ));
        }
    }
    Ok(Exit::Done)
}
