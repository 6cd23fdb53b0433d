//! Runs that are asked for afterwards.

use snapbox::{assert_data_eq, str};

use crate::place::{Place, workflow};

#[test]
fn no_runs_yet_says_how_to_make_one() {
    let place = Place::new();
    assert_data_eq!(
        place.say(["runs"]),
        str![[r#"
exit code 0
-- stderr
no runs yet; `groundplan run FILE` makes one

"#]]
    );
}

#[test]
fn unknown_run_is_named() {
    let place = Place::new();
    assert_data_eq!(
        place.say(["runs", "show", "nothing"]),
        str![[r#"
exit code 1
-- stderr
error: there is no run `nothing`
hint: `groundplan runs` lists the runs of this data directory

"#]]
    );
    assert_data_eq!(
        place.say(["logs", "nothing"]),
        str![[r#"
exit code 1
-- stderr
error: there is no run `nothing`
hint: `groundplan runs` lists the runs of this data directory

"#]]
    );
    assert_data_eq!(
        place.say(["runs", "stop", "nothing"]),
        str![[r#"
exit code 1
-- stderr
error: there is no run `nothing`
hint: `groundplan runs` lists the runs of this data directory

"#]]
    );
    assert_data_eq!(
        place.say(["run", "--resume", "nothing"]),
        str![[r#"
exit code 1
-- stderr
error: cannot find run `nothing`
  because there is no run `nothing`
hint: `groundplan runs` lists the runs of this data directory

"#]]
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "most of it is expected output")]
fn runs_are_found_by_the_beginning_of_a_name_that_is_not_ambiguous() {
    let place = Place::new();
    place.write("one.yaml", workflow("plan-one", "echo 1"));
    place.write("two.yaml", workflow("plan-two", "echo 2; exit 3"));
    assert_data_eq!(
        place.say(["run", "--no-sandbox", "one.yaml"]),
        str![[r#"
exit code 0
-- stdout
Running   plan-one
plan-one | 1
Succeeded plan-one in [TIME]

Succeeded plan-one in [TIME]
groundplan logs plan-one  ·  groundplan runs show plan-one

"#]]
    );
    assert_data_eq!(
        place.say(["run", "--no-sandbox", "two.yaml"]),
        str![[r#"
exit code 1
-- stdout
Running   plan-two
plan-two | 2
Failed    plan-two in [TIME]: main: Error (exit code 3)

✖ plan-two
  main: Error (exit code 3)
  │ 2

Failed plan-two in [TIME]: main: Error (exit code 3)
groundplan logs plan-two  ·  groundplan runs show plan-two

"#]]
    );
    assert_data_eq!(
        place.say(["runs", "show", "plan-"]),
        str![[r#"
exit code 1
-- stderr
error: the names of several runs begin with `plan-`: `plan-one`, `plan-two`
hint: give more of the name, or the run's id

"#]]
    );
    assert_data_eq!(
        place.say(["runs", "show", "plan-o"]),
        str![[r#"
exit code 0
-- stdout
name        plan-one
id          [RUN]
phase       Succeeded
document    one.yaml
created     [DATE] UTC
took        [TIME]
sandbox     no

✔ plan-one                                    [TIME]

"#]]
    );
    assert_data_eq!(
        place.say(["runs", "show", "plan-t"]),
        str![[r#"
exit code 0
-- stdout
name        plan-two
id          [RUN]
phase       Failed
message     main: Error (exit code 3)
document    two.yaml
created     [DATE] UTC
took        [TIME]
sandbox     no

✖ plan-two                                    [TIME] main: Error (exit code 3)

"#]]
    );
    assert_data_eq!(
        place.say(["logs", "plan-t"]),
        str![[r#"
exit code 0
-- stdout
plan-two | 2

"#]]
    );
    assert_data_eq!(
        place.say(["runs"]),
        str![[r#"
exit code 0
-- stdout
NAME      PHASE         TOOK  CREATED (UTC)     ID
plan-two  Failed        [TIME]  [DATE]  [RUN]
plan-one  Succeeded     [TIME]  [DATE]  [RUN]

"#]]
    );
    assert_data_eq!(
        place.say(["runs", "stop", "plan-t"]),
        str![[r#"
exit code 0
-- stderr
run `plan-two` is over already: Failed

"#]]
    );
    assert_data_eq!(
        place.say(["run", "--resume", "plan-t"]),
        str![[r#"
exit code 1
-- stdout

✖ plan-two
  main: Error (exit code 3)
  │ 2

Failed plan-two in [TIME]: main: Error (exit code 3)
groundplan logs plan-two  ·  groundplan runs show plan-two

"#]]
    );
}

#[test]
fn unknown_node_is_refused_with_the_names_there_are() {
    let place = Place::new();
    place.write("one.yaml", workflow("one", "echo 1"));
    assert_eq!(
        place
            .output(["run", "--no-sandbox", "one.yaml"])
            .status
            .code(),
        Some(0)
    );
    assert_data_eq!(
        place.say(["logs", "one", "oen"]),
        str![[r#"
exit code 1
-- stderr
error: run `one` has no node `oen` with a log
hint: its leaves are: one

"#]]
    );
}
