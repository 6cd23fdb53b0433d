//! Making a machine ready for the gate: a fresh Debian or Ubuntu with git and a Rust toolchain is
//! enough to begin with.

pub(crate) mod gate_tools;
pub(crate) mod packages;

use crate::{failure::Outcome, tools, workspace::Workspace};

/// Sets up everything. Answers what could not be had and why; what the gate cannot do without is
/// a failure.
pub(crate) fn run(workspace: &Workspace) -> Outcome<Vec<String>> {
    println!("=== set-up");
    packages::install_missing()?;
    gate_tools::install_missing(workspace)?;
    match tools::sync(workspace) {
        Ok(()) => Ok(Vec::new()),
        Err(failure) => {
            println!("{failure}");
            let first = failure.to_string();
            let first = first.lines().next().unwrap_or_default();
            Ok(vec![format!("what needs the real tools: {first}")])
        }
    }
}
