//! What holds for every document, every outcome and every order of reports.

use std::collections::{BTreeMap, BTreeSet};

use groundplan_engine::{
    action::{Action, StepRequest},
    decide::decide,
    event::Event,
    evolve::replay,
    id::{RunId, StepId},
    input::{Input, NewRun},
    node::{NodeKind, NodePhase, RunPhase},
    report::StepReport,
    run::Run,
    sync::{self, LockSpace},
    time::Timestamp,
};
use groundplan_testkit::engine::{Outcome, resolved};
use proptest::prelude::*;

/// A task of a random DAG: which earlier tasks it depends on, and how its leaf ends.
#[derive(Clone, Debug)]
struct TaskPlan {
    after: BTreeSet<usize>,
    result: &'static str,
    code: i32,
    fanned_out: usize,
    locked: bool,
    condition: Option<bool>,
    nested: bool,
}

const RESULTS: [&str; 6] = [
    "",
    ".Succeeded",
    ".Failed",
    ".Skipped",
    ".Omitted",
    ".Errored",
];

fn tasks() -> impl Strategy<Value = Vec<TaskPlan>> {
    let task = (
        prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        0..RESULTS.len(),
        prop_oneof![3 => Just(0), 1 => Just(1)],
        0_usize..4,
        prop::bool::weighted(0.2),
        prop::option::weighted(0.2, any::<bool>()),
        prop::bool::weighted(0.3),
    );
    prop::collection::vec(task, 1..9).prop_map(|tasks| {
        let mut plans: Vec<TaskPlan> = Vec::new();
        for (after, result, code, fanned_out, locked, condition, nested) in tasks {
            let known = plans.len();
            let after = after.iter().filter(|_| known > 0);
            plans.push(TaskPlan {
                after: after.map(|index| index.index(known)).collect(),
                result: RESULTS[result],
                code,
                fanned_out,
                locked,
                condition,
                nested,
            });
        }
        plans
    })
}

fn document(plans: &[TaskPlan]) -> String {
    let mut yaml = String::from("metadata: {name: r}\nspec:\n  entrypoint: main\n  templates:\n");
    yaml.push_str("  - {name: plain, container: {image: i, command: [c]}}\n");
    yaml.push_str(
        "  - {name: locked, synchronization: {mutexes: [{name: m}]}, container: {image: i, command: [c]}}\n",
    );
    yaml.push_str("  - name: two\n    steps: [[{name: x, template: plain}], [{name: y, template: locked}, {name: z, template: plain}]]\n");
    yaml.push_str("  - name: main\n    dag:\n      tasks:\n");
    for (number, plan) in plans.iter().enumerate() {
        let template = match (plan.nested, plan.locked) {
            (true, _) => "two",
            (false, true) => "locked",
            (false, false) => "plain",
        };
        yaml.push_str(&format!(
            "      - name: t{number}\n        template: {template}\n"
        ));
        if !plan.after.is_empty() {
            let terms = plan
                .after
                .iter()
                .map(|task| format!("t{task}{}", plan.result));
            let terms: Vec<String> = terms.collect();
            yaml.push_str(&format!("        depends: {}\n", terms.join(" || ")));
        }
        if plan.fanned_out > 0 {
            let items: Vec<String> = (1..plan.fanned_out).map(|item| item.to_string()).collect();
            yaml.push_str(&format!("        withParam: '[{}]'\n", items.join(",")));
        }
        if let Some(condition) = plan.condition {
            yaml.push_str(&format!("        when: '{condition}'\n"));
        }
    }
    yaml
}

/// A run, its lock space, and reports that are delivered in any order, twice, and late.
struct Bench {
    run: Run,
    journal: Vec<Event>,
    space: LockSpace,
    mail: Vec<Input>,
    seen: Vec<Input>,
    started: BTreeMap<StepId, StepRequest>,
    now: Timestamp,
}

impl Bench {
    fn new(yaml: &str) -> Self {
        let new = NewRun {
            id: RunId("r".to_owned()),
            uid: "u".to_owned(),
            created_at: Timestamp(0),
            seed: 1,
            workflow: resolved(yaml),
        };
        Bench {
            run: Run::default(),
            journal: Vec::new(),
            space: LockSpace::default(),
            mail: vec![Input::Create(Box::new(new))],
            seen: Vec::new(),
            started: BTreeMap::new(),
            now: Timestamp(1000),
        }
    }

    fn turn(&mut self, inputs: &[Input], plans: &[TaskPlan]) {
        self.now = self.now.plus_millis(100);
        let decision = decide(&mut self.run, inputs, self.now);
        self.check_starts(&decision.actions, plans);
        self.journal.extend(decision.events);
        let answered = sync::decide(&mut self.space, &decision.locks);
        for (holder, answer) in answered.answers {
            self.mail.push(Input::LocksAnswered { holder, answer });
        }
        for action in decision.actions {
            self.perform(action, plans);
        }
        let twice = decide(&mut self.run, inputs, self.now);
        assert!(twice.actions.is_empty() && twice.locks.is_empty());
        // Of two places in a queue the one that was heard last counts, in whatever order they come.
        let (places, others): (Vec<_>, Vec<_>) = twice
            .events
            .into_iter()
            .partition(|event| matches!(event, Event::NodeLocksWaiting { .. }));
        assert_eq!(others, [], "deciding twice");
        self.journal.extend(places);
    }

    fn perform(&mut self, action: Action, plans: &[TaskPlan]) {
        let Action::StartStep(request) = action else {
            return;
        };
        let step = request.step.clone();
        assert!(
            self.started
                .insert(step.clone(), (*request).clone())
                .is_none(),
            "one start per execution"
        );
        let outcome = Outcome::exit(plans[task_of(&request.node_name)].code);
        let end = outcome.end(&request, self.now, false);
        let at = self.now;
        let step_again = step.clone();
        self.mail.push(Input::StepReported {
            step,
            report: StepReport::Started { at },
        });
        self.mail.push(Input::StepReported {
            step: step_again,
            report: StepReport::Ended(end),
        });
    }

    /// No leaf starts before everything that its task depends on is fulfilled.
    fn check_starts(&self, actions: &[Action], plans: &[TaskPlan]) {
        for action in actions {
            let Action::StartStep(request) = action else {
                continue;
            };
            for before in &plans[task_of(&request.node_name)].after {
                let node = self.run.node_named(&format!("r.t{before}"));
                assert!(
                    node.is_some_and(|node| node.phase.is_fulfilled()),
                    "{} started before t{before}",
                    request.node_name
                );
            }
        }
    }
}

fn task_of(node_name: &str) -> usize {
    let rest = node_name.strip_prefix("r.t").expect("a task of the DAG");
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest[..digits].parse().expect("a number")
}

fn check_end(run: &Run) {
    assert!(run.phase().is_finished(), "every run ends: {run:?}");
    assert!(run.nodes().all(|node| node.phase.is_fulfilled()));
    assert!(
        run.nodes()
            .all(|node| node.outstanding == 0 && node.live == 0)
    );
    if let Some(root) = run.root() {
        assert_eq!(root.phase.is_failure(), run.phase() != RunPhase::Succeeded);
    }
    for node in run.nodes() {
        let skipped = matches!(node.phase, NodePhase::Skipped | NodePhase::Omitted);
        assert_eq!(skipped, node.kind == NodeKind::Skipped, "{}", node.name);
        assert!(node.waiting_for_nothing());
    }
}

/// What the tests ask of a finished node.
trait Finished {
    fn waiting_for_nothing(&self) -> bool;
}

impl Finished for groundplan_engine::node::Node {
    fn waiting_for_nothing(&self) -> bool {
        self.locks.waiting().is_none() && self.live_execution().is_none()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_run_ends_in_whatever_order_reports_arrive(
        plans in tasks(),
        picks in prop::collection::vec((any::<prop::sample::Index>(), 1_usize..4, any::<bool>()), 200),
    ) {
        let mut bench = Bench::new(&document(&plans));
        let mut picks = picks.into_iter().cycle();
        let mut turns = 0;
        while !bench.mail.is_empty() {
            turns += 1;
            prop_assert!(turns < 2000, "the run does not come to an end");
            let (index, count, repeat) = picks.next().expect("a cycle has no end");
            let mut inputs = Vec::new();
            for _ in 0..count.min(bench.mail.len()) {
                let at = index.index(bench.mail.len());
                // The first input of a run is its creation, whatever else is delayed.
                inputs.push(bench.mail.swap_remove(at));
            }
            if repeat && !bench.seen.is_empty() {
                inputs.push(bench.seen[index.index(bench.seen.len())].clone());
            }
            bench.seen.extend(inputs.iter().cloned());
            bench.turn(&inputs, &plans);
        }
        check_end(&bench.run);
        prop_assert_eq!(&replay(&bench.journal), &bench.run);
        let snapshot = serde_json::to_string(&bench.run).expect("a run can be encoded");
        let again: Run = serde_json::from_str(&snapshot).expect("a snapshot can be read");
        prop_assert_eq!(&again, &bench.run);
        prop_assert!(bench.space.is_idle(), "every lock is free again");
    }

    #[test]
    fn a_run_that_goes_on_from_its_snapshot_decides_the_same(plans in tasks(), cut in 0_usize..30) {
        let yaml = document(&plans);
        let (mut whole, mut cut_run) = (Bench::new(&yaml), Bench::new(&yaml));
        let mut turns = 0;
        while !whole.mail.is_empty() {
            turns += 1;
            for bench in [&mut whole, &mut cut_run] {
                let inputs = std::mem::take(&mut bench.mail);
                bench.turn(&inputs, &plans);
            }
            if turns == cut {
                let text = serde_json::to_string(&cut_run.run).expect("a run can be encoded");
                cut_run.run = serde_json::from_str(&text).expect("a snapshot can be read");
            }
        }
        prop_assert_eq!(&whole.journal, &cut_run.journal);
        check_end(&whole.run);
    }

    #[test]
    fn a_stopped_run_ends_once_its_leaves_have_and_starts_nothing_more(
        plans in tasks(),
        stop_after in 1_usize..12,
    ) {
        let mut bench = Bench::new(&document(&plans));
        let mut turns = 0;
        let mut stopped_with = None;
        while !bench.mail.is_empty() {
            turns += 1;
            let mut inputs = vec![bench.mail.remove(0)];
            if turns == stop_after {
                inputs.push(Input::Stop);
            }
            bench.turn(&inputs, &plans);
            if turns == stop_after {
                stopped_with = Some(bench.started.len());
            }
        }
        check_end(&bench.run);
        if let Some(started) = stopped_with {
            prop_assert_eq!(started, bench.started.len());
        }
        prop_assert!(bench.space.is_idle());
    }
}
