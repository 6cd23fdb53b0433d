//! Benches, each as a ratio against its baseline of the same run.
//!
//! A bench is a target without harness that prints, for each thing it measures, one line of JSON:
//! `{"bench": "step", "baseline": "spawn and wait", "nanoseconds": 3100000,
//! "baseline_nanoseconds": 900000, "most": {"ratio": 5.0}}`. In place of `ratio`, `over` gives the
//! nanoseconds that it may take above the baseline. Other lines are shown as they are.

use serde::Deserialize;

use crate::{
    failure::{Failure, Outcome},
    process,
    workspace::Workspace,
};

/// One measurement beside its baseline.
#[derive(Debug, Deserialize)]
struct Measured {
    bench: String,
    baseline: String,
    nanoseconds: f64,
    baseline_nanoseconds: f64,
    most: Option<Most>,
}

/// What it may take at most.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Most {
    /// So many times the baseline.
    Ratio(f64),
    /// So many nanoseconds above the baseline.
    Over(f64),
}

/// Runs every bench of the workspace and prints the ratios.
pub(crate) fn run(workspace: &Workspace) -> Outcome {
    let mut measured = Vec::new();
    for member in workspace.members()? {
        for bench in &member.benches {
            println!("=== {} {bench}", member.name);
            let mut command = process::cargo(workspace.root());
            command.args([
                "bench",
                "--locked",
                "--package",
                &member.name,
                "--bench",
                bench,
            ]);
            let (succeeded, lines) = process::watched(&mut command)?;
            if !succeeded {
                return Err(Failure::new(format!("the bench `{bench}` failed")));
            }
            measured.extend(lines.iter().filter_map(|line| parsed(line)));
        }
    }
    if measured.is_empty() {
        return Err(Failure::new("no bench measured anything"));
    }
    println!();
    for one in &measured {
        println!("{}", line(one));
    }
    match measured.iter().filter(|one| !within(one)).count() {
        0 => Ok(()),
        count => Err(Failure::new(format!(
            "{count} of {} above their limit",
            measured.len()
        ))),
    }
}

fn parsed(line: &str) -> Option<Measured> {
    serde_json::from_str(line).ok()
}

fn within(one: &Measured) -> bool {
    match one.most {
        None => true,
        Some(Most::Ratio(most)) => one.nanoseconds <= most * one.baseline_nanoseconds,
        Some(Most::Over(most)) => one.nanoseconds - one.baseline_nanoseconds <= most,
    }
}

fn line(one: &Measured) -> String {
    let ratio = one.nanoseconds / one.baseline_nanoseconds;
    let difference = milliseconds(one.nanoseconds - one.baseline_nanoseconds);
    let limit = match one.most {
        None => String::new(),
        Some(Most::Ratio(most)) => format!("; at most {most:.2} ×"),
        Some(Most::Over(most)) => format!("; at most {most} over", most = milliseconds(most)),
    };
    let verdict = if within(one) { "" } else { "  ABOVE ITS LIMIT" };
    format!(
        "{:<44} {ratio:>7.2} × {} ({} over{limit}){verdict}",
        one.bench, one.baseline, difference
    )
}

fn milliseconds(nanoseconds: f64) -> String {
    format!("{:.3} ms", nanoseconds / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(most: &str) -> Measured {
        parsed(&format!(
            "{{\"bench\":\"step\",\"baseline\":\"spawn\",\"nanoseconds\":3e6,\
             \"baseline_nanoseconds\":1e6{most}}}"
        ))
        .expect("the line is JSON")
    }

    #[test]
    fn a_line_is_a_ratio_against_its_baseline() {
        let text = line(&measured(",\"most\":{\"ratio\":5}"));
        assert!(
            text.ends_with("3.00 × spawn (2.000 ms over; at most 5.00 ×)"),
            "{text}"
        );
    }

    #[test]
    fn above_a_limit_is_said() {
        assert!(within(&measured(",\"most\":{\"over\":2000000}")));
        assert!(!within(&measured(",\"most\":{\"over\":1999999}")));
        assert!(!within(&measured(",\"most\":{\"ratio\":2.5}")));
        assert!(line(&measured(",\"most\":{\"ratio\":2.5}")).ends_with("ABOVE ITS LIMIT"));
        assert!(within(&measured("")));
    }

    #[test]
    fn other_lines_are_no_measurement() {
        assert!(parsed("warming up").is_none());
    }
}
