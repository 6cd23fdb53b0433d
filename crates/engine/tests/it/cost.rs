//! What a report costs: the number of nodes looked at, never the number of nodes there are.

use groundplan_engine::{
    action::Action,
    decide::{Decision, decide},
    id::RunId,
    input::{Input, NewRun},
    report::StepReport,
    run::Run,
    time::Timestamp,
};
use groundplan_testkit::engine::{Outcome, resolved};
use std::collections::VecDeque;

/// Plays a run, one report a turn. Answers how many turns there were and how many nodes were looked
/// at in all of them but the first.
fn play(yaml: &str) -> (u64, u64, Run) {
    let mut run = Run::default();
    let new = NewRun {
        id: RunId("r".to_owned()),
        uid: "u".to_owned(),
        created_at: Timestamp(0),
        seed: 0,
        workflow: resolved(yaml),
    };
    let mut mail = VecDeque::from([Input::Create(Box::new(new))]);
    let (mut turns, mut visits) = (0, 0);
    while let Some(input) = mail.pop_front() {
        let decision: Decision = decide(&mut run, &[input], Timestamp(1));
        if turns > 0 {
            visits += decision.visits;
        }
        turns += 1;
        for action in decision.actions {
            let Action::StartStep(request) = action else {
                continue;
            };
            let end = Outcome::good().end(&request, Timestamp(1), false);
            mail.push_back(Input::StepReported {
                step: request.step,
                report: StepReport::Ended(end),
            });
        }
    }
    assert!(run.phase().is_finished());
    (turns, visits, run)
}

fn fan_out(items: usize) -> String {
    let items: Vec<String> = (0..items).map(|item| item.to_string()).collect();
    format!(
        "
metadata: {{name: r}}
spec:
  entrypoint: main
  templates:
  - name: main
    dag:
      tasks:
      - {{name: many, template: leaf, withParam: '[{}]'}}
      - {{name: after, template: leaf, depends: many}}
  - {{name: leaf, container: {{image: i, command: [c]}}}}
",
        items.join(",")
    )
}

fn chain(tasks: usize) -> String {
    let mut yaml = String::from(
        "
metadata: {name: r}
spec:
  entrypoint: main
  templates:
  - {name: leaf, container: {image: i, command: [c]}}
  - name: main
    dag:
      tasks:
",
    );
    for task in 0..tasks {
        yaml.push_str(&format!("      - {{name: t{task}, template: leaf"));
        if task > 0 {
            yaml.push_str(&format!(", depends: t{}", task - 1));
        }
        yaml.push_str("}\n");
    }
    yaml
}

fn sequence(groups: usize) -> String {
    let mut yaml = String::from(
        "
metadata: {name: r}
spec:
  entrypoint: main
  templates:
  - {name: leaf, container: {image: i, command: [c]}}
  - name: main
    steps:
",
    );
    for group in 0..groups {
        yaml.push_str(&format!("    - - {{name: s{group}, template: leaf}}\n"));
    }
    yaml
}

#[test]
fn the_cost_of_a_report_does_not_grow_with_the_run() {
    type Shape = fn(usize) -> String;
    let shapes: [(&str, Shape, usize); 3] = [
        ("fan-out", fan_out, 10_000),
        ("chain", chain, 1_000),
        ("sequence", sequence, 1_000),
    ];
    for (name, shape, size) in shapes {
        let (turns, visits, run) = play(&shape(size));
        assert!(run.nodes().count() > size, "{name}");
        assert!(
            visits <= 6 * turns,
            "{name} of {size}: {visits} nodes looked at in {turns} turns"
        );
    }
}
