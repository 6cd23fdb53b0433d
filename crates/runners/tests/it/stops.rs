//! Stopping steps, and what is left of them.

use std::time::Duration;

use groundplan_engine::{
    action::StopReason,
    report::{StepEnd, StepOutcome},
};
use groundplan_ports::{
    logs::Stream,
    runner::{Isolation, Runner, StepSpec},
};
use groundplan_runners::ProcessRunner;

use crate::machine::{
    Machine, end, in_both, is_alive, kill_9, now, printed, processes, run, until, until_printed,
};

/// A tool that saves its state when it is interrupted, and takes a moment for it.
const TOOL: &str = "perl -e '$| = 1; $SIG{INT} = sub { select undef, undef, undef, 0.2; \
                    print \"saved\\n\"; exit 0 }; print \"ready\\n\"; sleep 60; print \"on\\n\"'";

/// Starts a step, asks it to stop once it is ready, and answers its end and what it printed.
async fn stopped(machine: &Machine, spec: StepSpec) -> (StepEnd, String) {
    let runner = machine.runner();
    let step = spec.step.clone();
    runner.start(spec).await.expect("it is started");
    until_printed(&runner, &step, "ready\n").await;
    runner
        .stop(&step, StopReason::Requested)
        .await
        .expect("it is asked");
    let end = end(&runner, &step).await;
    assert!(end.asked_to_stop);
    (end, printed(&runner, &step, Stream::Stdout).await)
}

in_both! {
    async fn a_lone_tool_is_interrupted_and_finishes(machine) {
        let spec = machine.script(&format!("exec {TOOL}"));
        let (end, text) = stopped(&machine, spec).await;
        assert_eq!(text, "ready\nsaved\n");
        assert_eq!(end.outcome, StepOutcome::Exited);
        assert_eq!(end.exit_code, Some(0));
    }

    async fn a_shell_does_not_go_on_to_its_next_line(machine) {
        let spec = machine.script(&format!("{TOOL}; echo next line"));
        let (end, text) = stopped(&machine, spec).await;
        assert_eq!(text, "ready\nsaved\n");
        assert_ne!(end.exit_code, Some(0));
    }

    async fn a_shell_below_a_shell_does_not_go_on_either(machine) {
        let inner = TOOL.replace('\'', "\"").replace("\"saved\\n\"", "qq(saved\\n)")
            .replace("\"ready\\n\"", "qq(ready\\n)").replace("\"on\\n\"", "qq(on\\n)")
            .replace('$', "\\$");
        let script = format!("bash -c '{inner}; echo inner next'; echo outer next");
        let (_, text) = stopped(&machine, machine.script(&script)).await;
        assert_eq!(text, "ready\nsaved\n");
    }

    async fn a_shell_with_bash_and_busybox_is_known_as_one(machine) {
        for shell in [&["bash", "-c"][..], &["busybox", "sh", "-c"], &["dash", "-c"]] {
            let mut spec = machine.script("");
            spec.main.command = shell.iter().map(|word| (*word).to_owned()).collect();
            spec.main.args = vec![format!("{TOOL}; echo next line")];
            let (_, text) = stopped(&machine, spec).await;
            assert_eq!(text, "ready\nsaved\n", "{shell:?}");
        }
    }

    async fn a_pipe_is_not_broken_under_the_tool(machine) {
        let spec = machine.script(&format!("{TOOL} | tee /dev/null; echo next line"));
        let (_, text) = stopped(&machine, spec).await;
        assert_eq!(text, "ready\nsaved\n");
    }

    async fn a_shell_with_nothing_below_is_killed(machine) {
        let spec = machine.script("echo ready; while :; do :; done");
        let (end, _) = stopped(&machine, spec).await;
        assert_eq!(end.outcome, StepOutcome::Signaled { signal: 9 });
    }

    async fn a_tool_that_ignores_it_is_killed_after_the_grace(machine) {
        let mut spec = machine.script("trap '' INT TERM; echo ready; exec sleep 60");
        spec.grace = Some(Duration::from_millis(500));
        let (end, _) = stopped(&machine, spec).await;
        assert_eq!(end.outcome, StepOutcome::Signaled { signal: 9 });
    }

    async fn a_passed_deadline_stops_in_the_same_way(machine) {
        let mut spec = machine.script(&format!("{TOOL}; echo next line"));
        spec.deadline = Some(now().plus_millis(700));
        let step = spec.step.clone();
        let runner = machine.runner();
        let end = run(&runner, spec).await;
        assert_eq!(end.outcome, StepOutcome::TimedOut);
        assert!(end.asked_to_stop);
        assert_eq!(printed(&runner, &step, Stream::Stdout).await, "ready\nsaved\n");
    }

    async fn a_deadline_is_kept_while_nobody_drives_the_run(machine) {
        let mut spec = machine.script("sleep 60");
        spec.deadline = Some(now().plus_millis(300));
        let step = spec.step.clone();
        let gone = machine.runner();
        gone.start(spec).await.expect("it is started");
        drop(gone);
        let report = machine.step_dir(&step).join("report");
        until("the supervisor ends it", || report.exists()).await;
        let end = end(&machine.runner(), &step).await;
        assert_eq!(end.outcome, StepOutcome::TimedOut);
    }

    async fn a_stop_goes_on_under_the_next_supervisor(machine) {
        let mut spec = machine.script("trap '' INT TERM; echo ready; exec sleep 60");
        spec.grace = Some(Duration::from_secs(1));
        let step = spec.step.clone();
        let runner = machine.runner();
        runner.start(spec).await.expect("it is started");
        until_printed(&runner, &step, "ready\n").await;
        runner.stop(&step, StopReason::Requested).await.expect("it is asked");
        kill_9(machine.supervisor(&step).expect("one lives"));
        let end = end(&runner, &step).await;
        assert!(end.asked_to_stop);
        assert_eq!(end.outcome, StepOutcome::Signaled { signal: 9 });
    }

    async fn a_stop_before_the_beginning_begins_nothing(machine) {
        let spec = machine.script("echo ran");
        let step = spec.step.clone();
        std::fs::create_dir_all(machine.step_dir(&step)).expect("it is made");
        let runner = machine.runner();
        runner.stop(&step, StopReason::Requested).await.expect("it is asked");
        let end = run(&runner, spec).await;
        assert!(end.asked_to_stop);
        assert!(matches!(end.outcome, StepOutcome::StartFailure { .. }));
        assert_eq!(machine.status(&step), "");
    }

    async fn nothing_of_a_step_survives_its_end(machine) {
        let runner = machine.runner();
        for round in 0..10 {
            let mark = format!("7{}{round}", std::process::id());
            let script = format!(
                "sleep {mark} & (sleep {mark} & sleep {mark} &) ; \
                 setsid sh -c 'trap \"\" HUP TERM INT; sleep {mark}; sleep {mark}' & exit 0"
            );
            let end = run(&runner, machine.script(&script)).await;
            assert_eq!(end.exit_code, Some(0));
            let left: Vec<_> = processes()
                .into_iter()
                .filter(|(_, line)| line.contains(&mark))
                .collect();
            assert_eq!(left, [], "round {round}");
        }
    }

    async fn what_a_killed_step_started_dies_with_it(machine) {
        let mark = format!("8{}{}", std::process::id(), machine.isolation as u8);
        let script = format!(
            "trap '' INT TERM HUP; setsid setsid sleep {mark} & sleep {mark} & echo ready; \
             sleep {mark}; sleep {mark}"
        );
        let spec = machine.script(&script);
        let step = spec.step.clone();
        let runner = machine.runner();
        runner.start(spec).await.expect("it is started");
        until_printed(&runner, &step, "ready\n").await;
        runner.kill(&step).await.expect("it is killed");
        end(&runner, &step).await;
        let left: Vec<_> = processes()
            .into_iter()
            .filter(|(_, line)| line.contains(&mark))
            .collect();
        assert_eq!(left, []);
    }

    async fn signals_are_default_in_the_tool_even_where_we_ignore_them(machine) {
        let mut machine = machine;
        ignoring_signals(&mut machine);
        let script = "perl -e 'print map { \"$_ \" } grep { ($SIG{$_} // q()) eq q(IGNORE) } \
                      qw(HUP INT QUIT PIPE TERM USR1 USR2 ALRM CHLD TSTP TTIN TTOU)'";
        let end = run(&machine.runner(), machine.script(script)).await;
        assert_eq!(end.exit_code, Some(0));
        assert_eq!(end.result.as_deref(), Some(""));
    }

    async fn a_supervisor_leaves_no_zombie_and_ends_itself(machine) {
        let runner = machine.runner();
        let spec = machine.script("echo ready; sleep 0.1");
        let step = spec.step.clone();
        runner.start(spec).await.expect("it is started");
        until_printed(&runner, &step, "ready\n").await;
        let supervisor = machine.supervisor(&step).expect("one lives");
        end(&runner, &step).await;
        until("it is reaped", || {
            !is_alive(supervisor) && !std::path::Path::new(&format!("/proc/{supervisor}")).exists()
        })
        .await;
    }
}

/// Starts every process of ours with signals ignored, as `nohup` and `&` in a script do.
fn ignoring_signals(machine: &mut Machine) {
    use std::os::unix::fs::PermissionsExt;
    let program = machine.data_dir().join("ignoring");
    let real = machine.options.executable.display().to_string();
    let script =
        format!("#!/bin/sh\ntrap '' HUP INT QUIT PIPE TERM USR1 USR2\nexec {real} \"$@\"\n");
    std::fs::write(&program, script).expect("it is written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    // In the sandbox process 1 is the real program: the script would need a shell there.
    if machine.isolation == Isolation::None {
        machine.options.executable = program;
    } else {
        let bubblewrap = machine.data_dir().join("bubblewrap");
        let real = machine.options.bubblewrap.display().to_string();
        let script =
            format!("#!/bin/sh\ntrap '' HUP INT QUIT TERM USR1 USR2\nexec {real} \"$@\"\n");
        std::fs::write(&bubblewrap, script).expect("it is written");
        std::fs::set_permissions(&bubblewrap, std::fs::Permissions::from_mode(0o755))
            .expect("it is ours");
        machine.options.bubblewrap = bubblewrap;
    }
}

#[tokio::test]
async fn a_step_without_grace_is_never_killed_by_itself() {
    let machine = Machine::new(Isolation::Sandbox);
    let runner: std::sync::Arc<ProcessRunner> = machine.runner();
    let mut spec = machine.script(
        "exec perl -e '$| = 1; $SIG{INT} = sub { print \"asked\\n\" }; print \"ready\\n\"; \
         my $until = time + 2; sleep 1 while time < $until; print \"done\\n\"; exit 0'",
    );
    spec.grace = None;
    let (end, text) = stopped(&machine, spec).await;
    assert_eq!(text, "ready\nasked\ndone\n");
    assert_eq!(end.exit_code, Some(0));
    drop(runner);
}

#[tokio::test]
async fn a_supervisor_leads_a_session_of_its_own() {
    let machine = Machine::new(Isolation::Sandbox);
    let runner = machine.runner();
    let spec = machine.script("echo ready; sleep 0.1");
    let step = spec.step.clone();
    runner.start(spec).await.expect("it is started");
    until_printed(&runner, &step, "ready\n").await;
    let supervisor = machine.supervisor(&step).expect("one lives");
    let stat = std::fs::read_to_string(format!("/proc/{supervisor}/stat")).expect("it lives");
    let (_, rest) = stat.rsplit_once(')').expect("it has a name");
    let session = rest.split_ascii_whitespace().nth(3).expect("it has one");
    assert_eq!(session, supervisor.to_string());
    end(&runner, &step).await;
}
