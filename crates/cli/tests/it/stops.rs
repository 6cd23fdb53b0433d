//! Leaving a run, and stopping it.

use std::fs;

use rustix::process::Signal;
use snapbox::{assert_data_eq, str};

use crate::{
    kills::as_both,
    place::{Place, workflow},
    processes::{kill_9, processes_with, until},
};

as_both! {
    terminated_command_detaches
    run_is_stopped_from_another_process
    undriven_run_is_stopped_from_another_process
    interrupted_step_ends_gracefully
    step_that_ignores_the_first_interrupt_is_killed_by_the_second
}

/// A workflow that sleeps for so long, and says so.
fn sleeper(place: &Place) -> String {
    let mark = format!(
        "8{:08}",
        std::process::id()
            ^ u32::from(
                place
                    .data()
                    .to_string_lossy()
                    .bytes()
                    .map(u16::from)
                    .sum::<u16>()
            )
    );
    let script = format!("echo begun; sleep {mark}; echo overslept");
    place.write("sleeper.yaml", workflow("sleeper", &script));
    mark
}

fn assert_gone(mark: &str) {
    until("nothing of the step lives", || {
        processes_with(mark).is_empty()
    });
}

fn terminated_command_detaches(place: Place) {
    let mark = sleeper(&place);
    for signal in [Signal::TERM, Signal::HUP] {
        let mut run = match signal {
            Signal::TERM => place.start(&["run", "sleeper.yaml"]),
            _ => place.start(&["run", "--resume", "sleeper"]),
        };
        run.until_says("sleeper | begun");
        run.signal(signal);
        let output = run.end();
        assert_data_eq!(
            place.said(&output),
            str![[r#"
exit code 75
-- stdout
Running   sleeper
sleeper | begun
-- stderr
run sleeper goes on without this process
go on with it: groundplan run --resume [RUN]

"#]]
        );
        assert!(!processes_with(&mark).is_empty(), "the step goes on");
    }
    assert_eq!(
        place.output(["runs", "stop", "sleeper"]).status.code(),
        Some(0)
    );
    assert_gone(&mark);
}

fn run_is_stopped_from_another_process(place: Place) {
    let mark = sleeper(&place);
    let mut run = place.start(&["run", "sleeper.yaml"]);
    run.until_says("sleeper | begun");
    assert_data_eq!(
        place.say(["runs", "stop", "sleeper"]),
        str![[r#"
exit code 0
-- stderr
process [PID] on [HOST] is told to stop run `sleeper`

"#]]
    );
    let output = run.end();
    assert_data_eq!(
        place.said(&output),
        str![[r#"
exit code 1
-- stdout
Running   sleeper
sleeper | begun
Failed    sleeper in [TIME]: main: Error (exit code 137)

✖ sleeper
  main: Error (exit code 137)
  │ begun

Failed sleeper in [TIME]: Stopped with strategy 'Stop'
groundplan logs sleeper  ·  groundplan runs show sleeper

"#]]
    );
    assert!(processes_with(&mark).is_empty());
}

fn undriven_run_is_stopped_from_another_process(place: Place) {
    let mark = sleeper(&place);
    let mut run = place.start(&["run", "sleeper.yaml"]);
    run.until_says("sleeper | begun");
    run.kill_9();
    assert_data_eq!(
        place.say(["runs", "stop", "sleeper"]),
        str![[r#"
exit code 0
-- stderr
nobody drives run `sleeper`; its running steps are told to stop, and `groundplan run --resume sleeper` sees it to its end

"#]]
    );
    assert_gone(&mark);
    assert_data_eq!(
        place.say(["run", "--resume", "sleeper"]),
        str![[r#"
exit code 1
-- stdout
Running   sleeper
sleeper | begun
Failed    sleeper in [TIME]: main: Error (exit code 137)

✖ sleeper
  main: Error (exit code 137)
  │ begun

Failed sleeper in [TIME]: Stopped with strategy 'Stop'
groundplan logs sleeper  ·  groundplan runs show sleeper

"#]]
    );
}

fn interrupted_step_ends_gracefully(place: Place) {
    let script = "$| = 1; $SIG{INT} = sub { print qq(saved\\n); exit 0 }; print qq(begun\\n); sleep 1 while 1";
    let text = workflow("graceful", script).replace("[sh, -c]", "[perl, -e]");
    place.write(
        "graceful.yaml",
        text.replace("image: busybox", "image: groundplan/perl"),
    );
    let mut run = place.start(&["run", "graceful.yaml"]);
    run.until_says("graceful | begun");
    run.signal(Signal::INT);
    let output = run.end();
    // A step that was asked to stop is never Succeeded, whatever its exit code.
    assert_data_eq!(
        place.said(&output),
        str![[r#"
exit code 130
-- stdout
Running   graceful
graceful | begun
graceful | saved
Failed    graceful in [TIME]: stopped before it was done (exit code 0)

✖ graceful
  stopped before it was done (exit code 0)
  │ begun
  │ saved

Failed graceful in [TIME]: Stopped with strategy 'Stop'
groundplan logs graceful  ·  groundplan runs show graceful
-- stderr
stopping gracefully, for at most [TIME]; Ctrl-C again kills (run [RUN])

"#]]
    );
}

fn step_that_ignores_the_first_interrupt_is_killed_by_the_second(place: Place) {
    let mark = format!("7{:08}", std::process::id());
    let script = format!("trap '' INT; echo begun; sleep {mark}; sleep {mark}");
    place.write("stubborn.yaml", workflow("stubborn", &script));
    let mut run = place.start(&["run", "stubborn.yaml"]);
    run.until_says("stubborn | begun");
    run.signal(Signal::INT);
    run.until_says("stopping gracefully, for at most 5m00s");
    assert!(!processes_with(&mark).is_empty(), "it ignores the first");
    run.signal(Signal::INT);
    let output = run.end();
    assert_data_eq!(
        place.said(&output),
        str![[r#"
exit code 130
-- stdout
Running   stubborn
stubborn | begun
Failed    stubborn in [TIME]: main: Error (exit code 137)

✖ stubborn
  main: Error (exit code 137)
  │ begun

Failed stubborn in [TIME]: Stopped with strategy 'Stop'
groundplan logs stubborn  ·  groundplan runs show stubborn
-- stderr
stopping gracefully, for at most [TIME]; Ctrl-C again kills (run [RUN])
killed; a state lock may remain: the next `tofu plan` names its ID and who holds it, and `tofu force-unlock ID` takes it away

"#]]
    );
    assert!(processes_with(&mark).is_empty());
}

/// A resource whose creation takes until it is interrupted.
const SLOW_RESOURCE: &str = "\
resource \"terraform_data\" \"slow\" {
  provisioner \"local-exec\" {
    command = \"echo creating; sleep 1000\"
  }
}
";

#[test]
fn interrupted_apply_lets_go_of_its_state_lock() {
    let place = Place::new();
    let tofu = crate::machine::tool("tofu");
    place.configure(&format!("tools:\n  tofu: {}\n", tofu.display()));
    place.write("root/main.tf", SLOW_RESOURCE);
    let text = workflow("apply", "cd /root-module && tofu init -input=false >/dev/null && tofu apply -input=false -auto-approve -no-color")
        .replace("image: busybox", "image: groundplan/tofu")
        + "        volumeMounts: [{name: root, mountPath: /root-module}]\n  volumes:\n    - {name: root, emptyDir: {}}\n";
    place.write("apply.yaml", text);
    let volume = format!("root={}", place.work("root").display());
    let mut run = place.start(&["run", "apply.yaml", "--volume", &volume]);
    run.until_says("creating");
    let lock = place.work("root/.terraform.tfstate.lock.info");
    assert!(lock.exists(), "the state is locked");
    run.signal(Signal::INT);
    let output = run.end();
    let said = place.said(&output);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("Interrupt received"), "{said}");
    assert!(!lock.exists(), "the state is not locked:\n{said}");
    let state =
        fs::read_to_string(place.work("root/terraform.tfstate")).expect("the state was saved");
    assert!(state.contains("tainted"), "{state}");
}

#[test]
fn killed_supervisor_does_not_keep_a_run_from_being_stopped() {
    let place = Place::new();
    let mark = sleeper(&place);
    let mut run = place.start(&["run", "sleeper.yaml"]);
    run.until_says("sleeper | begun");
    kill_9(place.supervisor());
    run.signal(Signal::INT);
    let output = run.end();
    assert_eq!(output.status.code(), Some(130), "{}", place.said(&output));
    assert!(processes_with(&mark).is_empty());
}
