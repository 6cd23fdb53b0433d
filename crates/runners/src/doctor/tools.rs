//! The tools that steps call, git and ssh.

use super::{Check, Machine, Verdict};
use crate::tools::{Listed, Place, Tool, ToolError, in_search_path, list};

/// One check a tool; bubblewrap is the sandbox's.
pub(super) fn check(machine: &Machine) -> Vec<Check> {
    let mut checks: Vec<Check> = list(&machine.search)
        .into_iter()
        .filter(|listed| listed.tool != Tool::Bwrap)
        .map(check_one)
        .collect();
    checks.push(check_ssh(machine));
    checks
}

fn check_one(listed: Listed) -> Check {
    let name = listed.tool.name();
    match listed.found {
        Ok(located) => {
            let place = match located.place {
                Place::Configured => "named by the machine configuration",
                Place::Cache => "in the cache",
                Place::SearchPath => "in PATH",
            };
            let version = located
                .version
                .map_or_else(String::new, |version| version.to_string());
            let product = located.product.name(located.tool);
            let path = located.path.display();
            Check::new(
                name,
                Verdict::Ok,
                format!("{product} {version}, `{path}`, {place}"),
            )
        }
        Err(error) => {
            // What only some steps need is not missed by the others.
            let verdict = match (listed.tool, &error) {
                (Tool::Tflint | Tool::Checkov, ToolError::Missing { .. }) => Verdict::Warning,
                _ => Verdict::Failure,
            };
            let seen = format!("{error}; needed by {}", listed.needed_by);
            let fix = match &error {
                ToolError::Missing { tool } => tool.way_out().to_owned(),
                other => other.hint().map_or_else(
                    || format!("# Try it by itself: {name} --version"),
                    |hint| format!("# {hint}"),
                ),
            };
            Check::new(name, verdict, seen).with_fix([fix])
        }
    }
}

fn check_ssh(machine: &Machine) -> Check {
    match in_search_path("ssh", &machine.search.search_path) {
        Some(path) => Check::new("ssh", Verdict::Ok, format!("`{}`", path.display())),
        None => Check::new(
            "ssh",
            Verdict::Warning,
            "`ssh` is not in PATH; repositories cannot be cloned over SSH",
        )
        .with_fix(["sudo apt-get install openssh-client"]),
    }
}
