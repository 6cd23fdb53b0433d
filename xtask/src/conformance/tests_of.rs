//! The kinds that are read by tests of the crates: which tests, and the numbers they print.

use std::path::Path;

use super::Score;
use crate::{
    failure::Outcome,
    process,
    setup::gate_tools::{self, GateTool},
    workspace::Workspace,
};

/// Runs the tests of one kind and finds their numbers.
pub(super) fn run(workspace: &Workspace, data: &Path, kind: &str) -> Outcome<Score> {
    let nextest = gate_tools::find(GateTool::Nextest)?;
    let mut command = process::program(nextest, workspace.root());
    command
        .args(["nextest", "run", "--locked", "--no-fail-fast"])
        .args([
            "--success-output",
            "immediate",
            "--failure-output",
            "immediate",
        ])
        .args(["--status-level", "none", "--color", "never"])
        .args(["-p", package(kind), "--filterset", filter(kind)]);
    // The tables lie in `conformance/argo` beneath what the variable names.
    if let Some(shared) = data.parent().and_then(Path::parent) {
        command.env("GROUNDPLAN_SHARED", shared);
    }
    let output = command
        .output()
        .map_err(|error| crate::failure::Failure::new(format!("cannot start nextest: {error}")))?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    Ok(score(kind, &text, output.status.success()))
}

fn package(kind: &str) -> &'static str {
    match kind {
        "sync" | "lock-names" => "groundplan-engine",
        _ => "groundplan-workflow",
    }
}

fn filter(kind: &str) -> &'static str {
    match kind {
        "lint" => "test(/verdicts::/)",
        "sync" | "lock-names" => "test(/locks::/)",
        _ => "test(/conformance::/) or test(/when::/) or test(/tags::/) or test(/depends::/)",
    }
}

/// The words with which the numbers of a kind begin.
fn heading(kind: &str) -> String {
    match kind {
        "lint" => "lint rows:".to_owned(),
        kind => format!("{kind}.tsv"),
    }
}

fn score(kind: &str, text: &str, succeeded: bool) -> Score {
    let heading = heading(kind);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let begins = |line: &&str| line.starts_with(&heading) || line.starts_with(&format!("{kind}:"));
    let numbers = lines
        .iter()
        .copied()
        .find(|line| begins(line) && line.contains(" of "))
        .or_else(|| {
            lines
                .iter()
                .copied()
                .find(|line| line.contains("not run: "))
        });
    let failed = lines
        .iter()
        .filter(|line| line.starts_with("FAIL ["))
        .count();
    let shown = match (numbers, succeeded) {
        (Some(line), _) => line.to_owned(),
        (None, true) => "no numbers".to_owned(),
        (None, false) => "its tests did not run".to_owned(),
    };
    if !succeeded {
        println!("{text}");
    }
    let suffix = match succeeded {
        true => String::new(),
        false => format!("  FAILED ({failed} tests)"),
    };
    Score {
        lines: vec![format!("  {kind:<14} {shown}{suffix}")],
        failed: !succeeded || numbers.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_that_the_test_prints() {
        let text =
            "  stderr ───\n    sync.tsv: 98 of 134 rows hold, 36 speak of more than mutexes\n";
        let found = score("sync", text, true);
        assert!(!found.failed && found.lines[0].contains("98 of 134 rows hold"));
    }

    #[test]
    fn without_numbers_or_with_a_failed_test_a_kind_has_failed() {
        assert!(score("sync", "", true).failed);
        assert!(score("sync", "sync.tsv: 98 of 134", false).failed);
        let absent = score("sync", "not run: sync.tsv is absent", true);
        assert!(!absent.failed);
    }
}
