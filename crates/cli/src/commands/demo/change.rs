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
        narration::quote(&format!("{path:<45} {}", difference(before, after)));
    }
}

/// A changed value as `name = old → new`, an added line with a plus.
fn difference(before: &str, after: &str) -> String {
    if let Some(added) = after.strip_prefix(before) {
        return format!("+ {}", added.trim());
    }
    let common = before
        .char_indices()
        .zip(after.chars())
        .take_while(|((_, old), new)| old == new)
        .filter(|((_, old), _)| matches!(old, ' ' | ':'))
        .last()
        .map_or(0, |((place, _), _)| place + 1);
    format!("{before} → {}", &after[common..])
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

    #[test]
    fn a_difference_shows_what_was_and_what_is() {
        let shown: Vec<String> = EDITS
            .into_iter()
            .map(|(_, before, after)| difference(before, after))
            .collect();
        assert_eq!(
            shown,
            [
                "audit_retention_days = 30 → 60",
                "api_instances = 2 → 4",
                "shop/worker:1.9.3 → 1.10.0",
                "+ admin   = { port = 8443, from = \"10.20.0.0/16\" }",
            ]
        );
    }
}
