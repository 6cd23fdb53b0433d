//! Recorded journals of every issue still replay: the fold of their events is the run that was
//! recorded with them. Events are for ever, so a recording is never changed, only added to.
//!
//! `GROUNDPLAN_RECORD=NAME` drives the document below and writes `journals/NAME.jsonl`: a line per
//! event (kind, version, event) and the run's snapshot as the last line.

use std::{collections::BTreeMap, fs, path::PathBuf, sync::Arc, time::Duration};

use groundplan_controller::{
    Controller, Options, Ports, RunSettings, Submission, TurnView, Watcher, events_of,
};
use groundplan_engine::{
    event::Event, evolve::replay, id::RunId, input::NewRun, run::Run, time::Timestamp,
};
use groundplan_ports::{runner::StepSpec, store::Owner};
use groundplan_testkit::{
    clock::VirtualClock,
    memory::{MemoryBlobs, MemoryLogs, MemorySecrets},
    memory_store::MemoryStore,
    scripted_runner::{Outcome, ScriptedRunner},
};
use groundplan_workflow::{read, resolve};
use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;

/// Everything that leaves events of different kinds.
const DOCUMENT: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: recorded, namespace: ci}
spec:
  entrypoint: main
  activeDeadlineSeconds: 600
  arguments: {parameters: [{name: who, value: world}]}
  synchronization: {mutexes: [{name: whole}]}
  templates:
  - name: main
    dag:
      failFast: false
      tasks:
      - {name: make, template: make}
      - name: each
        template: each
        depends: make
        withParam: '{{tasks.make.outputs.parameters.list}}'
        arguments: {parameters: [{name: item, value: '{{item}}'}]}
      - {name: fails, template: fails, depends: make}
      - {name: after-failure, template: guarded, depends: fails.Failed}
      - {name: omitted, template: guarded, depends: fails}
      - {name: skipped, template: guarded, depends: each, when: '{{tasks.make.outputs.result}} == never'}
    outputs: {parameters: [{name: all, valueFrom: {parameter: '{{tasks.each.outputs.parameters.done}}'}}]}
  - name: make
    script: {image: i, command: [sh], source: 'echo hello {{workflow.parameters.who}}'}
    outputs: {parameters: [{name: list, valueFrom: {path: /list}}, {name: none, valueFrom: {path: /none, default: '-'}}]}
  - name: each
    inputs: {parameters: [{name: item}]}
    steps:
    - - {name: one, template: leaf, arguments: {parameters: [{name: item, value: '{{inputs.parameters.item}}'}]}}
      - {name: two, template: guarded}
    - - {name: three, template: leaf, arguments: {parameters: [{name: item, value: '{{steps.one.outputs.parameters.done}}'}]}}
    outputs: {parameters: [{name: done, valueFrom: {parameter: '{{steps.three.outputs.parameters.done}}'}}]}
  - name: leaf
    inputs: {parameters: [{name: item}]}
    container: {image: i, command: [work, '{{inputs.parameters.item}}']}
    outputs: {parameters: [{name: done, valueFrom: {path: /done}}]}
  - name: guarded
    synchronization: {mutexes: [{name: narrow}]}
    container: {image: i, command: [guarded]}
  - name: fails
    container: {image: i, command: [fails]}
";

#[test]
fn recorded_journals_still_fold_to_the_run_that_was_recorded_with_them() {
    let mut replayed = 0;
    for entry in fs::read_dir(journals()).expect("recordings are there") {
        let path = entry.expect("a recording").path();
        let text = fs::read_to_string(&path).expect("a recording is text");
        let mut lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("a line is JSON"))
            .collect();
        let recorded = lines.pop().expect("the last line is the run");
        let events: Vec<Event> = lines
            .into_iter()
            .map(|line| {
                let event: Event =
                    serde_json::from_value(line["event"].clone()).unwrap_or_else(|error| {
                        panic!("{}: {}: {error}", path.display(), line["kind"])
                    });
                assert_eq!(line["kind"], event.kind(), "{}", path.display());
                event
            })
            .collect();
        let snapshot: Run = serde_json::from_value(recorded["run"].clone())
            .unwrap_or_else(|error| panic!("{}: the snapshot: {error}", path.display()));
        assert!(
            replay(&events) == snapshot,
            "{}: the fold is another run",
            path.display()
        );
        replayed += 1;
    }
    assert!(replayed > 0, "nothing was replayed");
}

#[test]
fn a_journal_can_be_recorded() {
    let lines = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime can be built")
        .block_on(record());
    assert!(
        lines.len() > 20,
        "the document leaves many events, and left {}",
        lines.len()
    );
    if let Ok(name) = std::env::var("GROUNDPLAN_RECORD") {
        let path = journals().join(format!("{name}.jsonl"));
        assert!(
            !path.exists(),
            "{} is recorded already, and is never changed",
            path.display()
        );
        fs::write(&path, lines.join("\n") + "\n").expect("a recording can be written");
    }
}

fn journals() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/journals")
}

struct Nobody;

impl Watcher for Nobody {
    fn turn(&mut self, _view: &TurnView<'_>) {}
}

fn outcome(spec: &StepSpec) -> Outcome {
    let parameters = [("list", "[\"a\",\"b\"]"), ("done", "well")];
    Outcome {
        millis: 1500,
        exit_code: i32::from(spec.main.command == ["fails"]) * 3,
        parameters: parameters
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        stdout: "hello".to_owned(),
    }
}

async fn record() -> Vec<String> {
    let clock = Arc::new(VirtualClock::starting_at(Timestamp(1_764_500_000_000)));
    let ports = Ports {
        store: Arc::new(MemoryStore::new()),
        runner: Arc::new(ScriptedRunner::new(clock.clone(), Box::new(outcome))),
        logs: Arc::new(MemoryLogs::default()),
        blobs: Arc::new(MemoryBlobs::default()),
        secrets: Arc::new(MemorySecrets::default()),
        clock,
    };
    let owner = Owner {
        host: "here".to_owned(),
        boot_id: "boot".to_owned(),
        pid: 1,
        start_time: 1,
    };
    let options = Options {
        owner,
        lease: Duration::from_secs(10),
        slots: 2,
        passed_variables: BTreeMap::new(),
        poll: Duration::from_millis(500),
    };
    let controller = Controller::new(ports, options);
    let file = read::SourceFile::new("recorded.yaml", DOCUMENT);
    let read = read::read(&file);
    let id = RunId("run".to_owned());
    let run = NewRun {
        id: id.clone(),
        uid: "uid".to_owned(),
        created_at: Timestamp(1_764_500_000_000),
        seed: 7,
        workflow: resolve::resolve(&read.documents[0], &[], "recorded")
            .expect("the document resolves"),
    };
    let submission = Submission {
        run,
        settings: RunSettings::default(),
    };
    controller
        .submit(submission)
        .await
        .expect("the journal takes a run");
    let (_controls, control) = unbounded_channel();
    controller
        .drive(&id, control, &mut Nobody)
        .await
        .expect("the run ends");
    let events = events_of(&controller, &id)
        .await
        .expect("the events are there");
    let run = controller
        .history("run")
        .await
        .expect("the run is there")
        .run;
    let mut lines: Vec<String> = events
        .iter()
        .map(|event| {
            json!({"kind": event.kind(), "version": event.version(), "event": event}).to_string()
        })
        .collect();
    lines.push(json!({"run": run}).to_string());
    lines
}
