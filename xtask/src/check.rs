//! The gate: its stages, in the order of their cost.
//!
//! Every stage runs, whatever the others said; the summary at the end has them all. Clippy, tests
//! and documentation are three passes over the same dependencies with the same features, so that
//! each dependency is built once for checking and once for running.

use std::{
    fs,
    time::{Duration, Instant},
};

use crate::{
    deny,
    failure::{Failure, Outcome},
    generate,
    junit::{self, Counts},
    process,
    setup::gate_tools::{self, GateTool},
    summary::{self, StageResult, Verdict},
    tidy,
    workspace::Workspace,
};

/// One part of the gate.
struct Stage {
    name: &'static str,
    run: fn(&Workspace) -> Outcome<Counts>,
}

const STAGES: [Stage; 9] = [
    Stage {
        name: "format",
        run: format,
    },
    Stage {
        name: "layering",
        run: layering,
    },
    Stage {
        name: "tidy",
        run: tidy,
    },
    Stage {
        name: "deny",
        run: deny::check,
    },
    Stage {
        name: "clippy",
        run: clippy,
    },
    Stage {
        name: "tests",
        run: tests,
    },
    Stage {
        name: "doctests",
        run: doc_tests,
    },
    Stage {
        name: "docs",
        run: docs,
    },
    Stage {
        name: "generated",
        run: generate::check,
    },
];

/// Runs the named stages, or all, and prints the summary; `not_run` is what the set-up left out.
pub(crate) fn run(workspace: &Workspace, names: &[&str], not_run: Vec<String>) -> Outcome {
    if let Some(unknown) = names.iter().find(|name| !is_stage(name)) {
        let known: Vec<&str> = STAGES.iter().map(|stage| stage.name).collect();
        return Err(Failure::new(format!("no stage `{unknown}`"))
            .hint(format!("the stages are {}", known.join(", "))));
    }
    let chosen = STAGES
        .iter()
        .filter(|stage| names.is_empty() || names.contains(&stage.name));
    let results: Vec<StageResult> = chosen.map(|stage| run_stage(stage, workspace)).collect();
    println!("{}", summary::text(&results, &not_run));
    match results
        .iter()
        .find(|result| result.verdict != Verdict::Passed)
    {
        None => Ok(()),
        Some(result) => Err(Failure::new(format!(
            "the gate failed, first in `{}`",
            result.name
        ))),
    }
}

fn is_stage(name: &str) -> bool {
    STAGES.iter().any(|stage| stage.name == name)
}

fn run_stage(stage: &Stage, workspace: &Workspace) -> StageResult {
    println!("=== {}", stage.name);
    let began = Instant::now();
    let outcome = (stage.run)(workspace);
    let took = began.elapsed();
    match outcome {
        Ok(counts) => stage_result(stage, counts, took),
        Err(failure) => {
            println!("{failure}");
            StageResult {
                name: stage.name,
                verdict: Verdict::Failed(failure.to_string()),
                took,
                counts: Counts::default(),
            }
        }
    }
}

fn stage_result(stage: &Stage, counts: Counts, took: Duration) -> StageResult {
    let verdict = match counts.failed {
        0 => Verdict::Passed,
        failed => Verdict::Failed(format!("{failed} failed")),
    };
    StageResult {
        name: stage.name,
        verdict,
        took,
        counts,
    }
}

fn format(workspace: &Workspace) -> Outcome<Counts> {
    process::run(process::cargo(workspace.root()).args(["fmt", "--all", "--check"]))
        .map_err(|failure| failure.hint("`cargo fmt --all` writes it"))?;
    Ok(Counts::default())
}

fn layering(workspace: &Workspace) -> Outcome<Counts> {
    none_of(tidy::layering_faults(workspace)?)
}

fn tidy(workspace: &Workspace) -> Outcome<Counts> {
    none_of(tidy::faults(workspace)?)
}

/// Passes when there are no faults; prints them otherwise.
fn none_of(faults: Vec<String>) -> Outcome<Counts> {
    for fault in &faults {
        println!("{fault}");
    }
    match faults.len() {
        0 => Ok(Counts::default()),
        count => Err(Failure::new(format!("{count} faults"))),
    }
}

fn clippy(workspace: &Workspace) -> Outcome<Counts> {
    process::run(process::cargo(workspace.root()).args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--locked",
        "--keep-going",
        "--",
        "-D",
        "warnings",
    ]))?;
    Ok(Counts::default())
}

fn tests(workspace: &Workspace) -> Outcome<Counts> {
    let nextest = gate_tools::find(GateTool::Nextest)?;
    let report = workspace.root().join("target/nextest/default/junit.xml");
    // An old report must not stand in for this run's.
    if report.exists() {
        fs::remove_file(&report)
            .map_err(|error| Failure::new(format!("cannot remove the last report: {error}")))?;
    }
    let ran = process::run(process::program(nextest, workspace.root()).args([
        "nextest",
        "run",
        "--workspace",
        "--locked",
        "--no-fail-fast",
    ]));
    let counts = fs::read_to_string(&report).map(|xml| junit::read(&xml));
    match (ran, counts) {
        (Ok(()), Ok(counts)) if counts.passed == 0 => Err(Failure::new("no test ran")),
        (Ok(()), Ok(counts)) => Ok(counts),
        (Err(_), Ok(counts)) if counts.failed > 0 => Ok(counts),
        (Err(failure), _) => Err(failure),
        (Ok(()), Err(error)) => Err(Failure::new(format!("no report of the tests: {error}"))),
    }
}

fn doc_tests(workspace: &Workspace) -> Outcome<Counts> {
    let mut command = process::cargo(workspace.root());
    command.args(["test", "--doc", "--workspace", "--locked", "--no-fail-fast"]);
    let (succeeded, lines) = process::watched(&mut command)?;
    let counts = doc_test_counts(&lines);
    match succeeded || counts.failed > 0 {
        true => Ok(counts),
        false => Err(Failure::new("the documentation's tests do not build")),
    }
}

/// Sums the lines `test result: ok. 3 passed; 0 failed; …`.
fn doc_test_counts(lines: &[String]) -> Counts {
    let mut counts = Counts::default();
    for line in lines.iter().filter(|line| line.starts_with("test result:")) {
        counts.passed += number_before(line, " passed");
        counts.failed += number_before(line, " failed");
    }
    counts
}

fn number_before(line: &str, word: &str) -> usize {
    let number = line
        .split(word)
        .next()
        .and_then(|before| before.rsplit(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn docs(workspace: &Workspace) -> Outcome<Counts> {
    process::run(
        process::cargo(workspace.root())
            .args([
                "doc",
                "--workspace",
                "--no-deps",
                "--locked",
                "--keep-going",
            ])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    Ok(Counts::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_doc_tests_are_summed() {
        let lines = [
            "running 3 tests",
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
        ]
        .map(str::to_owned);
        let counts = doc_test_counts(&lines);
        assert_eq!((counts.passed, counts.failed), (4, 2));
    }

    #[test]
    fn an_unknown_stage_is_refused_with_the_known_ones() {
        let here = Workspace::here().expect("the workspace is there");
        let failure = run(&here, &["fromat"], Vec::new()).expect_err("no such stage");
        assert!(
            failure
                .to_string()
                .contains("the stages are format, layering")
        );
    }
}
