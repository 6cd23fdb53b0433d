//! What is right and wrong with this machine, as values.
//!
//! [`examine`] looks and changes nothing. Each [`Check`] says what was seen and, where something
//! is wrong, the exact lines that put it right. What could not be seen is a warning, never *ok*.

mod clock;
mod disk;
pub mod sandbox;
mod service_manager;
mod tools;

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::tools::Search;

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// Groundplan works, with less than it could do or with a danger that is told.
    Warning,
    /// Something that most runs need does not work.
    Failure,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was looked at, in one or two words.
    pub name: String,
    /// How it is.
    pub verdict: Verdict,
    /// What was seen: a lowercase fragment without final stop.
    pub seen: String,
    /// Lines that put it right, to be typed as they are; those that begin with `#` explain.
    pub fix: Vec<String>,
}

impl Check {
    fn new(name: &str, verdict: Verdict, seen: impl Into<String>) -> Self {
        Check {
            name: name.to_owned(),
            verdict,
            seen: seen.into(),
            fix: Vec::new(),
        }
    }

    fn with_fix<I>(mut self, lines: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.fix = lines.into_iter().map(Into::into).collect();
        self
    }
}

/// What is examined.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Where tools are looked for.
    pub search: Search,
    /// The data directory; it need not exist.
    pub data_dir: PathBuf,
    /// The time of day.
    pub now: SystemTime,
    /// The root of the file system that `/proc`, `/run` and `/etc` are read from: `/`.
    pub root: PathBuf,
}

/// Looks at everything, in the order of telling. Runs the tools that are not ours for their
/// versions, so it may take some seconds.
#[must_use]
pub fn examine(machine: &Machine) -> Vec<Check> {
    let mut checks = vec![sandbox::check(machine)];
    checks.extend(tools::check(machine));
    checks.push(disk::check("disk of the data", &machine.data_dir));
    checks.push(disk::check(
        "disk of the cache",
        machine.search.cache.root(),
    ));
    checks.push(clock::check(machine));
    checks.push(service_manager::check(machine));
    checks
}

/// The trimmed text of a small file below a root, where it can be read.
fn read(root: &Path, path: &str) -> Option<String> {
    let path = root.join(path.trim_start_matches('/'));
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}
