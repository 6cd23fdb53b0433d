//! `groundplan run`: a document on this machine, watched to its end.

mod conclude;
pub(crate) mod drive;
pub(crate) mod isolation;
mod orphans;
pub(crate) mod prepare;
pub(crate) mod show;
mod values;

use std::collections::BTreeMap;

use groundplan_controller::Submission;
use groundplan_engine::id::RunId;

use crate::{
    arguments::{Global, Run},
    compose::{Choices, Starts, compose, runtime},
    config::Machine,
    exit::Exit,
    failure::Failure,
    terminal,
};

/// Runs a document, or goes on with a run.
pub(crate) fn run(global: &Global, arguments: Run) -> Result<Exit, Failure> {
    let machine = Machine::read(global)?;
    match &arguments.resume {
        Some(name) => resume(&machine, &arguments, name),
        None => begin(&machine, &arguments),
    }
}

fn begin(machine: &Machine, arguments: &Run) -> Result<Exit, Failure> {
    let file = arguments
        .file
        .as_deref()
        .expect("clap asks for a file or `--resume`");
    let passed = values::passed_variables(&arguments.pass_env)?;
    let names: Vec<String> = passed.keys().cloned().collect();
    let read = prepare::read(file, &names, Exit::Lint)?;
    let parameters =
        values::parameters(&arguments.parameters, arguments.parameter_file.as_deref())?;
    let runtime = runtime()?;
    let chosen = choices(arguments, passed, arguments.secrets.clone());
    let composition = runtime.block_on(compose(machine, chosen))?;
    let mut settings = prepare::settings(machine, arguments, file, names)?;
    let mut submission: Submission = prepare::submission(&read, &parameters, &settings)?;
    prepare::check_volumes(&submission)?;
    settings.sandbox = runtime.block_on(isolation::choose(&composition, machine, arguments))?;
    submission.settings = settings;
    if !submission.settings.sandbox {
        isolation::fit(&mut submission, &composition)?;
    }
    runtime.block_on(prepare::check_secrets(&composition.controller, &submission))?;
    let run = submission.run.id.clone();
    runtime.block_on(composition.controller.submit(submission))?;
    drive::drive(&runtime, &composition, &run, look(arguments))
}

fn resume(machine: &Machine, arguments: &Run, name: &str) -> Result<Exit, Failure> {
    let passed = values::passed_variables(&arguments.pass_env)?;
    let runtime = runtime()?;
    let known = runtime.block_on(compose(machine, Choices::default()))?;
    let history = runtime.block_on(known.controller.history(name))?;
    let names = &history.settings.passed_variables;
    let missing: Vec<&String> = names
        .iter()
        .filter(|name| !passed.contains_key(*name))
        .collect();
    if let Some(first) = missing.first() {
        let flags: Vec<String> = missing
            .iter()
            .map(|name| format!("--pass-env {name}"))
            .collect();
        return Err(Failure::user(format!(
            "run `{name}` was given variable `{first}`, whose value is not kept"
        ))
        .with_hint(format!("add `{}`", flags.join(" "))));
    }
    let secrets = arguments
        .secrets
        .clone()
        .or(history.settings.secrets_file.clone());
    drop(known);
    let remembered = arguments.secrets.is_none() && secrets.is_some();
    let composed = runtime.block_on(compose(machine, choices(arguments, passed, secrets)));
    let composition = composed.map_err(|failure| match remembered {
        true => failure
            .or_hint("the run was given this file; name where it is now with `--secrets FILE`"),
        false => failure,
    })?;
    drive::drive(&runtime, &composition, &history.row.run, look(arguments))
}

fn choices(
    arguments: &Run,
    passed_variables: BTreeMap<String, groundplan_ports::secrets::SecretValue>,
    secrets_file: Option<std::path::PathBuf>,
) -> Choices {
    Choices {
        starts: Starts::Steps,
        slots: arguments.max_parallel.map(usize::from),
        secrets_file,
        passed_variables,
    }
}

fn look(arguments: &Run) -> drive::Look {
    if arguments.json {
        drive::Look::Json
    } else if terminal::is_watched() {
        drive::Look::Live
    } else {
        drive::Look::Plain
    }
}

/// A new run's id: 26 characters that sort by time.
pub(crate) fn new_run_id(now: groundplan_engine::time::Timestamp) -> Result<RunId, Failure> {
    let random = values::random::<16>()?;
    Ok(RunId(values::sortable_id(now, &random)))
}
