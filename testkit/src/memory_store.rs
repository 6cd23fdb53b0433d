//! A journal in memory for the simulator: handles stand for processes, and a hook may crash one
//! before or after every commit and settlement.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use groundplan_engine::time::Timestamp;
use groundplan_ports::{
    error::{ErrorKind, PortError, PortResult},
    store::{
        AggregateId, Commit, Committed, EventRecord, Incoming, Lease, Loaded, Owner, Receipt,
        Revision, RunRow, Settlement, Store, StoredInput, Wanted,
    },
};
use tokio::sync::watch;

use self::journal::Journal;

mod journal;

/// Where a process may be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Nothing of the turn is stored yet.
    BeforeCommit,
    /// The turn is stored; its caller has not heard of it.
    AfterCommit,
    /// The action may be performed, and is not settled.
    BeforeSettle,
    /// The action is settled; its caller has not heard of it.
    AfterSettle,
}

/// What the hook says at a [`Point`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing happens here.
    GoOn,
    /// The process is dropped here: this call and every later one of the handle fails.
    Crash,
}

/// The hook that decides about crashes.
pub type Faults = Arc<dyn Fn(Point) -> Verdict + Send + Sync>;

/// One process's handle on a journal in memory.
pub struct MemoryStore {
    journal: Arc<Mutex<Journal>>,
    changes: Arc<watch::Sender<u64>>,
    seen: Mutex<watch::Receiver<u64>>,
    faults: Faults,
    crashed: AtomicBool,
}

impl MemoryStore {
    /// A handle on a new, empty journal; it never crashes.
    pub fn new() -> Self {
        let (changes, seen) = watch::channel(0);
        MemoryStore {
            journal: Arc::default(),
            changes: Arc::new(changes),
            seen: Mutex::new(seen),
            faults: Arc::new(|_| Verdict::GoOn),
            crashed: AtomicBool::new(false),
        }
    }

    /// Another process's handle on the same journal, whether or not this one has crashed.
    pub fn attach(&self, faults: impl Fn(Point) -> Verdict + Send + Sync + 'static) -> Self {
        MemoryStore {
            journal: Arc::clone(&self.journal),
            changes: Arc::clone(&self.changes),
            seen: Mutex::new(self.changes.subscribe()),
            faults: Arc::new(faults),
            crashed: AtomicBool::new(false),
        }
    }

    /// From now on every handle knows that this owner's process lives no more.
    pub fn declare_dead(&self, owner: &Owner) {
        self.lock().declare_dead(owner.clone());
        self.changed();
    }

    /// Whether the hook has crashed this handle.
    pub fn has_crashed(&self) -> bool {
        self.crashed.load(Ordering::SeqCst)
    }

    fn lock(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().expect("no holder of the lock panics")
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn alive(&self) -> PortResult<()> {
        if self.has_crashed() {
            return Err(PortError::new(
                ErrorKind::Broken,
                "the simulated process has crashed",
            ));
        }
        Ok(())
    }

    fn pass(&self, point: Point) -> PortResult<()> {
        self.alive()?;
        if (self.faults)(point) == Verdict::Crash {
            self.crashed.store(true, Ordering::SeqCst);
        }
        self.alive()
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        MemoryStore::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("crashed", &self.has_crashed())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn receive(&self, incoming: Incoming) -> PortResult<Receipt> {
        self.alive()?;
        let receipt = self.lock().receive(incoming);
        self.changed();
        Ok(receipt)
    }

    async fn claim(
        &self,
        owner: &Owner,
        wanted: Wanted,
        now: Timestamp,
        length: Duration,
    ) -> PortResult<Vec<Lease>> {
        self.alive()?;
        self.lock().claim(owner, wanted, now, length)
    }

    async fn lease(&self, aggregate: &AggregateId) -> PortResult<Option<Lease>> {
        self.alive()?;
        Ok(self.lock().lease(aggregate))
    }

    async fn renew(&self, lease: &Lease, until: Timestamp) -> PortResult<Lease> {
        self.alive()?;
        self.lock().renew(lease, until)
    }

    async fn release(&self, lease: &Lease) -> PortResult<()> {
        self.alive()?;
        self.lock().release(lease);
        self.changed();
        Ok(())
    }

    async fn load(&self, aggregate: &AggregateId) -> PortResult<Loaded> {
        self.alive()?;
        Ok(self.lock().load(aggregate))
    }

    async fn events(
        &self,
        aggregate: &AggregateId,
        after: Revision,
    ) -> PortResult<Vec<EventRecord>> {
        self.alive()?;
        Ok(self.lock().events(aggregate, after))
    }

    async fn waiting_inputs(&self, aggregate: &AggregateId) -> PortResult<Vec<StoredInput>> {
        self.alive()?;
        Ok(self.lock().waiting_inputs(aggregate))
    }

    async fn commit(&self, commit: Commit) -> PortResult<Vec<Committed>> {
        self.pass(Point::BeforeCommit)?;
        let committed = self.lock().commit(commit)?;
        self.changed();
        self.pass(Point::AfterCommit)?;
        Ok(committed)
    }

    async fn settle(&self, action: &Committed, settlement: Settlement) -> PortResult<()> {
        self.pass(Point::BeforeSettle)?;
        self.lock().settle(action, settlement);
        self.changed();
        self.pass(Point::AfterSettle)
    }

    async fn wait_for_hint(&self, most: Duration) -> PortResult<()> {
        self.alive()?;
        let mut seen = {
            let seen = self.seen.lock().expect("no holder of the lock panics");
            seen.clone()
        };
        let changed = tokio::time::timeout(most, seen.changed()).await;
        if changed.is_ok() {
            *self.seen.lock().expect("no holder of the lock panics") = seen;
        }
        Ok(())
    }

    async fn runs(&self, limit: usize) -> PortResult<Vec<RunRow>> {
        self.alive()?;
        Ok(self.lock().runs(limit))
    }

    async fn find_run(&self, name: &str) -> PortResult<RunRow> {
        self.alive()?;
        self.lock().find_run(name)
    }
}
