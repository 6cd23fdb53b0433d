//! The journal: events, their projections, and the actions they ask for, in one transaction.

use std::time::Duration;

use async_trait::async_trait;
use groundplan_engine::{id::RunId, time::Timestamp};

use crate::error::PortResult;

/// Which kind of aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AggregateKind {
    /// A run; one writer by lease.
    Run,
    /// The lock space; no lease, only the expected revision.
    LockSpace,
}

/// An aggregate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AggregateId {
    /// Its kind.
    pub kind: AggregateKind,
    /// Its key within the kind.
    pub key: String,
}

/// Number of events an aggregate has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

/// Something that arrived for an aggregate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// For whom.
    pub aggregate: AggregateId,
    /// Unique name of the delivery within the aggregate; a repeat is dropped.
    pub delivery: String,
    /// Encoded input.
    pub body: Vec<u8>,
}

/// Whether a delivery was new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// Stored now.
    Stored,
    /// Stored before; nothing changed.
    Duplicate,
}

/// Number of a stored input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InputId(pub u64);

/// A stored input that no turn has consumed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredInput {
    /// Its number; ascending in order of arrival.
    pub id: InputId,
    /// Encoded input.
    pub body: Vec<u8>,
}

/// Who drives: enough to know later whether that process still lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Host name.
    pub host: String,
    /// Boot id of the host.
    pub boot_id: String,
    /// Process id.
    pub pid: u32,
    /// Start time of the process in clock ticks since boot.
    pub start_time: u64,
}

/// The right to drive an aggregate until a time. A newer generation makes it worthless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// What may be driven.
    pub aggregate: AggregateId,
    /// By whom.
    pub owner: Owner,
    /// Counts the leases of this aggregate.
    pub generation: u64,
    /// Until when.
    pub until: Timestamp,
}

/// Which aggregates to claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// This one, whether or not anything waits for it.
    This(AggregateId),
    /// Up to so many with waiting input, a due timer, or unperformed actions.
    Any(usize),
}

/// An event with its place in the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRecord {
    /// Stable name of the kind of event.
    pub kind: String,
    /// Version of its body's format, from 1.
    pub version: u16,
    /// Encoded body.
    pub body: Vec<u8>,
}

/// The state of an aggregate as the journal has it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Loaded {
    /// Number of all events, those in the snapshot included.
    pub revision: Revision,
    /// A cached fold of the first events.
    pub snapshot: Option<Snapshot>,
    /// The events after the snapshot.
    pub events: Vec<EventRecord>,
    /// Inputs that wait, in order of arrival.
    pub inputs: Vec<StoredInput>,
    /// Actions that are committed and not settled, in order.
    pub actions: Vec<Committed>,
    /// When its timer is due.
    pub timer: Option<Timestamp>,
}

/// A cached fold of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Number of events folded.
    pub revision: Revision,
    /// Version of the format; a reader that does not know it folds from the first event.
    pub version: u16,
    /// Encoded state.
    pub body: Vec<u8>,
}

/// An action that is safely in the journal and may now be performed. Only implementations of
/// [`Store`] make one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Number of the action.
    id: u64,
    /// The aggregate it belongs to.
    aggregate: AggregateId,
    /// Encoded action.
    body: Vec<u8>,
    /// Not to be performed before this time; the epoch unless it is to be tried again.
    not_before: Timestamp,
}

impl Committed {
    /// For implementations of [`Store`] alone, after the transaction is durable (the layering test
    /// looks for other callers).
    pub fn by_store(id: u64, aggregate: AggregateId, body: Vec<u8>, not_before: Timestamp) -> Self {
        Committed {
            id,
            aggregate,
            body,
            not_before,
        }
    }

    /// Number of the action.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The aggregate it belongs to.
    pub fn aggregate(&self) -> &AggregateId {
        &self.aggregate
    }

    /// Encoded action.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Not to be performed before this time: what [`Settlement::RetryAt`] said last, else the epoch.
    pub fn not_before(&self) -> Timestamp {
        self.not_before
    }
}

/// What one turn changes; all of it or nothing.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    /// Aggregates that gain events.
    pub changes: Vec<Change>,
    /// Inputs that were consumed.
    pub consumed: Vec<InputId>,
    /// Numbers of actions of these aggregates that are done since the last turn.
    pub settled: Vec<u64>,
    /// Inputs for other aggregates.
    pub deliveries: Vec<Incoming>,
    /// New rows of lists and pages.
    pub projections: Vec<Projection>,
    /// Time of the turn.
    pub at: Timestamp,
}

/// What one aggregate gains.
#[derive(Clone, Debug)]
pub struct Change {
    /// Which.
    pub aggregate: AggregateId,
    /// Its revision as the turn saw it.
    pub expected: Revision,
    /// The lease under which the turn was made; `None` for the lock space.
    pub lease: Option<Lease>,
    /// Events in order.
    pub events: Vec<EventRecord>,
    /// Encoded actions in order.
    pub actions: Vec<Vec<u8>>,
    /// A new snapshot including these events; version and body.
    pub snapshot: Option<(u16, Vec<u8>)>,
    /// When to be woken next; `None` takes the timer away.
    pub timer: Option<Timestamp>,
}

/// A row that lists show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Projection {
    /// A run.
    Run(RunRow),
}

/// What lists show of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRow {
    /// The run.
    pub run: RunId,
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Phase in Argo's words.
    pub phase: String,
    /// Message.
    pub message: String,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When its first node started.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// Encoded settings of the run (volumes, names of passed variables, isolation …); never secrets.
    pub settings: Vec<u8>,
}

/// What becomes of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// It is done.
    Done,
    /// It is to be tried again.
    RetryAt(Timestamp),
}

/// The journal. Several processes on one database are normal.
#[async_trait]
pub trait Store: Send + Sync {
    /// Stores an input once by its delivery. Repeating it answers *duplicate*.
    async fn receive(&self, incoming: Incoming) -> PortResult<Receipt>;

    /// Takes leases. An aggregate under another's live lease is passed over; a lease whose owner is
    /// known to be dead on this host is replaced at once. Repeating it renews the caller's own.
    /// The lock space has no lease: [`Wanted::Any`] passes it over, [`Wanted::This`] is *invalid*.
    async fn claim(
        &self,
        owner: &Owner,
        wanted: Wanted,
        now: Timestamp,
        length: Duration,
    ) -> PortResult<Vec<Lease>>;

    /// Who holds the lease of an aggregate, dead or alive.
    async fn lease(&self, aggregate: &AggregateId) -> PortResult<Option<Lease>>;

    /// Prolongs a lease; *conflict* if a newer generation exists.
    async fn renew(&self, lease: &Lease, until: Timestamp) -> PortResult<Lease>;

    /// Gives a lease back. Repeating it, or giving back an old one, changes nothing.
    async fn release(&self, lease: &Lease) -> PortResult<()>;

    /// The state of an aggregate; revision 0 where it has no events.
    async fn load(&self, aggregate: &AggregateId) -> PortResult<Loaded>;

    /// The events of an aggregate after its first `after` ones, in order, whatever the snapshot.
    async fn events(
        &self,
        aggregate: &AggregateId,
        after: Revision,
    ) -> PortResult<Vec<EventRecord>>;

    /// Inputs that wait for an aggregate, in order of arrival; cheaper than a whole load.
    async fn waiting_inputs(&self, aggregate: &AggregateId) -> PortResult<Vec<StoredInput>>;

    /// Commits a turn if every expected revision and lease still holds and every consumed input
    /// still waits, else *conflict* with nothing changed. A run without a lease is *invalid*. Answers the actions that may now be performed, in order. Cancelled, it
    /// happened wholly or not at all.
    async fn commit(&self, commit: Commit) -> PortResult<Vec<Committed>>;

    /// Says what became of an action. Repeating it changes nothing.
    async fn settle(&self, action: &Committed, settlement: Settlement) -> PortResult<()>;

    /// Returns soon after something may have changed, at the latest after `most`. Missing a change
    /// costs latency, never correctness.
    async fn wait_for_hint(&self, most: Duration) -> PortResult<()>;

    /// Rows of runs, newest first.
    async fn runs(&self, limit: usize) -> PortResult<Vec<RunRow>>;

    /// The run whose id or name is, or uniquely begins with, `name`; the newest where a name was
    /// used again. *Not found* or *invalid* (ambiguous, naming the candidates) otherwise.
    async fn find_run(&self, name: &str) -> PortResult<RunRow>;
}
