//! cargo-deny: who may be in the tree, under which licence, from where.

use crate::{
    failure::Outcome,
    junit::Counts,
    process,
    setup::gate_tools::{self, GateTool},
    workspace::Workspace,
};

/// Bans, licences and sources. Known vulnerabilities change from outside and need a database from
/// there, so a gate that must give the same answer twice does not ask; `cargo xtask soak` does.
pub(crate) fn check(workspace: &Workspace) -> Outcome<Counts> {
    run(workspace, &["bans", "licenses", "sources"])?;
    let reason = "advisories: their database is outside; `cargo xtask soak` tries to fetch it";
    Ok(Counts {
        not_run: vec![reason.to_owned()],
        // The stage itself, since something is counted.
        passed: 1,
        failed: 0,
    })
}

/// Known vulnerabilities and unmaintained crates; needs the network.
pub(crate) fn advisories(workspace: &Workspace) -> Outcome {
    run(workspace, &["advisories"])
}

fn run(workspace: &Workspace, checks: &[&str]) -> Outcome {
    let deny = gate_tools::find(GateTool::Deny)?;
    process::run(
        process::program(deny, workspace.root())
            .args([
                "deny",
                "--workspace",
                "--all-features",
                "check",
                "--hide-inclusion-graph",
            ])
            .args(checks),
    )
}
