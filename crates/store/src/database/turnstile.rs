//! Fair turns between processes that write one database.
//!
//! SQLite's own waiting is by chance: a process that commits without pause can keep others out for
//! long. Here a writer first takes the *gate*, then the *turn*, then lets go of the gate. Whoever
//! waits for the turn holds the gate, so the one that has just written cannot come round again
//! before it. The locks are advisory file locks: the system frees them when a process dies.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};

/// The two locks of a data directory.
#[derive(Debug)]
pub(super) struct Turnstile {
    gate: File,
    turn: File,
}

/// A turn; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Turn<'a>(&'a File);

impl Turnstile {
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        let open = |name: &str| {
            OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .mode(0o600)
                .open(directory.join(name))
        };
        Ok(Turnstile {
            gate: open("writers.gate")?,
            turn: open("writers.turn")?,
        })
    }

    /// Waits for a turn; `None` when it does not come before the deadline.
    pub(super) fn enter(&self, deadline: Instant) -> io::Result<Option<Turn<'_>>> {
        if !lock(&self.gate, deadline)? {
            return Ok(None);
        }
        let entered = lock(&self.turn, deadline);
        unlock(&self.gate);
        Ok(entered?.then_some(Turn(&self.turn)))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        unlock(self.0);
    }
}

fn lock(file: &File, deadline: Instant) -> io::Result<bool> {
    let mut pause = Duration::from_micros(50);
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(1));
    }
}

/// Giving back a lock that is held cannot fail; closing the file would do it as well.
fn unlock(file: &File) {
    let _ = flock(file, FlockOperation::Unlock);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(20)
    }

    #[test]
    fn a_turn_excludes_others_until_it_ends() {
        let directory = tempfile::tempdir().unwrap();
        let one = Turnstile::open(directory.path()).unwrap();
        let other = Turnstile::open(directory.path()).unwrap();
        let turn = one.enter(soon()).unwrap().unwrap();
        assert!(other.enter(soon()).unwrap().is_none());
        drop(turn);
        assert!(other.enter(soon()).unwrap().is_some());
    }

    #[test]
    fn who_waits_comes_before_who_has_just_written() {
        let directory = tempfile::tempdir().unwrap();
        let one = Turnstile::open(directory.path()).unwrap();
        let other = Turnstile::open(directory.path()).unwrap();
        let turn = one.enter(soon()).unwrap().unwrap();
        // As a waiting process does: at the gate, and not yet in.
        assert!(lock(&other.gate, soon()).unwrap());
        drop(turn);
        assert!(one.enter(soon()).unwrap().is_none());
        assert!(lock(&other.turn, soon()).unwrap());
    }
}
