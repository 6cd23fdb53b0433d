//! The transition table: every input in every phase is either taken or refused with the right
//! reason; enumerated, not sampled.

use std::collections::BTreeMap;

use groundplan_engine::{
    action::Action,
    decide::{Decision, RefusalReason, decide},
    id::{NodeId, RunId, StepId},
    input::{Input, NewRun},
    node::{NodePhase, RunPhase},
    report::{StepEnd, StepOutcome, StepReport},
    run::Run,
    sync::{Holder, LockAnswer, LockKey},
    time::Timestamp,
};
use groundplan_testkit::engine::resolved;

const LOCKED: &str = "
metadata: {name: r}
spec:
  entrypoint: main
  synchronization: {mutexes: [{name: of-run}]}
  templates:
  - name: main
    steps: [[{name: a, template: leaf}]]
  - name: leaf
    synchronization: {mutexes: [{name: of-leaf}]}
    container: {image: i, command: [c]}
";

const PLAIN: &str = "
metadata: {name: r}
spec:
  entrypoint: main
  templates:
  - name: main
    steps: [[{name: a, template: leaf}]]
  - {name: leaf, container: {image: i, command: [c]}}
";

fn new(id: &str, yaml: &str) -> Input {
    Input::Create(Box::new(NewRun {
        id: RunId(id.to_owned()),
        uid: "u".to_owned(),
        created_at: Timestamp(0),
        seed: 0,
        workflow: resolved(yaml),
    }))
}

fn answer(run: &str, node: Option<&NodeId>, answer: LockAnswer) -> Input {
    Input::LocksAnswered {
        holder: Holder {
            run: RunId(run.to_owned()),
            node: node.cloned(),
        },
        answer,
    }
}

fn waiting() -> LockAnswer {
    LockAnswer::Waiting {
        blocked_by: LockKey("default/Mutex/of-run".to_owned()),
        holder: "default/other".to_owned(),
        place: 1,
    }
}

fn refused() -> LockAnswer {
    LockAnswer::Refused {
        message: "no".to_owned(),
    }
}

fn leaf() -> NodeId {
    NodeId::of("r", "r[0].a")
}

fn step(execution: u32) -> StepId {
    StepId {
        run: RunId("r".to_owned()),
        node: leaf(),
        execution,
    }
}

fn started(step: StepId) -> Input {
    let report = StepReport::Started { at: Timestamp(1) };
    Input::StepReported { step, report }
}

fn ended(step: StepId) -> Input {
    let report = StepReport::Ended(StepEnd {
        at: Timestamp(2),
        outcome: StepOutcome::Exited,
        asked_to_stop: false,
        exit_code: Some(0),
        result: None,
        parameters: BTreeMap::new(),
    });
    Input::StepReported { step, report }
}

fn after(inputs: &[Input]) -> Run {
    let mut run = Run::default();
    for input in inputs {
        decide(&mut run, std::slice::from_ref(input), Timestamp(5));
    }
    run
}

/// What an input comes to: nothing refused, or one refusal that changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Taken,
    Refused(RefusalReason),
}

use RefusalReason::{Illegal, Late, Unknown};
use Verdict::{Refused, Taken};

fn verdict(run: &Run, input: &Input) -> Verdict {
    let mut after = run.clone();
    let decision: Decision = decide(&mut after, std::slice::from_ref(input), Timestamp(6));
    match decision.refused.as_slice() {
        [] => Taken,
        [refusal] => {
            assert_eq!(after, *run, "a refused input changes nothing: {refusal}");
            assert!(decision.events.is_empty() && decision.actions.is_empty());
            assert!(!refusal.phase.is_empty() && !refusal.subject.is_empty());
            Refused(refusal.reason)
        }
        more => panic!("one input, many refusals: {more:?}"),
    }
}

fn check(states: &[(&str, Run)], inputs: &[(&str, Input)], expected: &[&[Verdict]]) {
    assert_eq!(states.len(), expected.len(), "a row for every state");
    for ((state, run), row) in states.iter().zip(expected) {
        assert_eq!(inputs.len(), row.len(), "a cell for every input");
        for ((name, input), cell) in inputs.iter().zip(*row) {
            assert_eq!(verdict(run, input), *cell, "{name} when {state}");
        }
    }
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "one table: every input in every phase"
)]
fn inputs_for_a_run_are_taken_or_refused_by_its_phase() {
    let granted = || answer("r", None, LockAnswer::Granted);
    let states = [
        ("uncreated", Run::default()),
        ("waiting for its locks", after(&[new("r", LOCKED)])),
        ("running with locks", after(&[new("r", LOCKED), granted()])),
        ("running without locks", after(&[new("r", PLAIN)])),
        ("stopping", after(&[new("r", PLAIN), Input::Stop])),
        (
            "finished with locks",
            after(&[new("r", LOCKED), answer("r", None, waiting()), Input::Stop]),
        ),
        ("finished", after(&[new("r", PLAIN), ended(step(1))])),
    ];
    let phases: Vec<RunPhase> = states.iter().map(|(_, run)| run.phase()).collect();
    assert_eq!(
        phases,
        [
            RunPhase::Pending,
            RunPhase::Pending,
            RunPhase::Running,
            RunPhase::Running,
            RunPhase::Running,
            RunPhase::Failed,
            RunPhase::Succeeded,
        ]
    );
    let inputs = [
        ("create", new("r", PLAIN)),
        ("create of another", new("s", PLAIN)),
        ("stop", Input::Stop),
        ("tick", Input::Tick),
        ("granted", granted()),
        ("waiting", answer("r", None, waiting())),
        ("refused", answer("r", None, refused())),
        ("an answer to another", answer("s", None, waiting())),
    ];
    let foreign = Refused(Unknown);
    check(
        &states,
        &inputs,
        &[
            &[
                Taken,
                Taken,
                Refused(Illegal),
                Refused(Illegal),
                foreign,
                foreign,
                foreign,
                foreign,
            ],
            &[
                Refused(Late),
                Refused(Illegal),
                Taken,
                Taken,
                Taken,
                Taken,
                Taken,
                foreign,
            ],
            &[
                Refused(Late),
                Refused(Illegal),
                Taken,
                Taken,
                Refused(Late),
                Refused(Late),
                Refused(Illegal),
                foreign,
            ],
            &[
                Refused(Late),
                Refused(Illegal),
                Taken,
                Taken,
                Refused(Illegal),
                Refused(Illegal),
                Refused(Illegal),
                foreign,
            ],
            &[
                Refused(Late),
                Refused(Illegal),
                Refused(Late),
                Taken,
                Refused(Illegal),
                Refused(Illegal),
                Refused(Illegal),
                foreign,
            ],
            &[
                Refused(Late),
                Refused(Illegal),
                Refused(Late),
                Refused(Late),
                Refused(Late),
                Refused(Late),
                Refused(Late),
                foreign,
            ],
            &[
                Refused(Late),
                Refused(Illegal),
                Refused(Late),
                Refused(Late),
                Refused(Illegal),
                Refused(Illegal),
                Refused(Illegal),
                foreign,
            ],
        ],
    );
}

#[test]
fn inputs_for_a_leaf_are_taken_or_refused_by_its_phase() {
    let begin = [new("r", LOCKED), answer("r", None, LockAnswer::Granted)];
    let with = |more: &[Input]| after(&[begin.as_slice(), more].concat());
    let granted = || answer("r", Some(&leaf()), LockAnswer::Granted);
    let states = [
        ("waiting for its lock", with(&[])),
        ("asked for", with(&[granted()])),
        ("running", with(&[granted(), started(step(1))])),
        (
            "stopping",
            with(&[granted(), started(step(1)), Input::Stop]),
        ),
        (
            "ended",
            with(&[granted(), started(step(1)), ended(step(1))]),
        ),
    ];
    let phases: Vec<NodePhase> = states
        .iter()
        .map(|(_, run)| run.node(&leaf()).expect("the leaf").phase)
        .collect();
    assert_eq!(
        phases,
        [
            NodePhase::Pending,
            NodePhase::Pending,
            NodePhase::Running,
            NodePhase::Running,
            NodePhase::Succeeded,
        ]
    );
    let of_group = StepId {
        node: NodeId::of("r", "r[0]"),
        ..step(1)
    };
    let of_nobody = StepId {
        node: NodeId("r-0".to_owned()),
        ..step(1)
    };
    let of_another = StepId {
        run: RunId("s".to_owned()),
        ..step(1)
    };
    let inputs = [
        ("started", started(step(1))),
        ("ended", ended(step(1))),
        ("another execution started", started(step(2))),
        ("another execution ended", ended(step(2))),
        ("granted", granted()),
        ("waiting", answer("r", Some(&leaf()), waiting())),
        ("refused", answer("r", Some(&leaf()), refused())),
        ("a group started", started(of_group.clone())),
        ("a group ended", ended(of_group)),
        ("a stranger ended", ended(of_nobody)),
        ("another run's leaf ended", ended(of_another)),
        (
            "a stranger's lock",
            answer("r", Some(&NodeId("r-0".to_owned())), LockAnswer::Granted),
        ),
    ];
    let (late, illegal, unknown) = (Refused(Late), Refused(Illegal), Refused(Unknown));
    let tail = [illegal, illegal, unknown, unknown, unknown];
    let row = |cells: [Verdict; 7]| -> Vec<Verdict> { [cells.as_slice(), &tail].concat() };
    let rows = [
        row([illegal, illegal, illegal, illegal, Taken, Taken, Taken]),
        row([Taken, Taken, illegal, illegal, late, late, illegal]),
        row([late, Taken, illegal, illegal, late, late, illegal]),
        row([late, Taken, illegal, illegal, late, late, illegal]),
        row([late, late, illegal, illegal, late, late, late]),
    ];
    let rows: Vec<&[Verdict]> = rows.iter().map(Vec::as_slice).collect();
    check(&states, &inputs, &rows);
}

#[test]
fn a_step_that_was_asked_to_stop_never_succeeds() {
    let outcomes = [
        StepOutcome::Exited,
        StepOutcome::Signaled { signal: 2 },
        StepOutcome::TimedOut,
        StepOutcome::OutOfMemory,
        StepOutcome::ImageFailure {
            message: "x".to_owned(),
        },
        StepOutcome::StartFailure {
            message: "x".to_owned(),
        },
        StepOutcome::OutputFailure {
            message: "x".to_owned(),
        },
        StepOutcome::Lost,
    ];
    for outcome in outcomes {
        let mut run = after(&[new("r", PLAIN)]);
        let decision = decide(&mut run, &[Input::Stop], Timestamp(6));
        assert!(matches!(
            decision.actions.as_slice(),
            [Action::StopStep { .. }]
        ));
        let report = StepReport::Ended(StepEnd {
            at: Timestamp(7),
            outcome,
            asked_to_stop: true,
            exit_code: Some(0),
            result: None,
            parameters: BTreeMap::new(),
        });
        let input = Input::StepReported {
            step: step(1),
            report,
        };
        decide(&mut run, &[input], Timestamp(8));
        assert!(run.node(&leaf()).expect("the leaf").phase.is_failure());
        assert_eq!(run.phase(), RunPhase::Failed);
        assert_eq!(run.message(), "Stopped with strategy 'Stop'");
    }
}
