//! Nothing is lost by `kill -9` of any process of ours.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use groundplan_engine::{id::StepId, report::StepOutcome};
use groundplan_ports::{
    logs::Stream,
    runner::{Isolation, Runner, StepSpec, VolumeSource},
};

use crate::machine::{
    Machine, children, end, in_both, is_alive, kill_9, mount, printed, processes, run, until,
    until_printed,
};

/// Thirty lines, and the effect that must happen once.
fn thirty_lines(machine: &Machine) -> StepSpec {
    let mut spec = machine.script(
        "echo x >> \"$EFFECTS/effect\"; i=0; while [ $i -lt 30 ]; do i=$((i + 1)); \
         echo line $i; echo other $i >&2; sleep 0.02; done; exit 7",
    );
    with_effects(machine, &mut spec);
    spec
}

/// A folder that outlives the step, as `$EFFECTS`.
fn with_effects(machine: &Machine, spec: &mut StepSpec) {
    let folder = machine.data_dir().join("effects");
    fs::create_dir_all(&folder).expect("it is made");
    let path = match machine.isolation {
        Isolation::Sandbox => "/effects".to_owned(),
        Isolation::None => folder.to_string_lossy().into_owned(),
    };
    spec.main.mounts.push(mount("effects", &path));
    spec.volumes
        .insert("effects".into(), VolumeSource::Directory(folder));
    spec.main.env.push(groundplan_ports::runner::EnvValue {
        name: "EFFECTS".into(),
        value: groundplan_ports::secrets::SecretValue::new(path),
        secret: false,
    });
}

fn effects(machine: &Machine) -> usize {
    fs::read_to_string(machine.data_dir().join("effects/effect"))
        .unwrap_or_default()
        .lines()
        .count()
}

fn expected(word: &str) -> String {
    (1..=30).map(|i| format!("{word} {i}\n")).collect()
}

async fn is_complete(machine: &Machine, runner: &groundplan_runners::ProcessRunner, step: &StepId) {
    let end = end(runner, step).await;
    assert_eq!(end.outcome, StepOutcome::Exited);
    assert_eq!(end.exit_code, Some(7));
    assert_eq!(
        printed(runner, step, Stream::Stdout).await,
        expected("line")
    );
    assert_eq!(
        printed(runner, step, Stream::Stderr).await,
        expected("other")
    );
    let result = expected("line");
    assert_eq!(end.result.as_deref(), result.strip_suffix('\n'));
    assert_eq!(effects(machine), 1);
}

in_both! {
    async fn a_killed_supervisor_is_replaced(machine) {
        let runner = machine.runner();
        let spec = thirty_lines(&machine);
        let step = spec.step.clone();
        runner.start(spec).await.expect("it is started");
        for line in ["line 3\n", "line 10\n", "line 20\n"] {
            until_printed(&runner, &step, line).await;
            let supervisor = machine.supervisor(&step).expect("one lives");
            kill_9(supervisor);
            // Whoever drives the run notices.
            let (observer, at) = (runner.clone(), step.clone());
            tokio::spawn(async move { end(&observer, &at).await });
        }
        is_complete(&machine, &runner, &step).await;
    }

    async fn a_killed_command_leaves_the_step_alone(machine) {
        let spec = thirty_lines(&machine);
        let step = spec.step.clone();
        let gone = machine.runner();
        gone.start(spec).await.expect("it is started");
        until_printed(&gone, &step, "line 10\n").await;
        drop(gone);
        let runner = machine.runner();
        runner.attach(&step, Vec::new()).await.expect("it is taken up");
        is_complete(&machine, &runner, &step).await;
    }

    async fn killing_command_and_supervisor_loses_nothing(machine) {
        let spec = thirty_lines(&machine);
        let step = spec.step.clone();
        let gone = machine.runner();
        gone.start(spec).await.expect("it is started");
        until_printed(&gone, &step, "line 10\n").await;
        kill_9(machine.supervisor(&step).expect("one lives"));
        drop(gone);
        until("it ends alone", || machine.status(&step).contains("exited")).await;
        let runner = machine.runner();
        runner.attach(&step, Vec::new()).await.expect("it is taken up");
        is_complete(&machine, &runner, &step).await;
    }

    async fn starting_again_after_both_were_killed_runs_nothing_twice(machine) {
        let spec = thirty_lines(&machine);
        let step = spec.step.clone();
        let gone = machine.runner();
        gone.start(spec.clone()).await.expect("it is started");
        until_printed(&gone, &step, "line 10\n").await;
        kill_9(machine.supervisor(&step).expect("one lives"));
        drop(gone);
        let runner = machine.runner();
        runner.start(spec).await.expect("it is taken up");
        is_complete(&machine, &runner, &step).await;
    }

    async fn a_supervisor_killed_before_the_mark_is_replaced_and_the_tool_runs_once(machine) {
        let gate = Gate::new(machine);
        let machine = &gate.machine;
        let runner = machine.runner();
        let spec = thirty_lines(machine);
        let step = spec.step.clone();
        runner.start(spec).await.expect("it is started");
        until("process 1 waits", || gate.waits()).await;
        kill_9(machine.supervisor(&step).expect("one lives"));
        gate.open();
        is_complete(machine, &runner, &step).await;
    }

    async fn a_command_and_supervisor_killed_before_the_mark_let_the_tool_run_once(machine) {
        let gate = Gate::new(machine);
        let machine = &gate.machine;
        let gone = machine.runner();
        let spec = thirty_lines(machine);
        let step = spec.step.clone();
        gone.start(spec.clone()).await.expect("it is started");
        until("process 1 waits", || gate.waits()).await;
        kill_9(machine.supervisor(&step).expect("one lives"));
        drop(gone);
        let runner = machine.runner();
        runner.attach(&step, Vec::new()).await.expect("it is looked for");
        gate.open();
        if end(&runner, &step).await.outcome != StepOutcome::Lost {
            // Process 1 had its order already, and went on alone.
            return is_complete(machine, &runner, &step).await;
        }
        // Nothing was begun, so a start is not a second one.
        let runner = machine.runner();
        runner.start(spec).await.expect("it is started");
        is_complete(machine, &runner, &step).await;
    }

    async fn random_kills_of_supervisors_never_repeat_or_lose(machine) {
        for round in 0..10u64 {
            let _ = fs::remove_file(machine.data_dir().join("effects/effect"));
            let runner = machine.runner();
            let spec = thirty_lines(&machine);
            let step = spec.step.clone();
            runner.start(spec).await.expect("it is started");
            let (observer, at) = (runner.clone(), step.clone());
            let ended = tokio::spawn(async move { end(&observer, &at).await });
            let mut moment = 7919 * (round + 1);
            while !ended.is_finished() {
                moment = moment * 48271 % 0x7fff_ffff;
                // sleep: the kill comes at a random moment
                tokio::time::sleep(std::time::Duration::from_micros(moment % 150_000)).await;
                if let Some(supervisor) = machine.supervisor(&step) {
                    let pid = rustix::process::Pid::from_raw(supervisor).expect("positive");
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                }
            }
            is_complete(&machine, &runner, &step).await;
        }
    }

    async fn what_ended_alone_and_left_nothing_alive_is_reported_from_its_files(machine) {
        let spec = thirty_lines(&machine);
        let step = spec.step.clone();
        let gone = machine.runner();
        gone.start(spec).await.expect("it is started");
        until_printed(&gone, &step, "line 10\n").await;
        kill_9(machine.supervisor(&step).expect("one lives"));
        drop(gone);
        until("it ends alone", || machine.status(&step).contains("exited")).await;
        let process_one = keepers(&machine, &step);
        assert_eq!(process_one.len(), 1, "process 1 keeps the output");
        kill_9(process_one[0]);
        until("it is gone", || !is_alive(process_one[0])).await;
        let runner = machine.runner();
        runner.attach(&step, Vec::new()).await.expect("it is looked for");
        let end = end(&runner, &step).await;
        assert_eq!(end.exit_code, Some(7));
        assert_eq!(end.outcome, StepOutcome::Exited);
    }
}

/// Processes that have a step's lock open.
fn keepers(machine: &Machine, step: &StepId) -> Vec<i32> {
    let lock = machine.step_dir(step).join("lock");
    processes()
        .into_iter()
        .map(|(pid, _)| pid)
        .filter(|pid| {
            fs::read_dir(format!("/proc/{pid}/fd"))
                .into_iter()
                .flatten()
                .flatten()
                .any(|entry| fs::read_link(entry.path()).is_ok_and(|link| link == lock))
        })
        .collect()
}

#[tokio::test]
async fn the_tool_goes_on_when_bubblewrap_is_killed() {
    let machine = Machine::new(Isolation::Sandbox);
    let runner = machine.runner();
    let spec = thirty_lines(&machine);
    let step = spec.step.clone();
    runner.start(spec).await.expect("it is started");
    until_printed(&runner, &step, "line 10\n").await;
    let supervisor = machine.supervisor(&step).expect("one lives");
    let outer = children(supervisor);
    assert_eq!(outer.len(), 1, "the supervisor started bubblewrap only");
    kill_9(outer[0]);
    is_complete(&machine, &runner, &step).await;
}

#[tokio::test]
async fn bubblewrap_killed_before_the_mark_is_replaced_and_the_tool_runs_once() {
    let gate = Gate::new(Machine::new(Isolation::Sandbox));
    let machine = &gate.machine;
    let runner = machine.runner();
    let spec = thirty_lines(machine);
    let step = spec.step.clone();
    runner.start(spec).await.expect("it is started");
    until("bubblewrap waits", || gate.waits()).await;
    let outer = children(machine.supervisor(&step).expect("one lives"));
    kill_9(outer[0]);
    gate.open();
    is_complete(machine, &runner, &step).await;
}

#[tokio::test]
async fn the_sandbox_is_lost_with_its_process_1_and_only_then() {
    let machine = Machine::new(Isolation::Sandbox);
    let runner = machine.runner();
    let spec = machine.script("echo ready; sleep 60");
    let step = spec.step.clone();
    runner.start(spec).await.expect("it is started");
    until_printed(&runner, &step, "ready").await;
    let outer = children(machine.supervisor(&step).expect("one lives"));
    let inner = children(outer[0]);
    assert_eq!(inner.len(), 1, "bubblewrap started process 1 only");
    kill_9(inner[0]);
    let end = end(&runner, &step).await;
    assert_eq!(end.outcome, StepOutcome::Lost);
    assert_eq!(keepers(&machine, &step), [0; 0]);
}

#[tokio::test]
async fn without_sandbox_the_tool_goes_on_without_process_1_and_is_not_lost_before_it_ends() {
    let machine = Machine::new(Isolation::None);
    let gone = machine.runner();
    let spec = thirty_lines(&machine);
    let step = spec.step.clone();
    gone.start(spec).await.expect("it is started");
    until_printed(&gone, &step, "line 5\n").await;
    let supervisor = machine.supervisor(&step).expect("one lives");
    let process_one = children(supervisor);
    assert_eq!(process_one.len(), 1);
    kill_9(process_one[0]);
    until_printed(&gone, &step, "line 10\n").await;
    kill_9(supervisor);
    drop(gone);
    let runner = machine.runner();
    runner
        .attach(&step, Vec::new())
        .await
        .expect("it is taken up");
    let end = end(&runner, &step).await;
    assert_eq!(end.outcome, StepOutcome::Lost);
    assert_eq!(
        printed(&runner, &step, Stream::Stdout).await,
        expected("line")
    );
    assert_eq!(effects(&machine), 1);
}

#[tokio::test]
async fn a_missing_secret_is_named_before_any_output_is_read() {
    let machine = Machine::new(Isolation::Sandbox);
    let gone = machine.runner();
    let mut spec = machine.script("echo ready; sleep 0.5; echo $TOKEN");
    spec.main
        .env
        .push(crate::machine::secret_env("TOKEN", "tok-1234567"));
    let step = spec.step.clone();
    gone.start(spec).await.expect("it is started");
    until_printed(&gone, &step, "ready").await;
    kill_9(machine.supervisor(&step).expect("one lives"));
    until("it is gone", || machine.supervisor(&step).is_none()).await;
    drop(gone);
    let runner = machine.runner();
    let error = runner
        .attach(&step, Vec::new())
        .await
        .expect_err("it is missing");
    assert!(error.to_string().contains("`TOKEN`"), "{error}");
    assert!(machine.supervisor(&step).is_none());
    let needle = groundplan_ports::secrets::SecretValue::new("tok-1234567");
    runner
        .attach(&step, vec![("TOKEN".into(), needle)])
        .await
        .expect("it is there");
    end(&runner, &step).await;
    let text = printed(&runner, &step, Stream::Stdout).await;
    assert_eq!(text, "ready\n***\n");
}

#[tokio::test]
async fn a_step_that_was_cleaned_up_is_gone_with_its_scratch() {
    for isolation in [Isolation::None, Isolation::Sandbox] {
        let machine = Machine::new(isolation);
        let runner = machine.runner();
        let spec = machine.script("mkdir \"$HOME/x\"; chmod 0 \"$HOME/x\"; echo $HOME");
        let step = spec.step.clone();
        let end = run(&runner, spec).await;
        assert_eq!(end.exit_code, Some(0));
        runner.clean_up(&step).await.expect("it is deleted");
        assert!(!machine.step_dir(&step).exists());
        if isolation == Isolation::None {
            let home = end.result.expect("it was printed");
            let scratch = Path::new(&home).parent().expect("it has one");
            assert!(!scratch.exists());
        }
    }
}

/// A machine on which process 1 starts when it is let.
struct Gate {
    machine: Machine,
}

impl Gate {
    fn new(mut machine: Machine) -> Self {
        let folder = machine.data_dir().to_owned();
        let program = folder.join("gated");
        let real = match machine.isolation {
            Isolation::Sandbox => machine.options.bubblewrap.clone(),
            Isolation::None => machine.options.executable.clone(),
        };
        let script = format!(
            "#!/bin/sh\n\
             case \"$*\" in *step-init*) ;; *) exec {real} \"$@\" ;; esac\n\
             : > {folder}/waits\n\
             while [ ! -e {folder}/open ]; do sleep 0.01; done\n\
             exec {real} \"$@\"\n",
            real = real.display(),
            folder = folder.display()
        );
        fs::write(&program, script).expect("it is written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it is ours");
        match machine.isolation {
            Isolation::Sandbox => machine.options.bubblewrap = program,
            Isolation::None => machine.options.executable = program,
        }
        Gate { machine }
    }

    fn waits(&self) -> bool {
        self.machine.data_dir().join("waits").exists()
    }

    fn open(&self) {
        fs::write(self.machine.data_dir().join("open"), "").expect("it is written");
    }
}
