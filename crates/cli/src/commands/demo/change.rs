//! The change that the demo's pull request makes.

use std::path::Path;

use super::{examples, narration};
use crate::failure::Failure;

/// What is changed: the file, the line, and what becomes of it.
const EDITS: [(&str, &str, &str); 4] = [
    (
        "environments/stage/terraform.tfvars",
        "audit_retention_days = 30",
        "audit_retention_days = 60",
    ),
    (
        "environments/stage/terraform/region-1.tfvars",
        "api_instances = 2",
        "api_instances = 4",
    ),
    (
        "environments/stage/terraform/region-1.tfvars",
        "shop/worker:1.9.3",
        "shop/worker:1.10.0",
    ),
    (
        "terraform/region-2/main.tf",
        "    metrics = { port = 9090, from = \"10.20.0.0/16\" }\n",
        "    metrics = { port = 9090, from = \"10.20.0.0/16\" }\n    admin   = { port = 8443, from = \"10.20.0.0/16\" }\n",
    ),
];

/// The message of its commit.
pub(super) const MESSAGE: &str =
    "Keep the audit log for longer, scale the API, renew the worker, open a port for its operators";

/// Makes the change among the files of a repository.
pub(super) fn make(repository: &Path) -> Result<(), Failure> {
    for (path, before, after) in EDITS {
        let file = repository.join(path);
        let text = std::fs::read_to_string(&file).map_err(|error| {
            Failure::user(format!("cannot read `{}`", file.display())).because(error)
        })?;
        examples::write_file(&file, &text.replace(before, after))?;
    }
    Ok(())
}

/// Shows it.
pub(super) fn tell() {
    for (path, before, after) in EDITS {
        let added: Vec<&str> = after
            .lines()
            .filter(|line| !before.contains(line))
            .collect();
        let what = match before.lines().count() {
            1 if after.lines().count() == 1 => format!("{before}  →  {after}"),
            _ => format!("+ {}", added.join(" ").trim()),
        };
        narration::quote(&format!("{path:<45} {what}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_edit_finds_its_line_once_in_the_examples() {
        for (path, before, after) in EDITS {
            let text = examples::text(&format!("infrastructure/{path}"));
            assert_eq!(text.matches(before).count(), 1, "{path}: {before}");
            assert_ne!(before, after);
        }
    }
}
