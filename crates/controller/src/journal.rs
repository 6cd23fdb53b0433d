//! Aggregates from the journal and back.

use std::collections::BTreeMap;

use groundplan_engine::time::Timestamp;
use groundplan_engine::{
    event::Event,
    evolve::evolve,
    id::RunId,
    run::Run,
    sync::{self, LockEvent, LockKey, LockSpace},
};
use groundplan_ports::{
    blobs::Blobs,
    store::{AggregateId, Committed, EventRecord, Loaded, Revision, RunRow, Store},
};
use serde::de::DeserializeOwned;

use crate::{
    codec,
    controller::Controller,
    error::{Error, While},
    intake::{aggregate_of, lock_space},
    settings::RunSettings,
};

/// Version of the snapshots that are written here; others are ignored and the events folded.
pub(crate) const SNAPSHOT: u16 = 1;

/// A run as the journal has it.
#[derive(Debug)]
pub struct History {
    /// The folded run.
    pub run: Run,
    /// What the person chose.
    pub settings: RunSettings,
    /// The row that lists show.
    pub row: RunRow,
}

/// A run with all that a driver needs.
#[derive(Debug)]
pub(crate) struct LoadedRun {
    pub run: Run,
    pub revision: Revision,
    pub actions: Vec<Committed>,
    pub timer: Option<Timestamp>,
}

impl Controller {
    /// A run for reading, by a name as [`Store::find_run`] takes it.
    pub async fn history(&self, name: &str) -> Result<History, Error> {
        let row = self
            .ports
            .store
            .find_run(name)
            .await
            .doing(|| format!("cannot find run `{name}`"))?;
        let loaded = self.load_run(&row.run).await?;
        let settings = self.settings(&row)?;
        Ok(History {
            run: loaded.run,
            settings,
            row,
        })
    }

    pub(crate) fn settings(&self, row: &RunRow) -> Result<RunSettings, Error> {
        serde_json::from_slice(&row.settings).map_err(|source| Error::Undecodable {
            what: "settings".to_owned(),
            aggregate: row.run.0.clone(),
            source,
        })
    }

    pub(crate) async fn load_run(&self, id: &RunId) -> Result<LoadedRun, Error> {
        let loaded = load(self.ports.store.as_ref(), &aggregate_of(id)).await?;
        let blobs = self.ports.blobs.as_ref();
        let run = fold(&loaded, blobs, &id.0, |run: &mut Run, event: &Event| {
            evolve(run, event)
        })
        .await?;
        let Loaded {
            revision,
            actions,
            timer,
            ..
        } = loaded;
        Ok(LoadedRun {
            run,
            revision,
            actions,
            timer,
        })
    }

    pub(crate) async fn load_lock_space(&self) -> Result<(LockSpace, Revision), Error> {
        let loaded = load(self.ports.store.as_ref(), &lock_space()).await?;
        let blobs = self.ports.blobs.as_ref();
        let space = fold(
            &loaded,
            blobs,
            "locks",
            |space: &mut LockSpace, event: &LockEvent| sync::evolve(space, event),
        )
        .await?;
        Ok((space, loaded.revision))
    }
}

impl Controller {
    /// The runs that hold a lock which this run, or a node of it, waits for; each with one such
    /// lock.
    ///
    /// # Errors
    /// Whatever the store cannot do.
    pub async fn lock_holders(&self, run: &RunId) -> Result<BTreeMap<RunId, LockKey>, Error> {
        let (space, _) = self.load_lock_space().await?;
        Ok(space.in_the_way_of(run).into_iter().collect())
    }
}

/// The events of a run in order, for reading.
pub async fn events_of(controller: &Controller, run: &RunId) -> Result<Vec<Event>, Error> {
    let store = &controller.ports.store;
    let records = store
        .events(&aggregate_of(run), Revision(0))
        .await
        .doing(|| format!("cannot load the events of run `{run}`"))?;
    let mut events = Vec::with_capacity(records.len());
    for record in &records {
        events.push(event_from(record, controller.ports.blobs.as_ref(), &run.0).await?);
    }
    Ok(events)
}

/// What the journal needs of a kind of event.
pub(crate) trait Recorded: serde::Serialize + DeserializeOwned + Sync {
    /// Stable name of the event's kind.
    fn recorded_kind(&self) -> &'static str;
    /// Version of its format.
    fn recorded_version(&self) -> u16;
    /// The newest version that this program can read.
    const NEWEST_VERSION: u16;
}

pub(crate) async fn record<E: Recorded>(
    event: &E,
    blobs: &dyn Blobs,
) -> Result<EventRecord, Error> {
    Ok(EventRecord {
        kind: event.recorded_kind().to_owned(),
        version: event.recorded_version(),
        body: codec::encode(event, blobs).await?,
    })
}

async fn load(store: &dyn Store, aggregate: &AggregateId) -> Result<Loaded, Error> {
    store
        .load(aggregate)
        .await
        .doing(|| format!("cannot load `{}`", aggregate.key))
}

async fn fold<S, E>(
    loaded: &Loaded,
    blobs: &dyn Blobs,
    aggregate: &str,
    evolve: impl Fn(&mut S, &E),
) -> Result<S, Error>
where
    S: Default + DeserializeOwned,
    E: Recorded,
{
    let mut state = match &loaded.snapshot {
        Some(snapshot) => codec::decode(&snapshot.body, blobs, "snapshot", aggregate).await?,
        None => S::default(),
    };
    for record in &loaded.events {
        evolve(&mut state, &event_from(record, blobs, aggregate).await?);
    }
    Ok(state)
}

async fn event_from<E: Recorded>(
    record: &EventRecord,
    blobs: &dyn Blobs,
    aggregate: &str,
) -> Result<E, Error> {
    if record.version > E::NEWEST_VERSION {
        return Err(Error::NewerEvent {
            kind: record.kind.clone(),
            aggregate: aggregate.to_owned(),
            version: record.version,
        });
    }
    codec::decode(&record.body, blobs, "event", aggregate).await
}
