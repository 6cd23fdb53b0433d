//! The journal in memory.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use groundplan_engine::time::Timestamp;
use groundplan_ports::{
    error::ErrorKind,
    store::{
        AggregateId, AggregateKind, Change, Commit, Incoming, Owner, Revision, Settlement, Store,
    },
};
use groundplan_testkit::{
    contract::store::Fixture,
    memory_store::{MemoryStore, Point, Verdict},
    store_contract,
};

struct InMemory(MemoryStore);

impl Fixture for InMemory {
    fn handle(&self) -> Arc<dyn Store> {
        Arc::new(self.0.attach(|_| Verdict::GoOn))
    }

    fn dead_owner(&self) -> Owner {
        let owner = Owner {
            host: "here".to_owned(),
            boot_id: "boot".to_owned(),
            pid: 7,
            start_time: 7,
        };
        self.0.declare_dead(&owner);
        owner
    }
}

store_contract!(InMemory(MemoryStore::new()));

fn locks() -> AggregateId {
    AggregateId {
        kind: AggregateKind::LockSpace,
        key: "locks".to_owned(),
    }
}

fn turn(expected: u64) -> Commit {
    Commit {
        changes: vec![Change {
            aggregate: locks(),
            expected: Revision(expected),
            lease: None,
            events: vec![groundplan_ports::store::EventRecord {
                kind: "happened".to_owned(),
                version: 1,
                body: Vec::new(),
            }],
            actions: vec![b"act".to_vec()],
            snapshot: None,
            timer: None,
        }],
        at: Timestamp(1),
        ..Commit::default()
    }
}

#[tokio::test]
async fn crash_before_commit_stores_nothing_and_after_it_everything() {
    for (point, revision) in [(Point::BeforeCommit, 0), (Point::AfterCommit, 1)] {
        let survivor = MemoryStore::new();
        let crashing = survivor.attach(move |at| match at == point {
            true => Verdict::Crash,
            false => Verdict::GoOn,
        });
        let error = crashing.commit(turn(0)).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Broken);
        assert!(crashing.has_crashed() && !survivor.has_crashed());
        assert!(crashing.load(&locks()).await.is_err());
        let incoming = Incoming {
            aggregate: locks(),
            delivery: "d".to_owned(),
            body: Vec::new(),
        };
        assert!(crashing.receive(incoming).await.is_err());
        let loaded = survivor.load(&locks()).await.unwrap();
        assert_eq!(loaded.revision, Revision(revision), "{point:?}");
        assert!(loaded.inputs.is_empty());
    }
}

#[tokio::test]
async fn crash_before_settle_leaves_the_action_and_after_it_none() {
    for (point, left) in [(Point::BeforeSettle, 1), (Point::AfterSettle, 0)] {
        let survivor = MemoryStore::new();
        let calls = AtomicU64::new(0);
        let crashing = survivor.attach(move |at| {
            calls.fetch_add(1, Ordering::SeqCst);
            match at == point {
                true => Verdict::Crash,
                false => Verdict::GoOn,
            }
        });
        let committed = crashing.commit(turn(0)).await.unwrap();
        let settled = crashing.settle(&committed[0], Settlement::Done).await;
        assert_eq!(settled.unwrap_err().kind, ErrorKind::Broken);
        let actions = survivor.load(&locks()).await.unwrap().actions;
        assert_eq!(actions.len(), left, "{point:?}");
    }
}
