//! Aggregates as a driver needs them.

use groundplan_engine::time::Timestamp;
use groundplan_ports::store::{
    AggregateId, Committed, EventRecord, InputId, Loaded, Revision, Snapshot, StoredInput,
};
use rusqlite::{Connection, OptionalExtension};

use super::aggregate::{find, signed, unsigned};
use crate::failure::Failure;

pub(super) fn load(db: &Connection, aggregate: &AggregateId) -> Result<Loaded, Failure> {
    let Some(row) = find(db, aggregate)? else {
        return Ok(Loaded::default());
    };
    let snapshot = snapshot(db, row.id)?;
    let folded = snapshot
        .as_ref()
        .map_or(Revision(0), |snapshot| snapshot.revision);
    let timer: Option<i64> = db
        .prepare_cached("SELECT timer FROM aggregate WHERE id = ?1")?
        .query_row([row.id], |row| row.get(0))?;
    Ok(Loaded {
        revision: Revision(unsigned(row.revision)),
        snapshot,
        events: events_of(db, row.id, folded)?,
        inputs: inputs_of(db, row.id)?,
        actions: actions_of(db, row.id, aggregate)?,
        timer: timer.map(Timestamp),
    })
}

pub(super) fn events(
    db: &Connection,
    aggregate: &AggregateId,
    after: Revision,
) -> Result<Vec<EventRecord>, Failure> {
    match find(db, aggregate)? {
        Some(row) => events_of(db, row.id, after),
        None => Ok(Vec::new()),
    }
}

pub(super) fn waiting_inputs(
    db: &Connection,
    aggregate: &AggregateId,
) -> Result<Vec<StoredInput>, Failure> {
    match find(db, aggregate)? {
        Some(row) => inputs_of(db, row.id),
        None => Ok(Vec::new()),
    }
}

fn snapshot(db: &Connection, aggregate: i64) -> Result<Option<Snapshot>, Failure> {
    let mut select =
        db.prepare_cached("SELECT revision, version, body FROM snapshot WHERE aggregate = ?1")?;
    let found = select
        .query_row([aggregate], |row| {
            Ok(Snapshot {
                revision: Revision(unsigned(row.get(0)?)),
                version: row.get(1)?,
                body: row.get(2)?,
            })
        })
        .optional()?;
    Ok(found)
}

fn events_of(
    db: &Connection,
    aggregate: i64,
    after: Revision,
) -> Result<Vec<EventRecord>, Failure> {
    let mut select = db.prepare_cached(
        "SELECT kind, version, body FROM event WHERE aggregate = ?1 AND revision > ?2
         ORDER BY revision",
    )?;
    let rows = select.query_map((aggregate, signed(after.0)), |row| {
        Ok(EventRecord {
            kind: row.get(0)?,
            version: row.get(1)?,
            body: row.get(2)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn inputs_of(db: &Connection, aggregate: i64) -> Result<Vec<StoredInput>, Failure> {
    let mut select = db.prepare_cached(
        "SELECT id, body FROM input WHERE aggregate = ?1 AND consumed = 0 ORDER BY id",
    )?;
    let rows = select.query_map([aggregate], |row| {
        Ok(StoredInput {
            id: InputId(unsigned(row.get(0)?)),
            body: row.get(1)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn actions_of(
    db: &Connection,
    aggregate: i64,
    id: &AggregateId,
) -> Result<Vec<Committed>, Failure> {
    let mut select = db.prepare_cached(
        "SELECT id, body, not_before FROM action WHERE aggregate = ?1 ORDER BY id",
    )?;
    let rows = select.query_map([aggregate], |row| {
        let number = unsigned(row.get(0)?);
        let not_before = Timestamp(row.get(2)?);
        Ok(Committed::by_store(
            number,
            id.clone(),
            row.get(1)?,
            not_before,
        ))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
