//! Runs of several processes that want one mutex.

use std::fs;

use snapbox::{assert_data_eq, str};

use crate::{
    place::Place,
    processes::{Running, kill_9},
};

/// A run that holds the mutex, says when it begins and ends, and waits at its own gate between.
fn document(name: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  name: {name}
spec:
  entrypoint: main
  synchronization: {{mutexes: [{{name: production}}]}}
  volumes:
    - {{name: shared, emptyDir: {{}}}}
  templates:
    - name: main
      script:
        image: busybox
        command: [sh]
        source: |
          echo {name} begins >> /shared/story
          echo holds it
          until [ -e /shared/{name} ]; do usleep 5000; done
          echo {name} ends >> /shared/story
        volumeMounts: [{{name: shared, mountPath: /shared}}]
"
    )
}

fn start(place: &Place, name: &str) -> Running {
    let file = format!("{name}.yaml");
    place.write(&file, document(name));
    let volume = format!("shared={}", place.folder("shared").display());
    place.start(&["run", &file, "--volume", &volume])
}

fn story(place: &Place) -> Vec<String> {
    let text = fs::read_to_string(place.work("shared/story")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn second_run_waits_and_says_for_whom_and_at_which_place() {
    let place = Place::new();
    let mut first = start(&place, "first");
    first.until_says("first | holds it");
    let mut second = start(&place, "second");
    second.until_says("waits for mutex");
    let mut third = start(&place, "third");
    third.until_says("waits for mutex");
    assert_data_eq!(
        place.plain(&second.stdout()),
        str![[r#"
Pending   second: waits for mutex production, place 1, held by first

"#]]
    );
    assert_data_eq!(
        place.plain(&third.stdout()),
        str![[r#"
Pending   third: waits for mutex production, place 2, held by first

"#]]
    );
    assert_data_eq!(
        place.say(["runs", "show", "second"]),
        str![[r#"
exit code 0
-- stdout
name        second
id          [RUN]
phase       Pending
message     Waiting for default/Mutex/production lock. Lock status: 0/1
document    second.yaml
created     [DATE] UTC
sandbox     yes
volumes     shared=[DIR]/work/shared
driven by process [PID] on [HOST]

○ second  waits for mutex production, place 1, held by first

"#]]
    );
    assert_eq!(story(&place), ["first begins"]);
    for name in ["first", "second", "third"] {
        place.write(&format!("shared/{name}"), "");
    }
    for run in [first, second, third] {
        let output = run.end();
        assert_eq!(output.status.code(), Some(0), "{}", place.said(&output));
    }
    assert_eq!(
        story(&place),
        [
            "first begins",
            "first ends",
            "second begins",
            "second ends",
            "third begins",
            "third ends"
        ]
    );
}

#[test]
fn mutex_of_a_killed_run_is_kept_until_its_step_has_ended() {
    let place = Place::new();
    let mut first = start(&place, "first");
    first.until_says("first | holds it");
    let mut second = start(&place, "second");
    second.until_says("waits for mutex");
    let supervisor = place.supervisor();
    first.kill_9();
    kill_9(supervisor);
    // Who waits is told that nobody drives the one it waits for.
    second.until_says("groundplan run --resume first");
    assert_eq!(story(&place), ["first begins"]);
    place.write("shared/first", "");
    let resumed = place.start(&["run", "--resume", "first"]).end();
    assert_eq!(resumed.status.code(), Some(0), "{}", place.said(&resumed));
    second.until_says("second | holds it");
    assert_eq!(
        story(&place),
        ["first begins", "first ends", "second begins"]
    );
    place.write("shared/second", "");
    let output = second.end();
    assert_eq!(output.status.code(), Some(0), "{}", place.said(&output));
    assert_eq!(story(&place).len(), 4);
}

#[test]
fn mutex_of_a_run_that_nobody_drives_is_free_once_its_step_has_ended() {
    let place = Place::new();
    let mut first = start(&place, "first");
    first.until_says("first | holds it");
    let mut second = start(&place, "second");
    second.until_says("waits for mutex");
    first.kill_9();
    second.until_says("nobody drives run first");
    place.write("shared/second", "");
    assert_eq!(story(&place), ["first begins"]);
    place.write("shared/first", "");
    let output = second.end();
    assert_eq!(output.status.code(), Some(0), "{}", place.said(&output));
    assert_eq!(
        story(&place),
        ["first begins", "first ends", "second begins", "second ends"]
    );
}

#[test]
fn waiting_run_that_was_killed_keeps_its_place() {
    let place = Place::new();
    let mut first = start(&place, "first");
    first.until_says("first | holds it");
    let mut second = start(&place, "second");
    second.until_says("waits for mutex");
    second.kill_9();
    let mut third = start(&place, "third");
    third.until_says("place 2");
    for name in ["first", "second", "third"] {
        place.write(&format!("shared/{name}"), "");
    }
    assert_eq!(first.end().status.code(), Some(0));
    let resumed = place.start(&["run", "--resume", "second"]).end();
    assert_eq!(resumed.status.code(), Some(0), "{}", place.said(&resumed));
    assert_eq!(third.end().status.code(), Some(0));
    assert_eq!(
        story(&place),
        [
            "first begins",
            "first ends",
            "second begins",
            "second ends",
            "third begins",
            "third ends"
        ]
    );
}
