//! `groundplan summarize`: a plan's counts and addresses by action.

use std::{io::Read as _, path::Path};

use groundplan_delivery::{
    plan::{
        read::{is_plan_file, read_plan},
        summary::{Outcome, summarize as summary_of},
    },
    render::summary_text,
};
use groundplan_runners::tools::{Tool, locate, plan_json};

use crate::{
    arguments::{Global, Summarize},
    config::Machine,
    exit::Exit,
    failure::Failure,
    terminal,
};

/// Prints the summary of a plan: JSON of `tofu show -json`, or a plan file. With a detailed exit
/// code what the plan comes to is told by that as well.
pub(crate) fn summarize(global: &Global, arguments: &Summarize) -> Result<Exit, Failure> {
    let plan = arguments.plan.as_path();
    let from_input = plan == Path::new("-");
    let name = if from_input {
        "standard input".to_owned()
    } else {
        format!("`{}`", plan.display())
    };
    let mut bytes = if from_input {
        standard_input()?
    } else {
        file(plan)?
    };
    if is_plan_file(&bytes) {
        if from_input {
            return Err(
                Failure::user("standard input holds a plan file, not its JSON")
                    .with_hint("give the file's name, or pipe `tofu show -json PLANFILE`"),
            );
        }
        let machine = Machine::read(global)?;
        let tofu = locate(Tool::Tofu, &machine.search()).map_err(|error| {
            let failure = Failure::of(&error);
            match error.hint() {
                Some(hint) => failure.with_hint(hint),
                None => failure,
            }
        })?;
        bytes = plan_json(&tofu, plan).map_err(|error| Failure::of(&error))?;
    }
    let plan = read_plan(&bytes).map_err(|error| {
        Failure::user(format!("{name} is no plan"))
            .because(&error)
            .with_hint(error.hint())
    })?;
    let summary = summary_of(&plan);
    terminal::line(summary_text(&summary).trim_end());
    Ok(match summary.outcome() {
        _ if !arguments.detailed_exitcode => Exit::Done,
        Outcome::NoChanges => Exit::Done,
        Outcome::Changes => Exit::Changes,
        Outcome::Errored | Outcome::NothingEvaluated => Exit::Unknown,
    })
}

fn standard_input() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::user("cannot read standard input").because(error))?;
    Ok(bytes)
}

fn file(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path)
        .map_err(|error| Failure::user(format!("cannot read `{}`", path.display())).because(error))
}
