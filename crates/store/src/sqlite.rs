//! The journal in SQLite.

use std::time::Duration;

use async_trait::async_trait;
use groundplan_engine::time::Timestamp;
use groundplan_ports::{
    error::PortResult,
    store::{
        AggregateId, Commit, Committed, EventRecord, Incoming, Lease, Loaded, Owner, Receipt,
        Revision, RunRow, Settlement, Store, StoredInput, Wanted,
    },
};

use crate::database::{Database, Hint};

mod aggregate;
mod commit;
mod lease;
mod load;
mod runs;

pub(crate) use aggregate::{signed, unsigned};

/// A [`Store`] on the database of a data directory. Other processes may use the same one.
#[derive(Clone, Debug)]
pub struct Sqlite {
    database: Database,
}

impl Sqlite {
    /// The journal in this database.
    pub fn new(database: Database) -> Self {
        Sqlite { database }
    }
}

#[async_trait]
impl Store for Sqlite {
    async fn receive(&self, incoming: Incoming) -> PortResult<Receipt> {
        self.database
            .write(Hint::Give, move |db| commit::receive(db, &incoming))
            .await
    }

    async fn claim(
        &self,
        owner: &Owner,
        wanted: Wanted,
        now: Timestamp,
        length: Duration,
    ) -> PortResult<Vec<Lease>> {
        let owner = owner.clone();
        self.database
            .write(Hint::Spare, move |db| {
                lease::claim(db, &owner, wanted, now, length)
            })
            .await
    }

    async fn lease(&self, aggregate: &AggregateId) -> PortResult<Option<Lease>> {
        let aggregate = aggregate.clone();
        self.database
            .read(move |db| lease::held(db, &aggregate))
            .await
    }

    async fn renew(&self, lease: &Lease, until: Timestamp) -> PortResult<Lease> {
        let lease = lease.clone();
        self.database
            .write(Hint::Spare, move |db| lease::renew(db, lease, until))
            .await
    }

    async fn release(&self, lease: &Lease) -> PortResult<()> {
        let lease = lease.clone();
        self.database
            .write(Hint::Give, move |db| lease::release(db, &lease))
            .await
    }

    async fn load(&self, aggregate: &AggregateId) -> PortResult<Loaded> {
        let aggregate = aggregate.clone();
        self.database
            .read(move |db| load::load(db, &aggregate))
            .await
    }

    async fn events(
        &self,
        aggregate: &AggregateId,
        after: Revision,
    ) -> PortResult<Vec<EventRecord>> {
        let aggregate = aggregate.clone();
        self.database
            .read(move |db| load::events(db, &aggregate, after))
            .await
    }

    async fn waiting_inputs(&self, aggregate: &AggregateId) -> PortResult<Vec<StoredInput>> {
        let aggregate = aggregate.clone();
        self.database
            .read(move |db| load::waiting_inputs(db, &aggregate))
            .await
    }

    async fn commit(&self, commit: Commit) -> PortResult<Vec<Committed>> {
        self.database
            .write(Hint::Give, move |db| commit::commit(db, commit))
            .await
    }

    async fn settle(&self, action: &Committed, settlement: Settlement) -> PortResult<()> {
        let id = action.id();
        self.database
            .write(Hint::Give, move |db| commit::settle(db, id, settlement))
            .await
    }

    async fn wait_for_hint(&self, most: Duration) -> PortResult<()> {
        self.database.wait_for_hint(most).await
    }

    async fn runs(&self, limit: usize) -> PortResult<Vec<RunRow>> {
        self.database.read(move |db| runs::newest(db, limit)).await
    }

    async fn find_run(&self, name: &str) -> PortResult<RunRow> {
        let name = name.to_owned();
        self.database.read(move |db| runs::find(db, &name)).await
    }
}
