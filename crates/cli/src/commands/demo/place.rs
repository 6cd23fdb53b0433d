//! The directory of a demo.

use std::path::{Path, PathBuf};

use super::scene::make;
use crate::{
    clock,
    config::{Machine, absolute},
    exit::Exit,
    failure::Failure,
    terminal,
};

/// A file that tells a directory of ours from others.
const MARK: &str = ".groundplan-demo";

/// The empty directory that a demo plays in: the person's, or a new one.
pub(super) fn choose(machine: &Machine, keep: Option<&Path>) -> Result<PathBuf, Failure> {
    let directory = match keep {
        Some(keep) => absolute(keep)?,
        None => home(machine).join(fresh_name()),
    };
    make(&directory)?;
    // Without links: what the tool and git say of their places is then what we say.
    let directory = directory.canonicalize().map_err(|error| {
        Failure::user(format!("cannot use `{}`", directory.display())).because(error)
    })?;
    let empty = std::fs::read_dir(&directory)
        .map(|mut entries| entries.next().is_none())
        .unwrap_or(false);
    if !empty {
        return Err(
            Failure::user(format!("`{}` is not empty", directory.display()))
                .with_hint("name a directory that is empty or not there yet"),
        );
    }
    super::examples::write_file(&directory.join(MARK), "")?;
    Ok(directory)
}

/// Where demos are that nobody asked to keep elsewhere.
fn home(machine: &Machine) -> PathBuf {
    machine.cache.root().join("demo")
}

fn fresh_name() -> String {
    let now = clock::now().0;
    jiff::Timestamp::from_millisecond(now)
        .map(|time| time.strftime("%Y%m%d-%H%M%S").to_string())
        .unwrap_or_else(|_| now.to_string())
}

/// Removes what earlier demos left; a directory that the person named stays theirs.
pub(super) fn clean(machine: &Machine) -> Result<Exit, Failure> {
    let home = home(machine);
    let mut removed = 0;
    for entry in std::fs::read_dir(&home).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.join(MARK).is_file() {
            std::fs::remove_dir_all(&path).map_err(|error| {
                Failure::user(format!("cannot remove `{}`", path.display())).because(error)
            })?;
            removed += 1;
        }
    }
    match removed {
        0 => terminal::note("no demo left anything"),
        1 => terminal::note(format!("removed what a demo left in `{}`", home.display())),
        _ => terminal::note(format!(
            "removed what {removed} demos left in `{}`",
            home.display()
        )),
    }
    Ok(Exit::Done)
}
