//! What is too slow for the gate: long seeds, kills, fuzzing, advisories.

use crate::{
    conformance, deny,
    failure::{Failure, Outcome},
    process,
    setup::gate_tools::{self, GateTool},
    workspace::Workspace,
};

/// Tests that are run longer than in the gate.
struct Soak {
    name: &'static str,
    /// Which tests, in nextest's language.
    tests: &'static str,
    /// Words for nextest that make them long.
    words: &'static [&'static str],
    /// Variables that make them long.
    settings: &'static [(&'static str, &'static str)],
}

/// `GROUNDPLAN_SEEDS` is how many seeds the simulator plays; `PROPTEST_CASES` is proptest's own.
const SOAKS: [Soak; 3] = [
    Soak {
        name: "simulator",
        tests: "test(/simulator/)",
        words: &[],
        settings: &[("GROUNDPLAN_SEEDS", "20000")],
    },
    Soak {
        name: "kills",
        tests: "test(/kill/)",
        words: &["--stress-count", "20"],
        settings: &[],
    },
    Soak {
        name: "properties",
        tests: "test(/propert|random|mutated/)",
        words: &[],
        settings: &[("PROPTEST_CASES", "20000")],
    },
];

/// nextest's exit code where no test matches.
const NO_TESTS: i32 = 4;

/// Runs all of them, whatever the others said.
pub(crate) fn run(workspace: &Workspace) -> Outcome {
    let nextest = gate_tools::find(GateTool::Nextest)?;
    let mut lines = Vec::new();
    let mut failed = 0_usize;
    for soak in &SOAKS {
        println!("=== {} ({})", soak.name, soak.tests);
        let status = process::program(&nextest, workspace.root())
            .args([
                "nextest",
                "run",
                "--workspace",
                "--locked",
                "--no-fail-fast",
            ])
            .args(["--profile", "soak", "--filterset", soak.tests])
            .args(soak.words)
            .envs(soak.settings.iter().copied())
            .status()
            .map_err(|error| Failure::new(format!("cannot start nextest: {error}")))?;
        let word = match status.code() {
            Some(0) => "ok",
            Some(NO_TESTS) => "not run: no such test yet",
            _ => {
                failed += 1;
                "FAILED"
            }
        };
        lines.push(format!("  {:<12} {word}", soak.name));
    }
    // The tables are read by the gate; the documents, some of which only sleep, are run here.
    println!("=== conformance");
    let conformance = match conformance::run(workspace, &["--kind", "run"]) {
        Ok(()) => "ok, or not run: see above",
        Err(_) => {
            failed += 1;
            "FAILED"
        }
    };
    lines.push(format!("  {:<12} {conformance}", "conformance"));
    println!("=== advisories");
    let advisories = match deny::advisories(workspace) {
        Ok(()) => "ok",
        Err(_) => "not run, or found: see above",
    };
    lines.push(format!("  {:<12} {advisories}", "advisories"));
    println!("\n{}", lines.join("\n"));
    match failed {
        0 => Ok(()),
        count => Err(Failure::new(format!(
            "{count} of {} failed",
            SOAKS.len() + 1
        ))),
    }
}
