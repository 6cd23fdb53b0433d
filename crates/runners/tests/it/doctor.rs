//! The doctor, on stand-in machines and on this one.

#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::Command,
    time::{Duration, SystemTime},
};

use groundplan_runners::{
    doctor::{Check, Machine, Verdict, examine, sandbox},
    tools::{Cache, Search},
};

/// A machine of files and small programs.
struct StandIn {
    folder: tempfile::TempDir,
    now: SystemTime,
}

impl StandIn {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        StandIn {
            folder,
            now: SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000),
        }
    }

    /// A machine with which nothing is wrong.
    fn healthy() -> Self {
        StandIn::new()
            .program(
                "bwrap",
                "[ \"$1\" = --version ] && echo bubblewrap 0.8.0; exit 0",
            )
            .program("tofu", "echo OpenTofu v1.12.6")
            .program("tflint", "echo TFLint version 0.64.0")
            .program("checkov", "echo 3.3.30")
            .program("git", "echo git version 2.39.5")
            .program("ssh", "exit 0")
            .program("systemctl", "echo process")
            .file("run/systemd/timesync/synchronized", "")
            .file("proc/self/cgroup", "0::/system.slice/groundplan.service\n")
    }

    fn file(self, path: &str, text: &str) -> Self {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn program(self, name: &str, script: &str) -> Self {
        let path = self.folder.path().join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn without(self, path: &str) -> Self {
        fs::remove_file(self.folder.path().join(path)).unwrap();
        self
    }

    fn examine(&self) -> Vec<Check> {
        let root = self.folder.path().to_owned();
        examine(&Machine {
            search: Search {
                configured: BTreeMap::new(),
                cache: Cache::new(root.join("cache")),
                search_path: root.join("bin").into_os_string(),
            },
            data_dir: root.join("data"),
            now: self.now,
            root,
        })
    }

    fn finds(&self, name: &str) -> Check {
        let checks = self.examine();
        let found = checks.iter().find(|check| check.name == name);
        found.unwrap_or_else(|| panic!("{checks:#?}")).clone()
    }
}

fn assert_finds(machine: &StandIn, name: &str, verdict: Verdict, seen: &str, fix: &str) {
    let check = machine.finds(name);
    assert_eq!(check.verdict, verdict, "{check:#?}");
    assert!(check.seen.contains(seen), "{check:#?}");
    assert!(check.fix.join("\n").contains(fix), "{check:#?}");
    assert_eq!(check.fix.is_empty(), verdict == Verdict::Ok, "{check:#?}");
}

#[test]
fn a_healthy_machine_has_nothing_to_mend() {
    let checks = StandIn::healthy().examine();
    for check in &checks {
        assert_eq!(check.verdict, Verdict::Ok, "{check:#?}");
        assert!(check.fix.is_empty(), "{check:#?}");
    }
    let names: Vec<_> = checks.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "sandbox",
            "tofu",
            "tflint",
            "checkov",
            "git",
            "ssh",
            "disk of the data",
            "disk of the cache",
            "clock",
            "service manager"
        ]
    );
}

#[test]
fn a_missing_tool_is_a_failure_or_a_warning_by_who_needs_it() {
    let check = |name: &str, verdict: Verdict, fix: &str| {
        let machine = StandIn::healthy().without(&format!("bin/{name}"));
        assert_finds(&machine, name, verdict, "was not found", fix);
    };
    check("tofu", Verdict::Failure, "groundplan tools sync");
    check("git", Verdict::Failure, "sudo apt-get install git");
    check("tflint", Verdict::Warning, "groundplan tools sync");
    check("checkov", Verdict::Warning, "groundplan tools sync");
    let machine = StandIn::healthy().without("bin/ssh");
    assert_finds(
        &machine,
        "ssh",
        Verdict::Warning,
        "not in PATH",
        "openssh-client",
    );
    let machine = StandIn::healthy().without("bin/bwrap");
    let fix = "sudo apt-get install bubblewrap";
    assert_finds(&machine, "sandbox", Verdict::Failure, "not installed", fix);
}

#[test]
fn an_old_git_and_an_old_bubblewrap_are_told() {
    let machine = StandIn::healthy().program("git", "echo git version 2.30.2");
    assert_finds(
        &machine,
        "git",
        Verdict::Failure,
        "at least 2.39.0",
        "newer",
    );
    let machine = StandIn::healthy().program("bwrap", "echo bubblewrap 0.4.1");
    assert_finds(
        &machine,
        "sandbox",
        Verdict::Failure,
        "at least 0.5.0",
        "newer",
    );
}

#[test]
fn terraform_is_accepted_and_named_as_what_it_is() {
    let machine = StandIn::healthy()
        .without("bin/tofu")
        .program("terraform", "echo Terraform v1.11.4");
    assert_finds(&machine, "tofu", Verdict::Ok, "Terraform 1.11.4, `", "");
}

#[test]
fn a_sandbox_that_apparmor_forbids_is_told_with_the_lines_that_allow_it() {
    let machine = StandIn::healthy()
        .file(
            "proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1\n",
        )
        .program(
            "bwrap",
            "[ \"$1\" = --version ] && echo bubblewrap 0.9.0 && exit 0
             echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1",
        );
    assert_finds(
        &machine,
        "sandbox",
        Verdict::Failure,
        "AppArmor forbids",
        "sudo apparmor_parser -r /etc/apparmor.d/bwrap",
    );
}

#[test]
fn a_clock_in_the_past_or_on_its_own_is_told() {
    let mut machine = StandIn::healthy();
    machine.now = SystemTime::UNIX_EPOCH;
    assert_finds(
        &machine,
        "clock",
        Verdict::Failure,
        "20758 days",
        "set-ntp true",
    );
    let alone = || StandIn::healthy().without("run/systemd/timesync/synchronized");
    let machine = alone().program("timedatectl", "echo no");
    assert_finds(
        &machine,
        "clock",
        Verdict::Warning,
        "not synchronized",
        "set-ntp",
    );
    let machine = alone().program("timedatectl", "echo yes");
    assert_finds(&machine, "clock", Verdict::Ok, "synchronized", "");
    let machine = alone().program("timedatectl", "echo no bus >&2; exit 1");
    assert_finds(
        &machine,
        "clock",
        Verdict::Warning,
        "cannot be seen",
        "date --utc",
    );
}

#[test]
fn a_service_that_kills_running_steps_is_told_with_a_drop_in() {
    let check = |mode: &str, verdict: Verdict, seen: &str, fix: &str| {
        let machine = StandIn::healthy().program("systemctl", &format!("echo {mode}"));
        assert_finds(&machine, "service manager", verdict, seen, fix);
    };
    let drop_in = "/etc/systemd/system/groundplan.service.d/groundplan.conf";
    check(
        "control-group",
        Verdict::Failure,
        "kills running steps",
        drop_in,
    );
    check("mixed", Verdict::Failure, "`mixed`", "KillMode=process");
    check("process", Verdict::Ok, "leaves running steps alone", "");
    check("none", Verdict::Ok, "leaves running steps alone", "");
    check("", Verdict::Warning, "cannot be seen", "KillMode=process");
    let own = "0::/user.slice/user-7.slice/user@7.service/app.slice/gp.service\n";
    let machine = StandIn::healthy()
        .file("proc/self/cgroup", own)
        .program("systemctl", "[ \"$1\" = --user ] && echo control-group");
    let fix = "systemctl --user daemon-reload";
    assert_finds(
        &machine,
        "service manager",
        Verdict::Failure,
        "`gp.service`",
        fix,
    );
}

#[test]
fn a_login_session_or_a_container_that_ends_steps_is_told() {
    let session = |answer: &str| {
        StandIn::healthy()
            .file(
                "proc/self/cgroup",
                "0::/user.slice/user-7.slice/session-3.scope\n",
            )
            .program("busctl", answer)
    };
    let check = |answer: &str, verdict: Verdict, seen: &str, fix: &str| {
        assert_finds(&session(answer), "service manager", verdict, seen, fix);
    };
    check(
        "echo b true",
        Verdict::Warning,
        "logging out kills",
        "enable-linger",
    );
    check(
        "echo b false",
        Verdict::Ok,
        "leaves running steps alone",
        "",
    );
    check(
        "exit 1",
        Verdict::Warning,
        "cannot be seen",
        "enable-linger",
    );
    let machine = StandIn::healthy()
        .file("proc/self/cgroup", "0::/\n")
        .file(".dockerenv", "");
    let seen = "stopping the container ends running steps";
    assert_finds(
        &machine,
        "service manager",
        Verdict::Warning,
        seen,
        "groundplan runs",
    );
}

const BWRAP: &str = "/usr/bin/bwrap";

#[test]
fn this_machine_makes_sandboxes_for_whoever_runs_the_tests() {
    let status = sandbox::probe(Path::new(BWRAP));
    assert!(status.works(), "{}", status.seen());
}

#[test]
fn this_machine_makes_sandboxes_for_an_unprivileged_user() {
    if std::env::var_os("GROUNDPLAN_TEST_AGAIN").is_some() || !rustix::process::geteuid().is_root()
    {
        return this_machine_makes_sandboxes_for_whoever_runs_the_tests();
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("it");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid=1234", "--regid=1234", "--clear-groups"])
        .arg(&program)
        .args([
            "--exact",
            "doctor::this_machine_makes_sandboxes_for_an_unprivileged_user",
        ])
        .env("GROUNDPLAN_TEST_AGAIN", "1")
        .current_dir("/")
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && stdout.contains("1 passed"),
        "{stdout}"
    );
}
