//! The crash simulator: seeded runs of the real loop over a journal in memory, with the process
//! dropped after every kind of commit and settle and in the middle of anything, reports repeated,
//! and several processes contending for the same runs. A failing seed is printed.
//!
//! `GROUNDPLAN_SEEDS` sets how many seeds are played, `GROUNDPLAN_SEED` plays one alone.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use groundplan_controller::{
    Controller, Ending, Error, Options, Ports, RunSettings, Submission, TurnView, Watcher,
};
use groundplan_engine::{
    id::{RunId, StepId},
    input::NewRun,
    time::Timestamp,
};
use groundplan_ports::{runner::StepSpec, store::Owner};
use groundplan_testkit::{
    clock::VirtualClock,
    memory::{MemoryBlobs, MemoryLogs, MemorySecrets},
    memory_store::{MemoryStore, Verdict},
    scripted_runner::{Outcome, ScriptedRunner},
};
use groundplan_workflow::{read, resolve};
use tokio::sync::mpsc::unbounded_channel;

/// Virtual time within which every run must have ended.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// A generator of reproducible choices (SplitMix64).
#[derive(Clone, Debug)]
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }
}

/// A random document: a DAG with fan-outs, nested steps, conditions, and locks on both levels.
fn document(dice: &mut Dice) -> String {
    let mut text = String::from(
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: sim}\nspec:\n  entrypoint: main\n",
    );
    if dice.one_in(2) {
        text.push_str("  synchronization: {mutexes: [{name: whole}]}\n");
    }
    text.push_str("  templates:\n  - name: main\n    dag:\n      tasks:\n");
    let tasks = 2 + dice.below(6);
    for task in 0..tasks {
        let template = ["leaf", "pair", "guarded"][usize::try_from(dice.below(3)).expect("small")];
        text.push_str(&format!(
            "      - name: t{task}\n        template: {template}\n"
        ));
        let above: Vec<String> = (0..task)
            .filter(|_| dice.one_in(2))
            .map(|above| format!("t{above}"))
            .collect();
        if !above.is_empty() {
            let join = if dice.one_in(3) { " || " } else { " && " };
            text.push_str(&format!("        depends: {}\n", above.join(join)));
        }
        if dice.one_in(3) {
            text.push_str("        withItems: [a, b, c]\n");
        }
    }
    text.push_str(concat!(
        "  - name: pair\n    steps:\n    - [{name: one, template: leaf}, {name: two, template: leaf}]\n",
        "    - [{name: three, template: guarded}]\n",
        "  - name: leaf\n    container: {image: i, command: [work]}\n",
        "  - name: guarded\n    synchronization: {mutexes: [{name: narrow}]}\n",
        "    container: {image: i, command: [guarded]}\n",
    ));
    text
}

struct Nobody;

impl Watcher for Nobody {
    fn turn(&mut self, _view: &TurnView<'_>) {}
}

/// Everything that outlives a process.
#[derive(Clone)]
struct World {
    store: Arc<MemoryStore>,
    runner: Arc<ScriptedRunner>,
    logs: Arc<MemoryLogs>,
    blobs: Arc<MemoryBlobs>,
    secrets: Arc<MemorySecrets>,
    clock: Arc<VirtualClock>,
    pids: Arc<AtomicU32>,
}

impl World {
    fn new(seed: u64) -> Self {
        let clock = Arc::new(VirtualClock::starting_at(Timestamp(1_700_000_000_000)));
        let script = move |spec: &StepSpec| outcome(seed, spec);
        World {
            store: Arc::new(MemoryStore::new()),
            runner: Arc::new(ScriptedRunner::new(clock.clone(), Box::new(script))),
            logs: Arc::default(),
            blobs: Arc::default(),
            secrets: Arc::default(),
            clock,
            pids: Arc::new(AtomicU32::new(100)),
        }
    }

    fn process(&self, mut dice: Dice, crash_one_in: u64) -> (Controller, Owner, Arc<MemoryStore>) {
        let owner = Owner {
            host: "here".to_owned(),
            boot_id: "boot".to_owned(),
            pid: self.pids.fetch_add(1, Ordering::SeqCst),
            start_time: 1,
        };
        let dice = std::sync::Mutex::new({
            dice.next();
            dice
        });
        let store = Arc::new(self.store.attach(move |_point| {
            let mut dice = dice.lock().expect("nobody panics with the dice");
            if dice.one_in(crash_one_in) {
                Verdict::Crash
            } else {
                Verdict::GoOn
            }
        }));
        let ports = Ports {
            store: store.clone(),
            runner: self.runner.clone(),
            logs: self.logs.clone(),
            blobs: self.blobs.clone(),
            secrets: self.secrets.clone(),
            clock: self.clock.clone(),
        };
        let options = Options {
            owner: owner.clone(),
            lease: Duration::from_secs(10),
            slots: 3,
            passed_variables: BTreeMap::new(),
            poll: Duration::from_millis(500),
        };
        (Controller::new(ports, options), owner, store)
    }
}

/// A step's outcome depends on the seed and its name alone.
fn outcome(seed: u64, spec: &StepSpec) -> Outcome {
    let name = spec.node_name.bytes().fold(seed, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut dice = Dice(name);
    Outcome {
        millis: i64::try_from(dice.below(20_000)).expect("small"),
        exit_code: i32::from(dice.one_in(6)),
        parameters: BTreeMap::new(),
        stdout: String::new(),
    }
}

fn submission(seed: u64, number: u64, text: &str) -> Submission {
    let name = format!("sim-{number}");
    let file = read::SourceFile::new("sim.yaml", text);
    let read = read::read(&file);
    let document = read
        .documents
        .first()
        .expect("the generated document is read");
    Submission {
        run: NewRun {
            id: RunId(format!("run-{seed}-{number}")),
            uid: format!("uid-{number}"),
            created_at: Timestamp(1_700_000_000_000),
            seed,
            workflow: resolve::resolve(document, &[], &name)
                .expect("the generated document resolves"),
        },
        settings: RunSettings {
            sandbox: true,
            network: true,
            ..RunSettings::default()
        },
    }
}

/// Drives a run with processes that crash until it is over.
async fn drive_through_crashes(world: World, run: RunId, mut dice: Dice) {
    loop {
        let crash_one_in = 2 + dice.below(40);
        let (controller, owner, _) = world.process(dice.clone(), crash_one_in);
        let life = Duration::from_millis(if dice.one_in(3) {
            dice.below(5_000)
        } else {
            3_600_000
        });
        let (_controls, control) = unbounded_channel();
        let ended = tokio::time::timeout(life, controller.drive(&run, control, &mut Nobody)).await;
        match ended {
            Ok(Ok(Ending::Finished)) => return,
            Ok(Ok(Ending::Detached)) => unreachable!("nobody detaches"),
            Ok(Err(Error::Driven { .. })) => {
                // sleep: of the simulated clock
                tokio::time::sleep(Duration::from_millis(1 + dice.below(30_000))).await;
            }
            // A crash, or a lease that another process took over.
            Ok(Err(_)) | Err(_) => world.store.declare_dead(&owner),
        }
        dice.next();
    }
}

async fn play(seed: u64) {
    let mut dice = Dice(seed);
    let world = World::new(seed);
    let runs = 1 + dice.below(3);
    let (submitter, _, _) = world.process(dice.clone(), u64::MAX);
    let mut drivers = Vec::new();
    for number in 0..runs {
        let text = document(&mut dice);
        let submission = submission(seed, number, &text);
        let run = submission.run.id.clone();
        submitter
            .submit(submission.clone())
            .await
            .expect("the journal takes a run");
        submitter
            .submit(submission)
            .await
            .expect("submitting again changes nothing");
        for _ in 0..1 + dice.below(2) {
            dice.next();
            drivers.push(tokio::spawn(drive_through_crashes(
                world.clone(),
                run.clone(),
                dice.clone(),
            )));
        }
    }
    for driver in drivers {
        tokio::time::timeout(PATIENCE, driver)
            .await
            .unwrap_or_else(|_| panic!("seed {seed}: a run does not end"))
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
    check(seed, &world, runs).await;
}

async fn check(seed: u64, world: &World, runs: u64) {
    for (step, begun) in world.runner.begun() {
        assert_eq!(begun, 1, "seed {seed}: {step} was begun {begun} times");
    }
    let (reader, _, _) = world.process(Dice(0), u64::MAX);
    let mut whole = Vec::new();
    let mut narrow = Vec::new();
    for number in 0..runs {
        let history = reader
            .history(&format!("run-{seed}-{number}"))
            .await
            .expect("the run is there");
        assert!(
            history.run.phase().is_finished(),
            "seed {seed}: run {number} is not over"
        );
        assert_eq!(
            history.row.phase,
            history.run.phase().as_str(),
            "seed {seed}"
        );
        let new = history.run.created().expect("the run was created");
        let intervals = world.runner.intervals();
        let of_run = |wanted: &dyn Fn(&StepId) -> bool| -> Vec<(Timestamp, Timestamp)> {
            intervals
                .iter()
                .filter(|(step, _)| step.run == new.id && wanted(step))
                .map(|(_, interval)| *interval)
                .collect()
        };
        let all = of_run(&|_| true);
        if new.workflow.spec.synchronization.is_some()
            && let (Some(first), Some(last)) = (
                all.iter().map(|all| all.0).min(),
                all.iter().map(|all| all.1).max(),
            )
        {
            whole.push((first, last));
        }
        narrow.extend(of_run(&|step| {
            history
                .run
                .node(&step.node)
                .is_some_and(|node| node.template_name == "guarded")
        }));
    }
    assert_apart(seed, "whole", whole);
    assert_apart(seed, "narrow", narrow);
}

/// No lock is held by two.
fn assert_apart(seed: u64, lock: &str, mut intervals: Vec<(Timestamp, Timestamp)>) {
    intervals.sort();
    for pair in intervals.windows(2) {
        assert!(
            pair[0].1 <= pair[1].0,
            "seed {seed}: two holders of `{lock}` at once: {pair:?}"
        );
    }
}

fn play_alone(seed: u64) {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime can be built")
        .block_on(play(seed));
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Plays one of four parts of the seeds, so that two processors have something to do.
fn play_part(part: u64) {
    if let Some(seed) = number("GROUNDPLAN_SEED") {
        play_alone(seed);
        return;
    }
    let seeds = number("GROUNDPLAN_SEEDS").unwrap_or(1000);
    for seed in (part..seeds).step_by(4) {
        play_alone(seed);
    }
}

#[test]
fn runs_end_rightly_whenever_processes_crash_part_one() {
    play_part(0);
}

#[test]
fn runs_end_rightly_whenever_processes_crash_part_two() {
    play_part(1);
}

#[test]
fn runs_end_rightly_whenever_processes_crash_part_three() {
    play_part(2);
}

#[test]
fn runs_end_rightly_whenever_processes_crash_part_four() {
    play_part(3);
}
