//! What turns change: receive, commit, settle.

use groundplan_engine::time::Timestamp;
use groundplan_ports::{
    error::{ErrorKind, PortError},
    store::{
        AggregateKind, Change, Commit, Committed, Incoming, InputId, Projection, Receipt,
        Settlement,
    },
};
use rusqlite::Connection;

use super::{
    aggregate::{find_or_make, signed, unsigned},
    lease, runs,
};
use crate::failure::Failure;

pub(super) fn receive(db: &Connection, incoming: &Incoming) -> Result<Receipt, Failure> {
    let aggregate = find_or_make(db, &incoming.aggregate)?.id;
    let stored = db
        .prepare_cached(
            "INSERT INTO input (aggregate, delivery, body) VALUES (?1, ?2, ?3)
             ON CONFLICT (aggregate, delivery) DO NOTHING",
        )?
        .execute((aggregate, &incoming.delivery, &incoming.body))?;
    Ok(match stored {
        0 => Receipt::Duplicate,
        _ => Receipt::Stored,
    })
}

pub(super) fn commit(db: &Connection, commit: Commit) -> Result<Vec<Committed>, Failure> {
    for input in &commit.consumed {
        consume(db, *input)?;
    }
    for change in &commit.changes {
        let aggregate = find_or_make(db, &change.aggregate)?.id;
        for action in &commit.settled {
            db.prepare_cached("DELETE FROM action WHERE id = ?1 AND aggregate = ?2")?
                .execute((signed(*action), aggregate))?;
        }
    }
    let mut committed = Vec::new();
    for change in commit.changes {
        apply(db, change, commit.at, &mut committed)?;
    }
    for incoming in &commit.deliveries {
        receive(db, incoming)?;
    }
    for Projection::Run(row) in &commit.projections {
        runs::put(db, row)?;
    }
    Ok(committed)
}

fn consume(db: &Connection, input: InputId) -> Result<(), Failure> {
    let consumed = db
        .prepare_cached(
            "UPDATE input SET consumed = 1, body = NULL WHERE id = ?1 AND consumed = 0",
        )?
        .execute([signed(input.0)])?;
    if consumed == 1 {
        return Ok(());
    }
    Err(conflict(format!("input {} was consumed by another turn", input.0)).into())
}

fn apply(
    db: &Connection,
    change: Change,
    at: Timestamp,
    committed: &mut Vec<Committed>,
) -> Result<(), Failure> {
    let id = change.aggregate;
    let row = find_or_make(db, &id)?;
    if row.revision != signed(change.expected.0) {
        return Err(conflict(format!(
            "`{}` is at revision {}, not {}",
            id.key, row.revision, change.expected.0
        ))
        .into());
    }
    match (&change.lease, id.kind) {
        (Some(held), _) => lease::check(db, row.id, held)?,
        (None, AggregateKind::LockSpace) => {}
        (None, AggregateKind::Run) => {
            return Err(PortError::new(
                ErrorKind::Invalid,
                format!("a turn of `{}` has no lease", id.key),
            )
            .into());
        }
    }
    let mut revision = row.revision;
    for event in change.events {
        revision += 1;
        db.prepare_cached(
            "INSERT INTO event (aggregate, revision, kind, version, at, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute((
            row.id,
            revision,
            event.kind,
            event.version,
            at.0,
            event.body,
        ))?;
    }
    db.prepare_cached("UPDATE aggregate SET revision = ?2, timer = ?3 WHERE id = ?1")?
        .execute((row.id, revision, change.timer.map(|due| due.0)))?;
    if let Some((version, body)) = change.snapshot {
        db.prepare_cached(
            "INSERT OR REPLACE INTO snapshot (aggregate, revision, version, body)
             VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute((row.id, revision, version, body))?;
    }
    for body in change.actions {
        db.prepare_cached("INSERT INTO action (aggregate, body) VALUES (?1, ?2)")?
            .execute((row.id, &body))?;
        let number = unsigned(db.last_insert_rowid());
        committed.push(Committed::by_store(number, id.clone(), body, Timestamp(0)));
    }
    Ok(())
}

pub(super) fn settle(db: &Connection, id: u64, settlement: Settlement) -> Result<(), Failure> {
    match settlement {
        Settlement::Done => db
            .prepare_cached("DELETE FROM action WHERE id = ?1")?
            .execute([signed(id)])?,
        Settlement::RetryAt(at) => db
            .prepare_cached("UPDATE action SET not_before = ?2 WHERE id = ?1")?
            .execute((signed(id), at.0))?,
    };
    Ok(())
}

pub(super) fn conflict(message: String) -> PortError {
    PortError::new(ErrorKind::Conflict, message)
}
