//! The real tools, through the product's own command.

use crate::{
    failure::{Failure, Outcome},
    process,
    workspace::Workspace,
};

/// Gets the pinned tools into the user's cache: `groundplan tools sync`. Repeating it where they
/// are there is quick.
pub(crate) fn sync(workspace: &Workspace) -> Outcome {
    if !is_known(workspace) {
        return Err(Failure::new("`groundplan tools sync` does not answer")
            .hint("`cargo run --package groundplan-cli -- tools sync` says why"));
    }
    process::run(groundplan(workspace).args(["tools", "sync"]))
}

/// Whether the command is there and knows what it is asked for.
fn is_known(workspace: &Workspace) -> bool {
    let help = process::output(groundplan(workspace).args(["tools", "sync", "--help"]));
    help.is_ok_and(|text| String::from_utf8_lossy(&text).contains("--offline"))
}

fn groundplan(workspace: &Workspace) -> std::process::Command {
    let mut command = process::cargo(workspace.root());
    command.args([
        "run",
        "--quiet",
        "--locked",
        "--package",
        "groundplan-cli",
        "--",
    ]);
    command
}
