//! Aggregates as rows: names to numbers and back.

use groundplan_ports::store::{AggregateId, AggregateKind};
use rusqlite::{Connection, OptionalExtension};

use crate::failure::Failure;

/// An aggregate's row.
pub(super) struct Row {
    pub(super) id: i64,
    pub(super) revision: i64,
}

pub(super) fn kind_name(kind: AggregateKind) -> &'static str {
    match kind {
        AggregateKind::Run => "run",
        AggregateKind::LockSpace => "lock_space",
    }
}

/// The row of an aggregate that is known.
pub(super) fn find(db: &Connection, aggregate: &AggregateId) -> Result<Option<Row>, Failure> {
    let mut select =
        db.prepare_cached("SELECT id, revision FROM aggregate WHERE kind = ?1 AND key = ?2")?;
    let found = select
        .query_row((kind_name(aggregate.kind), &aggregate.key), |row| {
            Ok(Row {
                id: row.get(0)?,
                revision: row.get(1)?,
            })
        })
        .optional()?;
    Ok(found)
}

/// The row of an aggregate, made where it is missing.
pub(super) fn find_or_make(db: &Connection, aggregate: &AggregateId) -> Result<Row, Failure> {
    if let Some(row) = find(db, aggregate)? {
        return Ok(row);
    }
    db.prepare_cached("INSERT INTO aggregate (kind, key) VALUES (?1, ?2)")?
        .execute((kind_name(aggregate.kind), &aggregate.key))?;
    Ok(Row {
        id: db.last_insert_rowid(),
        revision: 0,
    })
}

/// SQLite's integers have a sign; no counter of ours comes near the end.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A counter that was stored with [`signed`].
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
