//! The command line itself, and what programs read.

use snapbox::{assert_data_eq, str};

use crate::place::{Place, workflow};

#[test]
fn command_line_that_makes_no_sense_is_a_usage_error() {
    let place = Place::new();
    assert_data_eq!(
        place.say(["run"]),
        str![[r#"
exit code 64
-- stderr
error: the following required arguments were not provided:
  <FILE>

Usage: groundplan run <FILE>

For more information, try '--help'.

"#]]
    );
    assert_data_eq!(
        place.say(["rn", "hello.yaml"]),
        str![[r#"
exit code 64
-- stderr
error: unrecognized subcommand 'rn'

  tip: a similar subcommand exists: 'runs'

Usage: groundplan [OPTIONS] <COMMAND>

For more information, try '--help'.

"#]]
    );
    assert_data_eq!(
        place.say(["run", "a.yaml", "--resume", "b"]),
        str![[r#"
exit code 64
-- stderr
error: the argument '[FILE]' cannot be used with '--resume <RUN>'

Usage: groundplan run <FILE>

For more information, try '--help'.

"#]]
    );
    assert_data_eq!(
        place.say(["run", "a.yaml", "--max-parallel", "0"]),
        str![[r#"
exit code 64
-- stderr
error: invalid value '0' for '--max-parallel <N>': number would be zero for non-zero type

For more information, try '--help'.

"#]]
    );
    assert_eq!(place.output([""; 0]).status.code(), Some(64));
}

#[test]
fn version_is_said_without_a_home() {
    let place = Place::new();
    let output = place
        .command(["--version"])
        .env_remove("HOME")
        .output()
        .expect("it is there");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        concat!("groundplan ", env!("CARGO_PKG_VERSION"), "\n")
    );
    assert_eq!(output.status.code(), Some(0));
    assert!(!place.path("home/.local").exists());
}

#[test]
fn no_home_and_nothing_said_instead_is_an_error_with_the_way_out() {
    let place = Place::new();
    let output = place
        .command(["runs"])
        .env_remove("HOME")
        .output()
        .expect("it is there");
    assert_data_eq!(
        place.said(&output),
        str![[r#"
exit code 1
-- stderr
error: neither `HOME` nor `XDG_CONFIG_HOME` names a directory
hint: set `HOME`, or `XDG_CONFIG_HOME` to an absolute path

"#]]
    );
}

#[test]
fn json_stream_is_a_json_value_a_line_and_nothing_else() {
    let place = Place::new();
    place.write("hello.yaml", workflow("hello", "echo hello; exit 3"));
    let output = place.output(["run", "--no-sandbox", "--json", "hello.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let text = String::from_utf8(output.stdout).expect("it is text");
    let kinds: Vec<String> = text
        .lines()
        .map(|line| {
            let event: serde_json::Value = serde_json::from_str(line).expect("a JSON value a line");
            assert!(
                event["at"].is_i64() && event["version"].is_u64() && event["event"].is_object(),
                "{line}"
            );
            event["kind"].as_str().expect("a kind").to_owned()
        })
        .collect();
    let first = [
        "run_created",
        "run_started",
        "node_created",
        "execution_requested",
    ];
    assert_eq!(kinds[..4], first);
    // Between them, a start that nobody saw in time is not told.
    let last = ["execution_ended", "node_finished", "run_finished"];
    assert_eq!(kinds[kinds.len() - 3..], last);
}

#[test]
fn output_that_is_lost_is_no_success() {
    let place = Place::new();
    place.write("hello.yaml", workflow("hello", "echo hi"));
    assert!(place.output(["run", "hello.yaml"]).status.success());
    for words in [
        &["logs", "hello"][..],
        &["runs", "show", "hello", "--json"],
        &["config", "show"],
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let output = place
            .command(words)
            .stdout(full.expect("Linux has it"))
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("standard output is not complete"), "{said}");
    }
}
