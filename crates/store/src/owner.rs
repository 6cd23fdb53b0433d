//! Who drives: this process, and whether another one still lives.

use std::{fs, io};

use groundplan_ports::{
    error::{ErrorKind, PortError, PortResult},
    store::Owner,
};
use rustix::system::uname;

/// What can be said of a lease's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// Its process runs on this host.
    Alive,
    /// Its process ran on this host and does no more.
    Dead,
    /// It is on another host, or in a container whose processes cannot be seen.
    Unknown,
}

/// This process as the owner of leases. The boot id is followed by `/` and the process namespace,
/// because process ids mean nothing outside it.
pub fn current() -> PortResult<Owner> {
    let pid = std::process::id();
    let process = process(pid).map_err(|error| unreadable("/proc/self/stat", error))?;
    let process = process.ok_or_else(|| {
        PortError::new(
            ErrorKind::Broken,
            "`/proc` does not show the processes of this namespace",
        )
        .with_hint("mount a `proc` file system of this process namespace at `/proc`")
    })?;
    Ok(Owner {
        host: host(),
        boot_id: boot().map_err(|error| unreadable("/proc", error))?,
        pid,
        start_time: process.start_time,
    })
}

/// Whether the process behind an owner lives.
pub fn liveness(owner: &Owner) -> Liveness {
    let Ok(here) = boot() else {
        return Liveness::Unknown;
    };
    if owner.host != host() {
        return Liveness::Unknown;
    }
    let (boot, namespace) = split(&owner.boot_id);
    let (boot_here, namespace_here) = split(&here);
    if boot != boot_here {
        return Liveness::Dead;
    }
    if namespace != namespace_here {
        return Liveness::Unknown;
    }
    match process(owner.pid) {
        Ok(Some(found)) if found.start_time == owner.start_time && !found.ended => Liveness::Alive,
        Ok(_) => Liveness::Dead,
        Err(_) => Liveness::Unknown,
    }
}

fn unreadable(path: &str, error: io::Error) -> PortError {
    PortError::new(
        ErrorKind::Broken,
        format!("cannot read of this process in `{path}`"),
    )
    .with_hint("Groundplan needs a `proc` file system at `/proc`")
    .caused_by(error)
}

fn host() -> String {
    uname().nodename().to_string_lossy().into_owned()
}

fn boot() -> io::Result<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let namespace = fs::read_link("/proc/self/ns/pid")?;
    Ok(format!("{}/{}", boot.trim(), namespace.display()))
}

fn split(boot_id: &str) -> (&str, &str) {
    boot_id.split_once('/').unwrap_or((boot_id, ""))
}

struct Process {
    start_time: u64,
    ended: bool,
}

/// What `/proc` says of a process; `None` where there is none.
fn process(pid: u32) -> io::Result<Option<Process>> {
    let stat = match fs::read(format!("/proc/{pid}/stat")) {
        Ok(stat) => String::from_utf8_lossy(&stat).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        // The process ended between opening and reading: ESRCH.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    Ok(parse_stat(&stat))
}

/// The state is the first field after the command's last parenthesis, the start time the twentieth.
fn parse_stat(stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let start_time = fields.nth(18)?.parse().ok()?;
    Some(Process {
        start_time,
        ended: matches!(state, "Z" | "X" | "x"),
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn this_process_is_alive() {
        let owner = current().unwrap();
        assert_eq!(liveness(&owner), Liveness::Alive);
        assert_eq!(current().unwrap(), owner);
    }

    #[test]
    fn another_start_or_boot_is_dead_and_another_host_or_namespace_unknown() {
        let mut owner = current().unwrap();
        owner.start_time += 1;
        assert_eq!(liveness(&owner), Liveness::Dead);
        let mut owner = current().unwrap();
        let (_, namespace) = split(&owner.boot_id);
        owner.boot_id = format!("11111111-2222-3333-4444-555555555555/{namespace}");
        assert_eq!(liveness(&owner), Liveness::Dead);
        let mut owner = current().unwrap();
        owner.boot_id.push('0');
        assert_eq!(liveness(&owner), Liveness::Unknown);
        let mut owner = current().unwrap();
        owner.host.push_str(".elsewhere");
        assert_eq!(liveness(&owner), Liveness::Unknown);
    }

    #[test]
    fn an_ended_process_is_dead_before_and_after_it_was_waited_for() {
        let mut child = Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut owner = current().unwrap();
        owner.pid = child.id();
        owner.start_time = process(child.id()).unwrap().unwrap().start_time;
        assert_eq!(liveness(&owner), Liveness::Alive);
        drop(child.stdin.take());
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::waitid(
            rustix::process::WaitId::Pid(pid),
            rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT,
        )
        .unwrap();
        assert_eq!(liveness(&owner), Liveness::Dead, "a zombie drives nothing");
        child.wait().unwrap();
        assert_eq!(liveness(&owner), Liveness::Dead);
    }

    #[test]
    fn a_command_with_blanks_and_parentheses_is_read() {
        let line = "42 (a ) S (b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
        let process = parse_stat(line).unwrap();
        assert_eq!(process.start_time, 4711);
        assert!(!process.ended);
        assert!(parse_stat("42 (a) Z 1 2 3").is_none());
    }
}
