//! Data directories that cannot serve, by real mounts where those are allowed.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    process::{Command, Output, Stdio},
};

use rustix::process::geteuid;
use snapbox::{assert_data_eq, str};

use crate::place::{Place, workflow};

/// Runs the binary in mounts of its own, which shell commands make first; none, said on standard
/// error, where this machine does not let us mount.
fn with_mounts(place: &Place, set_up: &str, words: &[&str]) -> Option<Output> {
    // Whatever the command leaves running ends with its namespace of processes.
    let mut flags = vec!["--mount", "--pid", "--fork", "--mount-proc"];
    if !geteuid().is_root() {
        flags.extend(["--user", "--map-root-user"]);
    }
    let allowed = Command::new("unshare")
        .args(&flags)
        .args(["mount", "-t", "tmpfs", "none", "/mnt"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !allowed {
        eprintln!("not run: a data directory on {set_up}: this machine does not let us mount");
        return None;
    }
    let inner = place.command(words);
    let mut command = Command::new("unshare");
    command
        .args(&flags)
        .args(["sh", "-c", &format!("set -e; {set_up}; \"$@\""), "sh"])
        .arg(inner.get_program())
        .args(inner.get_args())
        .current_dir(place.path("work"))
        .env_clear()
        .envs(
            inner
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .env("DATA", place.data())
        .stdin(Stdio::null());
    Some(command.output().expect("unshare is there"))
}

#[test]
fn read_only_data_directory_is_named_with_the_way_out() {
    let place = Place::new();
    place.write("hello.yaml", workflow("hello", "true"));
    fs::create_dir_all(place.data()).expect("it is made");
    let set_up = "mount --bind \"$DATA\" \"$DATA\"; mount -o remount,ro,bind \"$DATA\"";
    let Some(output) = with_mounts(&place, set_up, &["run", "hello.yaml"]) else {
        return;
    };
    assert_data_eq!(
        place.said(&output),
        str![[r#"
exit code 1
-- stderr
error: the data directory `[DIR]/home/.local/share/groundplan` lies on a read-only file system
  because Read-only file system (os error 30)
hint: give another with `--data-dir` or `GROUNDPLAN_DATA_DIR`

"#]]
    );
    // One that was used before.
    assert_eq!(
        place
            .output(["run", "--no-sandbox", "hello.yaml"])
            .status
            .code(),
        Some(0)
    );
    let Some(output) = with_mounts(&place, set_up, &["run", "hello.yaml"]) else {
        return;
    };
    assert_data_eq!(
        place.said(&output),
        str![[r#"
exit code 1
-- stderr
error: the data directory `[DIR]/home/.local/share/groundplan` lies on a read-only file system
  because Read-only file system (os error 30)
hint: give another with `--data-dir` or `GROUNDPLAN_DATA_DIR`

"#]]
    );
}

#[test]
fn full_data_directory_is_named_with_the_way_out() {
    let place = Place::new();
    place.write("hello.yaml", workflow("hello", "true"));
    fs::create_dir_all(place.data()).expect("it is made");
    let set_up = "mount -t tmpfs -o size=1536k,mode=0700 none \"$DATA\"; head -c 1500k /dev/zero > \"$DATA/filler\"";
    let Some(output) = with_mounts(&place, set_up, &["run", "--no-sandbox", "hello.yaml"]) else {
        return;
    };
    assert_data_eq!(
        place.said(&output),
        str![[r#"
exit code 1
-- stderr
error: the file system of `[DIR]/home/.local/share/groundplan` is full
hint: free some space there, or give another data directory with `--data-dir`

"#]]
    );
}

#[test]
fn disk_that_fills_during_a_run_is_named_and_nothing_is_called_well() {
    let place = Place::new();
    let script = "head -c 3000000 /dev/urandom | base64; echo done";
    place.write("loud.yaml", workflow("loud", script));
    fs::create_dir_all(place.data()).expect("it is made");
    let set_up = "mount -t tmpfs -o size=2500k,mode=0700 none \"$DATA\"";
    let Some(output) = with_mounts(&place, set_up, &["run", "--no-sandbox", "loud.yaml"]) else {
        return;
    };
    let said = place.said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("full"), "{stderr}");
    assert!(stderr.contains("hint: free some space"), "{stderr}");
    assert!(
        stderr.contains("go on: groundplan run --resume"),
        "{stderr}"
    );
    assert!(!said.contains("Succeeded"), "{said}");
}

#[test]
fn data_directory_of_somebody_else_is_refused() {
    let place = Place::new();
    place.write("hello.yaml", workflow("hello", "true"));
    if !geteuid().is_root() {
        eprintln!("not run: a data directory of somebody else: only root can give one away");
        return;
    }
    fs::create_dir_all(place.data()).expect("it is made");
    chown(place.data(), Some(4711), None).expect("we are root");
    assert_data_eq!(
        place.say(["run", "hello.yaml"]),
        str![[r#"
exit code 1
-- stderr
error: the data directory `[DIR]/home/.local/share/groundplan` belongs to user 4711, not to user 0
hint: run as its owner, or give another with `--data-dir` or `GROUNDPLAN_DATA_DIR`

"#]]
    );
}

#[test]
fn data_directory_that_others_can_open_or_that_is_a_file_is_refused() {
    let place = Place::new();
    let open = place.folder("open");
    fs::write(open.join("file"), "").expect("it is written");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).expect("ours");
    assert_data_eq!(
        place.say(["runs", "--data-dir", "open"]),
        str![[r#"
exit code 1
-- stderr
error: the data directory `[DIR]/work/open` has mode 0755, so that others can get at it
hint: `chmod 700 [DIR]/work/open`, if it is meant for this

"#]]
    );
    place.write("file", "");
    assert_data_eq!(
        place.say(["runs", "--data-dir", "file"]),
        str![[r#"
exit code 1
-- stderr
error: the data directory `[DIR]/work/file` is not a directory
hint: give another with `--data-dir` or `GROUNDPLAN_DATA_DIR`

"#]]
    );
}

#[test]
fn database_of_a_newer_version_is_left_alone() {
    let place = Place::new();
    assert_eq!(place.output(["runs"]).status.code(), Some(0));
    let database = rusqlite::Connection::open(place.data().join("groundplan.db")).expect("ours");
    database
        .execute(
            "INSERT INTO migration (number, applied_by) VALUES (9999, '9.9.9')",
            (),
        )
        .expect("it is a database");
    drop(database);
    assert_data_eq!(
        place.say(["runs"]),
        str![[r#"
exit code 1
-- stderr
error: the database `[DIR]/home/.local/share/groundplan/groundplan.db` has format 9999 of groundplan 9.9.9, and this is groundplan 0.1.0, which knows formats up to 3
hint: use groundplan 9.9.9 or newer, or give another data directory with `--data-dir`

"#]]
    );
    place.write("hello.yaml", workflow("hello", "true"));
    assert_eq!(
        place
            .output(["run", "--no-sandbox", "hello.yaml"])
            .status
            .code(),
        Some(1)
    );
}

#[test]
fn foreign_database_is_left_alone() {
    let place = Place::new();
    assert_eq!(place.output(["runs"]).status.code(), Some(0));
    let diary = "a diary, not a database, and surely longer than a header is ".repeat(100);
    fs::write(place.data().join("groundplan.db"), &diary).expect("ours");
    assert_data_eq!(
        place.say(["runs"]),
        str![[r#"
exit code 1
-- stderr
error: `[DIR]/home/.local/share/groundplan/groundplan.db` is not a database of Groundplan
  because file is not a database
  because Error code 26: file is not a database
hint: move the file away, or give another data directory with `--data-dir`

"#]]
    );
    let kept = fs::read_to_string(place.data().join("groundplan.db")).expect("it is there");
    assert_eq!(kept, diary);
}
