//! What `/proc` tells of processes, and safe handles on them.

use std::{
    collections::BTreeMap,
    fs, io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use groundplan_engine::time::Timestamp;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::watch::EndOfProcess;

/// The clock of this machine.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// A process that cannot be taken for another one that later gets its number.
#[derive(Debug)]
pub(crate) struct Process {
    pid: Pid,
    handle: OwnedFd,
}

/// The fields of `/proc/<pid>/stat` that we use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    state: u8,
    parent: i32,
    start: u64,
}

impl Process {
    /// A handle on a living process.
    pub(crate) fn open(pid: Pid) -> io::Result<Self> {
        let handle = pidfd_open(pid, PidfdFlags::NONBLOCK)?;
        Ok(Process { pid, handle })
    }

    /// Its number.
    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Sends a signal. One that ended is not an error: the aim is reached.
    pub(crate) fn signal(&self, signal: Signal) {
        // Not permitted happens with programs that changed their user; they end with the namespace.
        let _ = pidfd_send_signal(&self.handle, signal);
    }

    /// Whether it has ended, reaped or not.
    pub(crate) fn has_ended(&self) -> bool {
        stat(self.pid).is_none_or(|stat| stat.state == b'Z' || stat.state == b'X')
    }

    /// Something to wait for its end with.
    pub(crate) fn end(&self) -> io::Result<EndOfProcess> {
        EndOfProcess::new(self.handle.try_clone()?)
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

fn stat(pid: Pid) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_stat(text: &str) -> Option<Stat> {
    // The name in parentheses may hold anything, blanks and parentheses included.
    let (_, rest) = text.rsplit_once(')')?;
    let mut words = rest.split_ascii_whitespace();
    let state = *words.next()?.as_bytes().first()?;
    let parent = words.next()?.parse().ok()?;
    let start = words.nth(17)?.parse().ok()?;
    Some(Stat {
        state,
        parent,
        start,
    })
}

/// Every process that lives, with what `stat` says of it.
fn all() -> BTreeMap<i32, Stat> {
    every_pid()
        .filter_map(|pid| Some((pid.as_raw_nonzero().get(), stat(pid)?)))
        .collect()
}

fn every_pid() -> impl Iterator<Item = Pid> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
}

/// Everything below a process, ended ones left out. Each handle was opened before its parent was
/// looked up, so that none stands for a stranger.
pub(crate) fn descendants(ancestor: Pid) -> Vec<Process> {
    let ancestor = ancestor.as_raw_nonzero().get();
    let handles: BTreeMap<i32, Process> = descendant_pids(ancestor, &all())
        .into_iter()
        .filter_map(|pid| Some((pid, Process::open(Pid::from_raw(pid)?).ok()?)))
        .collect();
    let confirmed = descendant_pids(ancestor, &all());
    handles
        .into_iter()
        .filter_map(|(pid, process)| confirmed.contains(&pid).then_some(process))
        .filter(|process| !process.has_ended())
        .collect()
}

fn descendant_pids(ancestor: i32, all: &BTreeMap<i32, Stat>) -> Vec<i32> {
    let mut found = vec![ancestor];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        next += 1;
        found.extend(
            all.iter()
                .filter(|(_, stat)| stat.parent == parent)
                .map(|(pid, _)| pid),
        );
    }
    found.remove(0);
    found
}

/// When a process started, in ticks since the machine did.
pub(crate) fn start_time(pid: Pid) -> Option<u64> {
    stat(pid).map(|stat| stat.start)
}

/// The parent of a process.
pub(crate) fn parent(pid: Pid) -> Option<Pid> {
    Pid::from_raw(stat(pid)?.parent)
}

/// The number of a process in its innermost namespace.
pub(crate) fn inner_pid(pid: Pid) -> Option<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_ascii_whitespace().next_back()?.parse().ok()
}

/// The child of `parent` that is number `inner` in its innermost namespace.
pub(crate) fn child_with_inner_pid(parent: Pid, inner: i32) -> Option<Process> {
    let parent = parent.as_raw_nonzero().get();
    let pid = all().into_iter().find_map(|(pid, stat)| {
        let pid = Pid::from_raw(pid)?;
        (stat.parent == parent && inner_pid(pid) == Some(inner)).then_some(pid)
    })?;
    let process = Process::open(pid).ok()?;
    (stat(pid)?.parent == parent && inner_pid(pid) == Some(inner)).then_some(process)
}

/// Every process but ourselves that has this file open.
pub(crate) fn holders(file: &Path) -> io::Result<Vec<Process>> {
    use std::os::unix::fs::MetadataExt;
    let wanted = fs::metadata(file)?;
    let own = rustix::process::getpid();
    let holds = |pid: Pid| {
        let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else {
            return false;
        };
        open.flatten().any(|entry| {
            fs::metadata(entry.path())
                .is_ok_and(|file| file.ino() == wanted.ino() && file.dev() == wanted.dev())
        })
    };
    Ok(every_pid()
        .filter(|&pid| pid != own && holds(pid))
        .filter_map(|pid| {
            let process = Process::open(pid).ok()?;
            (holds(pid) && !process.has_ended()).then_some(process)
        })
        .collect())
}

/// Names under which shells are known.
const SHELLS: [&str; 12] = [
    "sh", "bash", "dash", "ash", "hush", "ksh", "ksh93", "mksh", "lksh", "yash", "zsh", "rbash",
];

/// Whether a process is a shell: one that would go on to its next line when what it waits for ends.
pub(crate) fn is_shell(pid: Pid) -> bool {
    let Ok(program) = fs::read_link(format!("/proc/{pid}/exe")) else {
        return false;
    };
    let program = program.to_string_lossy().into_owned();
    let base = base_name(program.strip_suffix(" (deleted)").unwrap_or(&program));
    if base != "busybox" {
        return SHELLS.contains(&base);
    }
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = command
        .split(|byte| *byte == 0)
        .map(String::from_utf8_lossy);
    let applet = words.next().unwrap_or_default().into_owned();
    let applet = match base_name(applet.trim_start_matches('-')) {
        "busybox" => words.next().unwrap_or_default().into_owned(),
        applet => applet.to_owned(),
    };
    SHELLS.contains(&applet.as_str())
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What tells this run of the machine from every other.
pub(crate) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|id| id.trim().to_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_confuse() {
        let text = "12 (a) b) (c)) S 7 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 9 9";
        assert_eq!(
            parse_stat(text),
            Some(Stat {
                state: b'S',
                parent: 7,
                start: 4242
            })
        );
    }

    #[test]
    fn children_are_found_and_strangers_are_not() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .expect("sleep starts");
        let own = rustix::process::getpid();
        let found: Vec<u32> = descendants(own)
            .iter()
            .map(|process| process.pid().as_raw_nonzero().get().unsigned_abs())
            .collect();
        assert!(found.contains(&child.id()));
        assert!(!found.contains(&own.as_raw_nonzero().get().unsigned_abs()));
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
    }
}
