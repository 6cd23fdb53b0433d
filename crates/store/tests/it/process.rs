//! Several real processes on one data directory.
//!
//! A child is this test binary again, told by an environment variable which directory it shares.

use std::{
    env,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use groundplan_engine::time::Timestamp;
use groundplan_ports::{
    error::ErrorKind,
    store::{AggregateId, AggregateKind, Change, Commit, EventRecord, Revision, Store, Wanted},
};
use groundplan_store::{DataDirectory, Database, Sqlite, owner};

const SHARED: &str = "GROUNDPLAN_TEST_SHARED_DIRECTORY";
const TURNS: &str = "GROUNDPLAN_TEST_TURNS";
const HOUR: Duration = Duration::from_secs(3600);

fn open(directory: &Path) -> Sqlite {
    let directory = DataDirectory::open(directory).unwrap();
    Sqlite::new(Database::open(&directory).unwrap())
}

pub(crate) fn locks() -> AggregateId {
    AggregateId {
        kind: AggregateKind::LockSpace,
        key: "locks".to_owned(),
    }
}

fn driven() -> AggregateId {
    AggregateId {
        kind: AggregateKind::Run,
        key: "driven".to_owned(),
    }
}

/// A turn of the lock space that records one event.
pub(crate) fn turn(expected: Revision, body: &str) -> Commit {
    Commit {
        changes: vec![Change {
            aggregate: locks(),
            expected,
            lease: None,
            events: vec![EventRecord {
                kind: "happened".to_owned(),
                version: 1,
                body: body.as_bytes().to_vec(),
            }],
            actions: Vec::new(),
            snapshot: None,
            timer: None,
        }],
        ..Commit::default()
    }
}

async fn append(store: &Sqlite, body: &str) -> Revision {
    loop {
        let revision = store.load(&locks()).await.unwrap().revision;
        match store.commit(turn(revision, body)).await {
            Ok(_) => return Revision(revision.0 + 1),
            Err(error) => assert_eq!(error.kind, ErrorKind::Conflict, "{error}"),
        }
    }
}

/// By itself a test of one process; as a child the process that others contend with or kill.
#[tokio::test]
async fn a_process_appends_what_it_says() {
    let own = tempfile::tempdir().unwrap();
    let shared = env::var_os(SHARED).map(PathBuf::from);
    let directory = shared.clone().unwrap_or_else(|| own.path().join("data"));
    let turns: u64 = env::var(TURNS).map_or(10, |turns| turns.parse().unwrap());
    let store = open(&directory);
    let me = owner::current().unwrap();
    store
        .claim(&me, Wanted::This(driven()), Timestamp(0), HOUR)
        .await
        .unwrap();
    for count in 0..turns {
        let body = format!("{}/{count}", me.pid);
        let revision = append(&store, &body).await;
        println!("\ncommitted {} {body}", revision.0);
    }
    if shared.is_none() {
        let loaded = store.load(&locks()).await.unwrap();
        assert_eq!(loaded.revision, Revision(turns));
    }
}

/// Killed at the latest when the test is over.
struct Guarded(Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        // It has most often ended by itself.
        let _ = self.0.kill();
        self.0.wait().unwrap();
    }
}

fn child(directory: &Path, turns: u64) -> Guarded {
    let child = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "process::a_process_appends_what_it_says",
            "--nocapture",
        ])
        .env(SHARED, directory)
        .env(TURNS, turns.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    Guarded(child)
}

/// Revision and body of each turn that a child says it committed.
fn said(child: &mut Guarded) -> impl Iterator<Item = (u64, String)> + use<> {
    let output = BufReader::new(child.0.stdout.take().unwrap());
    output.lines().filter_map(|line| {
        let line = line.unwrap();
        let (revision, body) = line.strip_prefix("committed ")?.split_once(' ')?;
        Some((revision.parse().unwrap(), body.to_owned()))
    })
}

async fn bodies(store: &Sqlite) -> Vec<String> {
    let events = store.events(&locks(), Revision(0)).await.unwrap();
    events
        .into_iter()
        .map(|event| String::from_utf8(event.body).unwrap())
        .collect()
}

#[tokio::test]
async fn contending_processes_lose_nothing() {
    const TURNS: u64 = 60;
    let own = tempfile::tempdir().unwrap();
    let directory = own.path().join("data");
    let mut children: Vec<_> = (0..3).map(|_| child(&directory, TURNS)).collect();
    let mut told: Vec<(u64, String)> = children.iter_mut().flat_map(said).collect();
    for mut child in children {
        assert!(child.0.wait().unwrap().success());
    }
    told.sort();
    let revisions: Vec<u64> = told.iter().map(|(revision, _)| *revision).collect();
    let all: Vec<u64> = (1..=3 * TURNS).collect();
    assert_eq!(revisions, all, "each revision has one winner");
    let told: Vec<String> = told.into_iter().map(|(_, body)| body).collect();
    assert_eq!(bodies(&open(&directory)).await, told);
}

#[tokio::test]
async fn kill_9_loses_no_turn_that_was_answered_and_frees_the_lease() {
    let own = tempfile::tempdir().unwrap();
    let directory = own.path().join("data");
    for round in 0..3 {
        let mut child = child(&directory, 100_000);
        let mut last = 0;
        for (count, (revision, _)) in said(&mut child).enumerate() {
            last = revision;
            if count == 20 {
                child.0.kill().unwrap();
            }
        }
        let store = open(&directory);
        let loaded = store.load(&locks()).await.unwrap();
        // It may die between the commit and saying so.
        assert!(
            (last..=last + 1).contains(&loaded.revision.0),
            "round {round}"
        );
        let held = store.lease(&driven()).await.unwrap().unwrap();
        assert_eq!(held.owner.pid, child.0.id());
        let me = owner::current().unwrap();
        let leases = store
            .claim(&me, Wanted::This(driven()), Timestamp(1), HOUR)
            .await
            .unwrap();
        assert_eq!(leases.len(), 1, "a killed process holds no lease");
        store.release(&leases[0]).await.unwrap();
    }
}
