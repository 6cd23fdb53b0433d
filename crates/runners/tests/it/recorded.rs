//! Step directories recorded by earlier versions: each format can be attached to for ever.

use std::{fs, path::Path};

use groundplan_engine::{
    id::{NodeId, RunId, StepId},
    report::{StepEnd, StepOutcome, StepReport},
    time::Timestamp,
};
use groundplan_ports::{
    logs::Stream,
    runner::{Isolation, Runner},
    secrets::SecretValue,
};

use crate::machine::{Machine, end, printed};

/// Puts a recorded directory where a step of that name has its own.
fn recorded(machine: &Machine, format: u32, name: &str) -> StepId {
    let step = StepId {
        run: RunId("recorded".into()),
        node: NodeId(name.into()),
        execution: 1,
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(format!("step-{format}"))
        .join(name);
    copy(&source, &machine.step_dir(&step));
    step
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("it is made");
    for entry in fs::read_dir(from).expect("it was recorded").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("it is copied");
        }
    }
}

fn needles() -> Vec<(String, SecretValue)> {
    vec![("TOKEN".into(), SecretValue::new("tok-1234567"))]
}

#[tokio::test]
async fn format_1_of_a_step_that_was_reported() {
    let machine = Machine::new(Isolation::Sandbox);
    let step = recorded(&machine, 1, "reported");
    let runner = machine.runner();
    runner.attach(&step, Vec::new()).await.expect("it is over");
    let end = end(&runner, &step).await;
    let expected = StepEnd {
        at: Timestamp(1_764_492_000_000),
        outcome: StepOutcome::Exited,
        asked_to_stop: false,
        exit_code: Some(0),
        result: Some("out".into()),
        parameters: [("name".to_owned(), "value".to_owned())].into(),
    };
    assert_eq!(end, expected);
    let observed = runner.peek(&step).await.expect("it is over");
    assert_eq!(observed.report, Some(StepReport::Ended(expected)));
    assert_eq!(observed.sensitive["token"].expose(), b"tok-1234567");
    let out = printed(&runner, &step, Stream::Stdout).await;
    assert_eq!(out, "out\n");
    let err = printed(&runner, &step, Stream::Stderr).await;
    assert_eq!(err, "***\n");
    runner.clean_up(&step).await.expect("it is deleted");
}

#[tokio::test]
async fn format_1_of_a_step_that_ended_alone() {
    let machine = Machine::new(Isolation::Sandbox);
    let step = recorded(&machine, 1, "ended");
    let runner = machine.runner();
    let error = runner.attach(&step, Vec::new()).await;
    assert!(error.is_err_and(|error| error.message.contains("`TOKEN`")));
    runner
        .attach(&step, needles())
        .await
        .expect("it is taken up");
    let end = end(&runner, &step).await;
    assert_eq!(end.outcome, StepOutcome::Exited);
    assert_eq!(end.at, Timestamp(1_764_492_000_000));
    assert_eq!(end.exit_code, Some(3));
    assert_eq!(end.parameters["name"], "value");
    assert!(end.asked_to_stop);
    assert_eq!(printed(&runner, &step, Stream::Stdout).await, "out\n");
}

#[tokio::test]
async fn format_1_of_a_step_that_vanished_after_it_began() {
    let machine = Machine::new(Isolation::Sandbox);
    let step = recorded(&machine, 1, "vanished");
    let runner = machine.runner();
    runner
        .attach(&step, needles())
        .await
        .expect("it is taken up");
    let end = end(&runner, &step).await;
    assert_eq!(end.outcome, StepOutcome::Lost);
    // The frame that was cut off is not there, and nothing before it is missing.
    assert_eq!(printed(&runner, &step, Stream::Stdout).await, "out\n");
}

#[tokio::test]
async fn a_format_of_a_later_version_is_refused() {
    let machine = Machine::new(Isolation::Sandbox);
    let step = recorded(&machine, 1, "ended");
    fs::write(machine.step_dir(&step).join("format"), "2\n").expect("it is written");
    let runner = machine.runner();
    let error = runner.attach(&step, needles()).await;
    let error = error.expect_err("we do not know it");
    assert!(error.message.contains("format 2"), "{error}");
}
