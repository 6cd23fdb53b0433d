//! What every [`Runner`] must do.

use std::{sync::Arc, time::Duration};

use groundplan_engine::{
    action::StopReason,
    id::{NodeId, RunId, StepId},
    report::{StepEnd, StepOutcome, StepReport},
};
use groundplan_ports::{
    logs::Stream,
    runner::{CaptureResult, Observation, Runner, StepSpec, Take},
};

/// An implementation on a fresh machine.
pub trait Fixture: Send + Sync {
    /// Another process' handle on the machine.
    fn handle(&self) -> Arc<dyn Runner>;

    /// A step of its own that runs a script under `sh`, within the run `run`; its standard output is
    /// the result.
    fn script(&self, script: &str) -> StepSpec;

    /// An absolute path at which a step can write a file that is then taken.
    fn output_path(&self, step: &StepId) -> String;
}

/// Makes a test of every case. The argument is an expression for a fresh [`Fixture`].
#[macro_export]
macro_rules! runner_contract {
    ($fixture:expr) => {
        $crate::contract_cases!(
            runner,
            $fixture,
            reports_the_start_and_the_end,
            observing_again_answers_the_same,
            starting_again_attaches,
            another_process_takes_a_step_up,
            step_of_which_nothing_is_left_is_lost,
            peeking_takes_nothing_up,
            stopped_step_is_marked_whatever_its_code,
            stopping_again_changes_nothing,
            killed_step_ends_at_once,
            log_is_followed_from_its_first_byte,
            outputs_are_taken,
            missing_output_is_a_failure_unless_optional,
            sensitive_outputs_come_beside_the_report,
            failure_to_start_is_a_report,
            clean_up_forgets_an_ended_step,
        );
    };
}

/// The start is reported, then the end with code and result.
pub async fn reports_the_start_and_the_end(fixture: &impl Fixture) {
    let runner = fixture.handle();
    let spec = fixture.script("echo hello; exit 3");
    let step = spec.step.clone();
    runner.start(spec).await.unwrap();
    let first = observe(&*runner, &step, None).await.report.unwrap();
    let end = end(&*runner, &step).await;
    if let StepReport::Started { at } = first {
        assert!(at <= end.at);
    }
    assert_eq!(end.outcome, StepOutcome::Exited);
    assert_eq!(end.exit_code, Some(3));
    assert_eq!(end.result.as_deref(), Some("hello"));
    assert!(!end.asked_to_stop);
}

/// The end stays what it was, for whoever asks.
pub async fn observing_again_answers_the_same(fixture: &impl Fixture) {
    let runner = fixture.handle();
    let spec = fixture.script("true");
    let step = spec.step.clone();
    runner.start(spec).await.unwrap();
    let first = end(&*runner, &step).await;
    assert_eq!(end(&*runner, &step).await, first);
    let seen = StepReport::Ended(first.clone());
    let again = observe(&*runner, &step, Some(&seen)).await;
    assert_eq!(again.report, Some(seen));
}

/// However often a step is started, and by whom, its tool runs once.
pub async fn starting_again_attaches(fixture: &impl Fixture) {
    let (one, other) = (fixture.handle(), fixture.handle());
    let spec = fixture.script("echo once; sleep 0.2");
    let step = spec.step.clone();
    one.start(spec.clone()).await.unwrap();
    one.start(spec.clone()).await.unwrap();
    other.start(spec.clone()).await.unwrap();
    let first = end(&*one, &step).await;
    other.start(spec).await.unwrap();
    assert_eq!(end(&*other, &step).await, first);
    assert_eq!(printed(&*other, &step).await, "once\n");
}

/// A handle that did not start a step attaches to it and sees its end.
pub async fn another_process_takes_a_step_up(fixture: &impl Fixture) {
    let spec = fixture.script("echo one; sleep 0.3; echo two; exit 4");
    let step = spec.step.clone();
    fixture.handle().start(spec).await.unwrap();
    let other = fixture.handle();
    other.attach(&step, Vec::new()).await.unwrap();
    assert_eq!(end(&*other, &step).await.exit_code, Some(4));
    assert_eq!(printed(&*other, &step).await, "one\ntwo\n");
}

/// A step that was never there is lost: a report, not an error.
pub async fn step_of_which_nothing_is_left_is_lost(fixture: &impl Fixture) {
    let runner = fixture.handle();
    let step = StepId {
        run: RunId("run".into()),
        node: NodeId("nowhere".into()),
        execution: 1,
    };
    runner.attach(&step, Vec::new()).await.unwrap();
    assert_eq!(end(&*runner, &step).await.outcome, StepOutcome::Lost);
}

/// Peeking shows what others attend to, and nothing where there is nothing.
pub async fn peeking_takes_nothing_up(fixture: &impl Fixture) {
    let runner = fixture.handle();
    let spec = fixture.script("true");
    let step = spec.step.clone();
    assert!(runner.peek(&step).await.unwrap().report.is_none());
    runner.start(spec).await.unwrap();
    let end = end(&*runner, &step).await;
    let peeked = fixture.handle().peek(&step).await.unwrap();
    assert_eq!(peeked.report, Some(StepReport::Ended(end)));
}

/// A step that was asked to stop says so, even where its tool then ends well.
pub async fn stopped_step_is_marked_whatever_its_code(fixture: &impl Fixture) {
    let runner = fixture.handle();
    let spec = fixture.script("echo ready; exec perl -e '$SIG{INT} = sub { exit 0 }; sleep 60'");
    let step = spec.step.clone();
    runner.start(spec).await.unwrap();
    wait_for(&*runner, &step, "ready\n").await;
    // The handler is set a moment after the line.
    tokio::time::sleep(Duration::from_millis(300)).await;
    runner.stop(&step, StopReason::Requested).await.unwrap();
    let end = end(&*runner, &step).await;
    assert!(end.asked_to_stop);
    assert_eq!((end.outcome, end.exit_code), (StepOutcome::Exited, Some(0)));
}

/// Stopping twice, or after the end, is once.
pub async fn stopping_again_changes_nothing(fixture: &impl Fixture) {
    let runner = fixture.handle();
    let spec = fixture.script("echo ready; sleep 60; echo next");
    let step = spec.step.clone();
    runner.start(spec).await.unwrap();
    wait_for(&*runner, &step, "ready\n").await;
    for _ in 0..3 {
        runner.stop(&step, StopReason::Requested).await.unwrap();
    }
    let first = end(&*runner, &step).await;
    assert!(first.asked_to_stop);
    runner.stop(&step, StopReason::Requested).await.unwrap();
    runner.kill(&step).await.unwrap();
    assert_eq!(end(&*runner, &step).await, first);
    assert_eq!(printed(&*runner, &step).await, "ready\n");
}

/// Killing waits for nobody.
pub async fn killed_step_ends_at_once(fixture: &impl Fixture) {
    let runner = fixture.handle();
    let spec = fixture.script("trap '' INT TERM; echo ready; sleep 60 & wait; sleep 60");
    let step = spec.step.clone();
    runner.start(spec).await.unwrap();
    wait_for(&*runner, &step, "ready\n").await;
    runner.kill(&step).await.unwrap();
    runner.kill(&step).await.unwrap();
    let end = end(&*runner, &step).await;
    assert_eq!(end.outcome, StepOutcome::Signaled { signal: 9 });
    assert!(end.asked_to_stop);
}

/// A log shows every byte from the first on, and ends when the step does.
pub async fn log_is_followed_from_its_first_byte(fixture: &impl Fixture) {
    let runner = fixture.handle();
    let script = "for i in 1 2 3 4 5; do echo line $i; sleep 0.05; done; printf 'no newline'";
    let spec = fixture.script(script);
    let step = spec.step.clone();
    runner.start(spec).await.unwrap();
    let whole = "line 1\nline 2\nline 3\nline 4\nline 5\nno newline";
    assert_eq!(printed(&*runner, &step).await, whole);
    end(&*runner, &step).await;
    assert_eq!(printed(&*fixture.handle(), &step).await, whole);
}

/// Files become parameters without one newline at their end.
pub async fn outputs_are_taken(fixture: &impl Fixture) {
    let runner = fixture.handle();
    let spec = with_output(fixture, "printf 'value\\n\\n' >", false, false);
    let step = spec.step.clone();
    runner.start(spec).await.unwrap();
    let end = end(&*runner, &step).await;
    assert_eq!(end.outcome, StepOutcome::Exited);
    assert_eq!(end.parameters["out"], "value\n");
}

/// A file that is not there fails a step that ended well, unless it is optional.
pub async fn missing_output_is_a_failure_unless_optional(fixture: &impl Fixture) {
    let runner = fixture.handle();
    let spec = with_output(fixture, "true", false, false);
    let step = spec.step.clone();
    runner.start(spec).await.unwrap();
    let StepOutcome::OutputFailure { message } = end(&*runner, &step).await.outcome else {
        panic!("it is an output failure");
    };
    assert!(message.contains("`out`"), "{message}");
    let spec = with_output(fixture, "true", true, false);
    let step = spec.step.clone();
    runner.start(spec).await.unwrap();
    let end = end(&*runner, &step).await;
    assert_eq!(end.outcome, StepOutcome::Exited);
    assert!(end.parameters.is_empty());
}

/// What is marked sensitive is never in the report.
pub async fn sensitive_outputs_come_beside_the_report(fixture: &impl Fixture) {
    let runner = fixture.handle();
    let mut spec = with_output(fixture, "echo result; printf hidden >", false, true);
    spec.capture_result = CaptureResult::Sensitive;
    let step = spec.step.clone();
    runner.start(spec).await.unwrap();
    let end = end(&*runner, &step).await;
    assert_eq!(end.outcome, StepOutcome::Exited);
    assert!(end.parameters.is_empty());
    assert_eq!(end.result, None);
    let sensitive = fixture.handle().peek(&step).await.unwrap().sensitive;
    assert_eq!(sensitive["out"].expose(), b"hidden");
    assert_eq!(sensitive["result"].expose(), b"result");
}

/// A program that is not there is a report.
pub async fn failure_to_start_is_a_report(fixture: &impl Fixture) {
    let runner = fixture.handle();
    let mut spec = fixture.script("");
    spec.main.command = vec!["no-such-program".into()];
    let step = spec.step.clone();
    runner.start(spec).await.unwrap();
    let StepOutcome::StartFailure { message } = end(&*runner, &step).await.outcome else {
        panic!("it is a start failure");
    };
    assert!(message.contains("`no-such-program`"), "{message}");
}

/// A step that was cleaned up is forgotten, however often that is asked.
pub async fn clean_up_forgets_an_ended_step(fixture: &impl Fixture) {
    let runner = fixture.handle();
    let spec = fixture.script("mkdir -p /tmp/x; true");
    let step = spec.step.clone();
    runner.start(spec).await.unwrap();
    end(&*runner, &step).await;
    runner.clean_up(&step).await.unwrap();
    runner.clean_up(&step).await.unwrap();
    assert!(runner.log(&step).await.is_err());
    assert!(runner.peek(&step).await.unwrap().report.is_none());
}

fn with_output(fixture: &impl Fixture, script: &str, optional: bool, sensitive: bool) -> StepSpec {
    let mut spec = fixture.script("");
    let path = fixture.output_path(&spec.step);
    let redirection = if script.ends_with('>') { &path } else { "" };
    let command = format!("{script} {redirection}");
    *spec.main.command.last_mut().unwrap() = command;
    spec.take = vec![Take {
        name: "out".into(),
        path,
        optional,
        sensitive,
    }];
    spec
}

async fn observe(runner: &dyn Runner, step: &StepId, seen: Option<&StepReport>) -> Observation {
    tokio::time::timeout(Duration::from_secs(60), runner.observe(step, seen))
        .await
        .expect("a report comes within a minute")
        .unwrap()
}

async fn end(runner: &dyn Runner, step: &StepId) -> StepEnd {
    let mut seen = None;
    loop {
        match observe(runner, step, seen.as_ref()).await.report {
            Some(StepReport::Ended(end)) => return end,
            report => seen = report,
        }
    }
}

/// Waits until standard output is this.
async fn wait_for(runner: &dyn Runner, step: &StepId, text: &str) {
    let mut log = runner.log(step).await.unwrap();
    let mut seen = String::new();
    while seen != text {
        let next = tokio::time::timeout(Duration::from_secs(60), log.next()).await;
        let frames = next.expect("it prints within a minute").unwrap();
        for frame in frames.expect("it prints before it ends") {
            seen.push_str(&String::from_utf8_lossy(&frame.bytes));
        }
    }
}

/// All of standard output, until the end.
async fn printed(runner: &dyn Runner, step: &StepId) -> String {
    let mut log = runner.log(step).await.unwrap();
    let mut text = Vec::new();
    let read = async {
        while let Some(frames) = log.next().await.unwrap() {
            for frame in frames.into_iter().filter(|it| it.stream == Stream::Stdout) {
                text.extend(frame.bytes);
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), read)
        .await
        .expect("it ends within a minute");
    String::from_utf8(text).unwrap()
}
