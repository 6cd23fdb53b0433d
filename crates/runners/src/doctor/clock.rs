//! Whether the time of day can be right.

use std::{
    process::Command,
    time::{Duration, SystemTime},
};

use super::{Check, Machine, Verdict};
use crate::tools::{in_search_path, run_bounded};

/// This was written after 2026-11-01; a clock before it is wrong.
const EARLIEST: u64 = 1_793_491_200;

const NAME: &str = "clock";

pub(super) fn check(machine: &Machine) -> Check {
    let seconds = machine
        .now
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    if seconds < EARLIEST {
        let days = (EARLIEST - seconds).div_ceil(86_400);
        let seen = format!("the clock is wrong by at least {days} days (in the past)");
        return Check::new(NAME, Verdict::Failure, seen).with_fix(FIX);
    }
    match synchronized(machine) {
        Some(true) => Check::new(NAME, Verdict::Ok, "synchronized"),
        Some(false) => Check::new(
            NAME,
            Verdict::Warning,
            "the clock is not synchronized; times in logs and short-lived credentials may be wrong",
        )
        .with_fix(FIX),
        None => Check::new(
            NAME,
            Verdict::Warning,
            "whether the clock is synchronized cannot be seen from here",
        )
        .with_fix(["# Compare it with another machine's:", "date --utc"]),
    }
}

const FIX: [&str; 2] = [
    "sudo apt-get install systemd-timesyncd",
    "sudo timedatectl set-ntp true",
];

/// What the machine says; `None` where it says nothing.
fn synchronized(machine: &Machine) -> Option<bool> {
    if machine
        .root
        .join("run/systemd/timesync/synchronized")
        .exists()
    {
        return Some(true);
    }
    let timedatectl = in_search_path("timedatectl", &machine.search.search_path)?;
    let mut command = Command::new(timedatectl);
    command.args(["show", "--property=NTPSynchronized", "--value"]);
    let finished = run_bounded(&mut command, Duration::from_secs(10)).ok()?;
    match (finished.status.success(), finished.stdout.trim()) {
        (true, "yes") => Some(true),
        (true, "no") => Some(false),
        _ => None,
    }
}
