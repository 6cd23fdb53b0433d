//! What the gate says at its end.

use std::time::Duration;

use crate::junit::Counts;

/// How a stage ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All is well.
    Passed,
    /// Not all is well; why.
    Failed(String),
}

/// A stage with its result.
#[derive(Debug)]
pub(crate) struct StageResult {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// How it ended.
    pub(crate) verdict: Verdict,
    /// How long it took.
    pub(crate) took: Duration,
    /// Tests it ran; a stage that runs none counts as one.
    pub(crate) counts: Counts,
}

/// The text: every stage with its time, what was not run, and the line of counts, last.
pub(crate) fn text(stages: &[StageResult], not_run_before: &[String]) -> String {
    let mut lines = vec![String::new()];
    lines.extend(stages.iter().map(stage_line));
    let mut not_run = not_run_before.to_vec();
    not_run.extend(stages.iter().flat_map(|stage| stage.counts.not_run.clone()));
    if !not_run.is_empty() {
        lines.push(format!("\nnot run ({}):", not_run.len()));
        lines.extend(not_run.iter().map(|reason| format!("  {reason}")));
    }
    let total = total(stages);
    lines.push(format!(
        "\n{} passed, {} failed",
        total.passed, total.failed
    ));
    lines.join("\n")
}

/// All stages together. A failed stage without a failed test counts as one failure, so that a gate
/// that failed never says "0 failed".
pub(crate) fn total(stages: &[StageResult]) -> Counts {
    let mut total = Counts::default();
    for stage in stages {
        total.add(stage.counts.clone());
        match stage.verdict {
            Verdict::Failed(_) if stage.counts.failed == 0 => total.failed += 1,
            Verdict::Failed(_) => {}
            Verdict::Passed => total.passed += usize::from(stage.counts == Counts::default()),
        }
    }
    total
}

fn stage_line(stage: &StageResult) -> String {
    let seconds = stage.took.as_secs_f64();
    let (word, why) = match &stage.verdict {
        Verdict::Passed => ("ok", String::new()),
        Verdict::Failed(why) => (
            "FAILED",
            format!("  {}", why.lines().next().unwrap_or_default()),
        ),
    };
    format!("  {:<12} {word:<7} {seconds:>7.1} s{why}", stage.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(name: &'static str, verdict: Verdict, passed: usize, failed: usize) -> StageResult {
        StageResult {
            name,
            verdict,
            took: Duration::from_millis(1500),
            counts: Counts {
                passed,
                failed,
                not_run: Vec::new(),
            },
        }
    }

    #[test]
    fn the_last_line_counts_tests_and_stages() {
        let stages = [
            stage("format", Verdict::Passed, 0, 0),
            stage("tests", Verdict::Passed, 7, 0),
        ];
        let text = text(&stages, &["advisories: no database".to_owned()]);
        assert_eq!(
            text,
            "\n  format       ok          1.5 s\n  tests        ok          1.5 s\n\
             \nnot run (1):\n  advisories: no database\n\n8 passed, 0 failed"
        );
    }

    #[test]
    fn a_failed_stage_never_ends_with_no_failure() {
        let stages = [stage("clippy", Verdict::Failed("x".to_owned()), 0, 0)];
        assert_eq!(total(&stages).failed, 1);
        assert_eq!(total(&stages).passed, 0);
        let stages = [stage("tests", Verdict::Failed("x".to_owned()), 3, 2)];
        assert_eq!(total(&stages).failed, 2);
    }
}
