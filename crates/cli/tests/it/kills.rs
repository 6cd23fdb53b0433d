//! Nothing is lost by `kill -9`, and a run is taken up where it was left.

use std::fs;

use snapbox::{assert_data_eq, str};

use crate::{
    place::{Place, User},
    processes::{Running, children, kill_9, processes_with, until},
};

/// A test of every case, as whoever runs the tests and as a user without privileges.
macro_rules! as_both {
    ($($name:ident)+) => {
        mod as_caller {
            $(#[test]
            fn $name() {
                super::$name(crate::place::Place::new());
            })+
        }
        mod as_unprivileged {
            $(#[test]
            fn $name() {
                if let Some(place) = crate::place::Place::of(crate::place::User::Unprivileged) {
                    super::$name(place);
                }
            })+
        }
    };
}
pub(crate) use as_both;

as_both! {
    killed_command_is_resumed
    killed_supervisor_is_replaced
    killed_command_and_supervisor_are_resumed
    killed_sandbox_process_loses_nothing
    everything_killed_and_ended_alone_is_resumed
    nothing_of_a_step_survives_its_end
}

/// Prints a third of its lines, has its effect, and waits at a gate before the rest.
fn document() -> String {
    "apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  name: slow
spec:
  entrypoint: main
  volumes:
    - {name: shared, emptyDir: {}}
  templates:
    - name: main
      steps:
        - - {name: count, template: count}
        - - name: tell
            template: tell
            arguments: {parameters: [{name: counted, value: '{{steps.count.outputs.result}}'}]}
    - name: count
      script:
        image: busybox
        command: [sh]
        source: |
          echo x >> /shared/effect
          i=0
          while [ $i -lt 10 ]; do i=$((i + 1)); echo line $i; done
          until [ -e /shared/gate ]; do usleep 5000; done
          while [ $i -lt 30 ]; do i=$((i + 1)); echo line $i; usleep 5000; done
        volumeMounts: [{name: shared, mountPath: /shared}]
    - name: tell
      inputs: {parameters: [{name: counted}]}
      script:
        image: busybox
        command: [sh]
        source: |
          echo '{{inputs.parameters.counted}}' | wc -l
          exit 7
"
    .to_owned()
}

/// A run that stands at its gate.
fn at_the_gate(place: &Place) -> Running {
    place.write("slow.yaml", document());
    let shared = place.folder("shared");
    let volume = format!("shared={}", shared.display());
    let mut run = place.start(&["run", "slow.yaml", "--volume", &volume]);
    run.until_says("count | line 10\n");
    run
}

fn open_gate(place: &Place) {
    place.write("shared/gate", "");
}

/// Whether everything was printed once and in order, had its effect once, and ended as it should.
fn assert_complete(place: &Place, output: &std::process::Output) {
    let said = place.said(output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let printed: Vec<&str> = stdout
        .lines()
        .filter_map(|line| line.strip_prefix("count | "))
        .collect();
    let expected: Vec<String> = (1..=30).map(|number| format!("line {number}")).collect();
    assert_eq!(printed, expected, "{said}");
    assert!(stdout.contains("\ntell | 30\n"), "{said}");
    assert!(
        stdout.contains("Failed    slow[1].tell") && stdout.contains("main: Error (exit code 7)"),
        "{said}"
    );
    assert_eq!(
        fs::read_to_string(place.work("shared/effect")).expect("it is there"),
        "x\n"
    );
    let log = place.output(["logs", "slow", "count"]);
    let log = String::from_utf8_lossy(&log.stdout).into_owned();
    assert_eq!(log.lines().collect::<Vec<_>>(), expected);
}

fn killed_command_is_resumed(place: Place) {
    at_the_gate(&place).kill_9();
    let mut resumed = place.start(&["run", "--resume", "slow"]);
    // It stands there from the first byte, before the step goes on.
    resumed.until_says("count | line 10\n");
    open_gate(&place);
    assert_complete(&place, &resumed.end());
}

fn killed_supervisor_is_replaced(place: Place) {
    let run = at_the_gate(&place);
    kill_9(place.supervisor());
    open_gate(&place);
    assert_complete(&place, &run.end());
}

fn killed_command_and_supervisor_are_resumed(place: Place) {
    let run = at_the_gate(&place);
    let supervisor = place.supervisor();
    run.kill_9();
    kill_9(supervisor);
    let mut resumed = place.start(&["run", "--resume", "slow"]);
    resumed.until_says("count | line 10\n");
    open_gate(&place);
    assert_complete(&place, &resumed.end());
}

fn killed_sandbox_process_loses_nothing(place: Place) {
    let run = at_the_gate(&place);
    let sandbox = children(place.supervisor());
    let [(pid, line)] = &sandbox[..] else {
        panic!("one child: {sandbox:?}")
    };
    assert!(line.contains("bwrap"), "{line}");
    kill_9(*pid);
    open_gate(&place);
    assert_complete(&place, &run.end());
}

fn everything_killed_and_ended_alone_is_resumed(place: Place) {
    let run = at_the_gate(&place);
    let supervisor = place.supervisor();
    let sandbox = children(supervisor);
    run.kill_9();
    kill_9(supervisor);
    kill_9(sandbox[0].0);
    open_gate(&place);
    let steps = place.steps();
    until("the tool ends alone", || {
        let status = fs::read_to_string(steps[0].join("status")).unwrap_or_default();
        status.contains("exited")
    });
    assert_complete(&place, &place.start(&["run", "--resume", "slow"]).end());
}

fn nothing_of_a_step_survives_its_end(place: Place) {
    // A number that no other process is likely to sleep for.
    let mark = format!("9{:08}", std::process::id());
    let script = format!("sleep {mark} & (setsid sleep {mark} &) ; echo well");
    place.write("leaver.yaml", crate::place::workflow("leaver", &script));
    let mut run = place.start(&["run", "leaver.yaml"]);
    run.until_says("leaver | well");
    let output = run.end();
    assert_eq!(output.status.code(), Some(0), "{}", place.said(&output));
    let left = processes_with(&mark);
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn resume_without_a_passed_variable_names_it() {
    let place = Place::new();
    place.write("slow.yaml", document());
    let volume = format!("shared={}", place.folder("shared").display());
    let words = [
        "run",
        "slow.yaml",
        "--volume",
        &volume,
        "--pass-env",
        "API_TOKEN=sesame-open",
        "--pass-env",
        "COLOUR=red",
    ];
    let mut run = place.start(&words);
    run.until_says("count | line 10\n");
    run.kill_9();
    assert_data_eq!(
        place.say(["run", "--resume", "slow"]),
        str![[r#"
exit code 1
-- stderr
error: run `slow` was given variable `API_TOKEN`, whose value is not kept
hint: add `--pass-env API_TOKEN --pass-env COLOUR`

"#]]
    );
    let words = [
        "run",
        "--resume",
        "slow",
        "--pass-env",
        "API_TOKEN=sesame-open",
        "--pass-env",
        "COLOUR=red",
    ];
    let resumed = place.start(&words);
    open_gate(&place);
    assert_complete(&place, &resumed.end());
}

#[test]
fn resume_without_the_secrets_names_them_before_any_output_is_read() {
    let place = Place::new();
    let text = document().replace(
        "        volumeMounts:",
        "        env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: deploy, key: token}}}]\n        volumeMounts:",
    );
    place.write("slow.yaml", text);
    let secrets = place.secrets("secrets.yaml", &[("deploy", "token", "sesame-open")]);
    let volume = format!("shared={}", place.folder("shared").display());
    let mut run = place.start(&[
        "run",
        "slow.yaml",
        "--volume",
        &volume,
        "--secrets",
        "secrets.yaml",
    ]);
    run.until_says("count | line 10\n");
    run.kill_9();
    kill_9(place.supervisor());
    fs::rename(&secrets, place.work("moved.yaml")).expect("ours");
    assert_data_eq!(
        place.say(["run", "--resume", "slow"]),
        str![[r#"
exit code 1
-- stderr
error: the file `[DIR]/work/secrets.yaml` cannot be read
  because No such file or directory (os error 2)
hint: the run was given this file; name where it is now with `--secrets FILE`

"#]]
    );
    let other = place.secrets("other.yaml", &[("other", "token", "sesame-open")]);
    assert_data_eq!(
        place.say(["run", "--resume", "slow", "--secrets", "other.yaml"]),
        str![[r#"
exit code 1
-- stderr
error: cannot look up what template `count` needs
  because there is no key `token` of Secret `deploy` in namespace ``
hint: give a file with a Secret `deploy` by `--secrets FILE`
      then go on: groundplan run --resume [RUN]

"#]]
    );
    fs::remove_file(other).expect("ours");
    let resumed = place.start(&["run", "--resume", "slow", "--secrets", "moved.yaml"]);
    open_gate(&place);
    assert_complete(&place, &resumed.end());
}

#[test]
fn run_that_is_driven_is_not_driven_twice() {
    let place = Place::new();
    let run = at_the_gate(&place);
    assert_data_eq!(
        place.say(["run", "--resume", "slow"]),
        str![[r#"
exit code 1
-- stderr
error: run `[RUN]` is driven by process [PID] on [HOST]
hint: watch it with `groundplan runs show [RUN]`

"#]]
    );
    open_gate(&place);
    assert_complete(&place, &run.end());
}

#[test]
fn unprivileged_user_is_another() {
    let Some(place) = Place::of(User::Unprivileged) else {
        return;
    };
    place.write("who.yaml", crate::place::workflow("who", "true"));
    let output = place.output(["run", "who.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{}", place.said(&output));
    let owner =
        std::os::unix::fs::MetadataExt::uid(&fs::metadata(place.data()).expect("it is there"));
    assert_eq!(owner, 1234);
}
