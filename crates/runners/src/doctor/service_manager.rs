//! Whether what started us would end running steps when it restarts us or a person logs out.
//!
//! A step outlives Groundplan, unless systemd kills everything in our control group.

use std::{path::PathBuf, process::Command, time::Duration};

use super::{Check, Machine, Verdict, read, sandbox::Container};
use crate::tools::{in_search_path, run_bounded};

const NAME: &str = "service manager";

/// The unit that our control group belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Unit {
    name: String,
    scope: Scope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    System,
    User,
}

pub(super) fn check(machine: &Machine) -> Check {
    let groups = read(&machine.root, "/proc/self/cgroup").unwrap_or_default();
    match own_unit(&groups) {
        Some(unit) => check_service(machine, &unit),
        None if in_session(&groups) => check_session(machine),
        None if Container::around(&machine.root).is_some() => Check::new(
            NAME,
            Verdict::Warning,
            "this runs in a container, and stopping the container ends running steps",
        )
        .with_fix(["# Before it is stopped, see what runs:", "groundplan runs"]),
        None => Check::new(
            NAME,
            Verdict::Ok,
            "no service manager keeps this process; running steps are left alone",
        ),
    }
}

/// The innermost service of our place in the tree of control groups. `user@1000.service` is the
/// manager of a user's own units, not a unit that we are.
fn own_unit(groups: &str) -> Option<Unit> {
    let path = systemd_path(groups)?;
    let is_manager = |part: &str| part.starts_with("user@");
    let name = path
        .rsplit('/')
        .find(|part| part.ends_with(".service") && !is_manager(part))?;
    let scope = if path.split('/').any(is_manager) {
        Scope::User
    } else {
        Scope::System
    };
    Some(Unit {
        name: name.to_owned(),
        scope,
    })
}

/// Our place as systemd keeps it: its own hierarchy in version 1, the only one in version 2.
fn systemd_path(groups: &str) -> Option<&str> {
    let of = |kind: &str| {
        groups
            .lines()
            .find_map(|line| line.split_once(':')?.1.strip_prefix(kind))
    };
    of("name=systemd:").or_else(|| of(":"))
}

fn in_session(groups: &str) -> bool {
    systemd_path(groups).is_some_and(|path| path.starts_with("/user.slice/"))
}

fn check_service(machine: &Machine, unit: &Unit) -> Check {
    let name = &unit.name;
    let mut arguments = vec!["show", "--property=KillMode", "--value", "--", name];
    if unit.scope == Scope::User {
        arguments.insert(0, "--user");
    }
    match answer(machine, "systemctl", &arguments).as_deref() {
        Some("process" | "none") => Check::new(
            NAME,
            Verdict::Ok,
            format!("restarting `{name}` leaves running steps alone"),
        ),
        Some(mode @ ("control-group" | "mixed")) => Check::new(
            NAME,
            Verdict::Failure,
            format!("restarting `{name}` kills running steps (its `KillMode` is `{mode}`)"),
        )
        .with_fix(drop_in(unit)),
        _ => Check::new(
            NAME,
            Verdict::Warning,
            format!("whether restarting `{name}` kills running steps cannot be seen from here"),
        )
        .with_fix([
            format!("systemctl show --property=KillMode {name}"),
            "# It must say `KillMode=process`.".to_owned(),
        ]),
    }
}

fn drop_in(unit: &Unit) -> [String; 3] {
    let name = &unit.name;
    let (sudo, folder, manager) = match unit.scope {
        Scope::System => ("sudo ", "/etc/systemd/system", "systemctl"),
        Scope::User => ("", "~/.config/systemd/user", "systemctl --user"),
    };
    [
        format!("{sudo}mkdir -p {folder}/{name}.d"),
        format!(
            "printf '[Service]\\nKillMode=process\\n' | {sudo}tee {folder}/{name}.d/groundplan.conf"
        ),
        format!("{sudo}{manager} daemon-reload"),
    ]
}

/// logind can be told to end everything of a person who logs out.
fn check_session(machine: &Machine) -> Check {
    let arguments = [
        "get-property",
        "org.freedesktop.login1",
        "/org/freedesktop/login1",
        "org.freedesktop.login1.Manager",
        "KillUserProcesses",
    ];
    match answer(machine, "busctl", &arguments).as_deref() {
        Some("b true") => Check::new(
            NAME,
            Verdict::Warning,
            "logging out kills running steps (`KillUserProcesses` of logind is on)",
        )
        .with_fix(["loginctl enable-linger"]),
        Some("b false") => Check::new(
            NAME,
            Verdict::Ok,
            "this is a login session; logging out leaves running steps alone",
        ),
        _ => Check::new(
            NAME,
            Verdict::Warning,
            "whether logging out kills running steps cannot be seen from here",
        )
        .with_fix(["loginctl enable-linger"]),
    }
}

fn answer(machine: &Machine, program: &str, arguments: &[&str]) -> Option<String> {
    let program: PathBuf = in_search_path(program, &machine.search.search_path)?;
    let mut command = Command::new(program);
    command.args(arguments);
    let finished = run_bounded(&mut command, Duration::from_secs(10)).ok()?;
    finished
        .status
        .success()
        .then(|| finished.stdout.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(name: &str, scope: Scope) -> Option<Unit> {
        Some(Unit {
            name: name.to_owned(),
            scope,
        })
    }

    #[test]
    fn our_unit_is_read_from_either_version_of_control_groups() {
        let check = |groups: &str, expect: Option<Unit>| {
            assert_eq!(own_unit(groups), expect, "{groups}");
        };
        check(
            "0::/system.slice/groundplan.service\n",
            unit("groundplan.service", Scope::System),
        );
        check(
            "4:memory:/x.service\n1:name=systemd:/system.slice/ci-runner.service\n0::/\n",
            unit("ci-runner.service", Scope::System),
        );
        check(
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/groundplan.service\n",
            unit("groundplan.service", Scope::User),
        );
        check(
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/term.scope\n",
            None,
        );
        check("0::/user.slice/user-1000.slice/session-3.scope\n", None);
        check("0::/\n", None);
        check("", None);
    }
}
