//! Every test with a sandbox runs twice: as root, and as a user without privileges.

use std::{env, fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

/// A user and group number that nobody has.
const NOBODY: &str = "61234";

/// Where this program finds the one with the hidden subcommands, when it is not where it was built.
pub(crate) const STEP_PROGRAM: &str = "GROUNDPLAN_TEST_STEP_PROGRAM";

#[test]
fn sandboxes_do_the_same_for_an_unprivileged_user() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("not run: sandboxes as root, since these tests run as an ordinary user");
        return;
    }
    // What was built may lie where only root can go.
    let folder = tempfile::tempdir().expect("a directory");
    let open = |path: &Path| {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    };
    open(folder.path());
    let copy = |from: &Path, name: &str| {
        let to = folder.path().join(name);
        fs::copy(from, &to).expect("it is copied");
        open(&to);
        to
    };
    let tests = copy(&env::current_exe().expect("we are a program"), "tests");
    let program = copy(Path::new(env!("CARGO_BIN_EXE_groundplan-step")), "step");
    let output = Command::new("setpriv")
        .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"])
        .arg(tests)
        .args([
            "sandboxed",
            "view::",
            "sandbox",
            "bubblewrap",
            "taking",
            "grows",
        ])
        .args([
            "--skip",
            "plain",
            "--skip",
            "doctor",
            "--skip",
            "unprivileged",
        ])
        .env_clear()
        .env(
            "PATH",
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        )
        .env("HOME", "/nonexistent")
        .env(STEP_PROGRAM, program)
        .current_dir("/")
        .output()
        .expect("setpriv starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let counted = text.lines().find(|line| line.starts_with("running "));
    let count: u32 = counted
        .and_then(|line| line.split(' ').nth(1)?.parse().ok())
        .expect("it says how many");
    assert!(count > 50, "they were run: {count}");
}
