//! `groundplan summarize`: a plan's counts and addresses by action.

use std::{io::Read as _, path::Path};

use groundplan_delivery::{
    plan::{
        read::{is_plan_file, read_plan},
        summary::{Outcome, PlanSummary, summarize as summary_of},
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
    Ok(if arguments.detailed_exitcode {
        detailed(&summary)
    } else {
        Exit::Done
    })
}

/// Drift counts even where an apply would leave it alone: who asks whether all is well must hear.
fn detailed(summary: &PlanSummary) -> Exit {
    match summary.outcome() {
        Outcome::NoChanges if summary.drift.is_empty() => Exit::Done,
        Outcome::NoChanges | Outcome::Changes => Exit::Changes,
        Outcome::Errored | Outcome::NothingEvaluated => Exit::Unknown,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(plan: &str) -> Exit {
        let text = format!(r#"{{"format_version":"1.2","planned_values":{{}},{plan}}}"#);
        detailed(&summary_of(&read_plan(text.as_bytes()).unwrap()))
    }

    fn change(actions: &str) -> String {
        format!(
            r#"{{"address":"t.n","mode":"managed","type":"t","name":"n","provider_name":"p",
                "change":{{"actions":[{actions}],"before":{{"a":1}},"after":{{"a":2}},
                "after_unknown":{{}},"before_sensitive":{{}},"after_sensitive":{{}}}}}}"#
        )
    }

    #[test]
    fn only_a_plan_that_looked_and_found_nothing_ends_with_0() {
        let no_op = change(r#""no-op""#);
        let update = change(r#""update""#);
        let check = |plan: String, expect: Exit| assert_eq!(exit(&plan), expect, "{plan}");
        check(format!(r#""resource_changes":[{no_op}]"#), Exit::Done);
        check(format!(r#""resource_changes":[{update}]"#), Exit::Changes);
        check(
            format!(r#""resource_changes":[{no_op}],"resource_drift":[{update}]"#),
            Exit::Changes,
        );
        check(r#""resource_changes":[]"#.to_owned(), Exit::Unknown);
        check(
            format!(r#""errored":true,"resource_changes":[{no_op}]"#),
            Exit::Unknown,
        );
    }
}
