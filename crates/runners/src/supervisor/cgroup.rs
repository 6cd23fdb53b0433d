//! Limits on a step's resources by control groups, where they are writable.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use groundplan_engine::id::StepId;
use rustix::process::Pid;

/// Where control groups are.
const TOP: &str = "/sys/fs/cgroup";

/// Microseconds in which a share of a processor is counted.
const PERIOD: u64 = 100_000;

/// Makes groups for a step with limits of memory in bytes and processors in thousandths; none where
/// there are no limits.
pub(super) fn create(
    step: &StepId,
    (memory, cpu): (Option<u64>, Option<u64>),
) -> io::Result<Vec<PathBuf>> {
    if memory.is_none() && cpu.is_none() {
        return Ok(Vec::new());
    }
    let name = format!("groundplan-{}", step.to_string().replace('/', "-"));
    let own = fs::read_to_string("/proc/self/cgroup")?;
    let mut made = Vec::new();
    let result = if Path::new(TOP).join("cgroup.controllers").exists() {
        unified(&own, &name, memory, cpu, &mut made)
    } else {
        separate(&own, &name, memory, cpu, &mut made)
    };
    match result {
        Ok(()) => Ok(made),
        Err(error) => {
            remove(&made);
            Err(error)
        }
    }
}

/// Version 2: one tree.
fn unified(
    own: &str,
    name: &str,
    memory: Option<u64>,
    cpu: Option<u64>,
    made: &mut Vec<PathBuf>,
) -> io::Result<()> {
    let parent = group_of(own, |controllers| controllers.is_empty(), Path::new(TOP));
    for controller in [memory.map(|_| "+memory"), cpu.map(|_| "+cpu")]
        .into_iter()
        .flatten()
    {
        write(&parent.join("cgroup.subtree_control"), controller)?;
    }
    let group = make(parent.join(name), made)?;
    if let Some(memory) = memory {
        write(&group.join("memory.max"), &memory.to_string())?;
        // A machine without swap has no such file.
        let _ = write(&group.join("memory.swap.max"), "0");
    }
    if let Some(millis) = cpu {
        let quota = format!("{} {PERIOD}", (millis * PERIOD / 1000).max(1000));
        write(&group.join("cpu.max"), &quota)?;
    }
    Ok(())
}

/// Version 1: a tree for each kind.
fn separate(
    own: &str,
    name: &str,
    memory: Option<u64>,
    cpu: Option<u64>,
    made: &mut Vec<PathBuf>,
) -> io::Result<()> {
    let parent = |kind: &str| {
        let has = |controllers: &str| controllers.split(',').any(|controller| controller == kind);
        group_of(own, has, &Path::new(TOP).join(kind))
    };
    if let Some(memory) = memory {
        let group = make(parent("memory").join(name), made)?;
        write(&group.join("memory.limit_in_bytes"), &memory.to_string())?;
    }
    if let Some(millis) = cpu {
        let group = make(parent("cpu").join(name), made)?;
        let quota = (millis * PERIOD / 1000).max(1000);
        write(&group.join("cpu.cfs_period_us"), &PERIOD.to_string())?;
        write(&group.join("cpu.cfs_quota_us"), &quota.to_string())?;
    }
    Ok(())
}

/// The group that we are in ourselves, below `top`.
fn group_of(own: &str, is_wanted: impl Fn(&str) -> bool, top: &Path) -> PathBuf {
    let path = own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let controllers = parts.next()?;
        let path = parts.next()?;
        is_wanted(controllers).then_some(path)
    });
    let group = top.join(path.unwrap_or("/").trim_start_matches('/'));
    // In a namespace of its own the path may lead outside.
    if group.is_dir() {
        group
    } else {
        top.to_owned()
    }
}

fn make(group: PathBuf, made: &mut Vec<PathBuf>) -> io::Result<PathBuf> {
    match fs::create_dir(&group) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(named(&group, &error));
        }
        _ => {}
    }
    made.push(group.clone());
    Ok(group)
}

fn write(file: &Path, value: &str) -> io::Result<()> {
    fs::write(file, value).map_err(|error| named(file, &error))
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
}

/// Puts a process into the groups.
pub(super) fn enter(groups: &[PathBuf], pid: Pid) -> io::Result<()> {
    for group in groups {
        write(&group.join("cgroup.procs"), &pid.to_string())?;
    }
    Ok(())
}

/// Whether something in the groups was killed for want of memory.
pub(super) fn ran_out_of_memory(groups: &[PathBuf]) -> bool {
    groups.iter().any(|group| {
        ["memory.events", "memory.oom_control"]
            .iter()
            .filter_map(|file| fs::read_to_string(group.join(file)).ok())
            .any(|text| {
                text.lines()
                    .filter_map(|line| line.strip_prefix("oom_kill "))
                    .any(|count| count.trim() != "0")
            })
    })
}

/// Removes groups that are empty.
pub(super) fn remove(groups: &[PathBuf]) {
    for group in groups {
        // One that is not empty yet costs nothing but its name.
        let _ = fs::remove_dir(group);
    }
}
