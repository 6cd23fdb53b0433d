//! What the database knows of closed logs.

use groundplan_engine::id::{NodeId, RunId, StepId};
use groundplan_ports::{blobs::Digest, logs::LogRecord};
use rusqlite::{Connection, OptionalExtension, Row};

use super::appender::Appended;
use crate::{
    failure::Failure,
    sqlite::{signed, unsigned},
};

/// A closed log and where it lies.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Its row; ascending in the order of closing.
    pub(super) log: i64,
    /// The number of its chunk.
    pub(super) chunk: u64,
    pub(super) record: LogRecord,
}

/// A compressed piece of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Offset of its first byte within the log.
    pub(super) offset: u64,
    /// Where it lies within the chunk.
    pub(super) position: u64,
    /// Its compressed size.
    pub(super) size: u64,
    /// Digest of its compressed bytes.
    pub(super) checksum: String,
}

const COLUMNS: &str = "SELECT id, chunk, run, node, execution, length, digest FROM log";

pub(super) fn find(db: &Connection, step: &StepId) -> Result<Option<Place>, Failure> {
    let sql = format!("{COLUMNS} WHERE run = ?1 AND node = ?2 AND execution = ?3");
    let mut select = db.prepare_cached(&sql)?;
    let key = (&step.run.0, &step.node.0, step.execution);
    Ok(select.query_row(key, place).optional()?)
}

/// The log that was closed next after this row.
pub(super) fn next(db: &Connection, after: i64) -> Result<Option<Place>, Failure> {
    let sql = format!("{COLUMNS} WHERE id > ?1 ORDER BY id LIMIT 1");
    let mut select = db.prepare_cached(&sql)?;
    Ok(select.query_row([after], place).optional()?)
}

fn place(row: &Row<'_>) -> Result<Place, rusqlite::Error> {
    Ok(Place {
        log: row.get(0)?,
        chunk: unsigned(row.get(1)?),
        record: LogRecord {
            step: StepId {
                run: RunId(row.get(2)?),
                node: NodeId(row.get(3)?),
                execution: row.get(4)?,
            },
            length: unsigned(row.get(5)?),
            digest: Digest(row.get(6)?),
        },
    })
}

/// The pieces of a log in order.
pub(super) fn pieces(db: &Connection, log: i64) -> Result<Vec<Piece>, Failure> {
    let mut select = db.prepare_cached(
        "SELECT offset, position, size, checksum FROM log_piece WHERE log = ?1 ORDER BY offset",
    )?;
    let rows = select.query_map([log], |row| {
        Ok(Piece {
            offset: unsigned(row.get(0)?),
            position: unsigned(row.get(1)?),
            size: unsigned(row.get(2)?),
            checksum: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Where the last piece of a chunk ends; 0 where it has none.
pub(super) fn end_of_chunk(db: &Connection, chunk: u64) -> Result<u64, Failure> {
    let end: Option<i64> = db
        .prepare_cached(
            "SELECT max(position + size) FROM log_piece JOIN log ON log.id = log_piece.log
             WHERE log.chunk = ?1",
        )?
        .query_row([signed(chunk)], |row| row.get(0))?;
    Ok(unsigned(end.unwrap_or(0)))
}

/// Takes a log into the index. Where the step has one already, that one stays and is answered.
pub(super) fn insert(
    db: &Connection,
    step: &StepId,
    appended: &Appended,
) -> Result<LogRecord, Failure> {
    if let Some(place) = find(db, step)? {
        return Ok(place.record);
    }
    db.prepare_cached(
        "INSERT INTO log (run, node, execution, length, digest, chunk)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((
        &step.run.0,
        &step.node.0,
        step.execution,
        signed(appended.length()),
        appended.digest(),
        signed(appended.chunk()),
    ))?;
    let log = db.last_insert_rowid();
    for piece in appended.pieces() {
        db.prepare_cached(
            "INSERT INTO log_piece (log, offset, position, size, checksum)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute((
            log,
            signed(piece.offset),
            signed(piece.position),
            signed(piece.size),
            &piece.checksum,
        ))?;
    }
    Ok(LogRecord {
        step: step.clone(),
        length: appended.length(),
        digest: Digest(appended.digest().to_owned()),
    })
}

/// Forgets a log; whether it was still there.
pub(super) fn delete(db: &Connection, log: i64) -> Result<bool, Failure> {
    db.prepare_cached("DELETE FROM log_piece WHERE log = ?1")?
        .execute([log])?;
    let deleted = db
        .prepare_cached("DELETE FROM log WHERE id = ?1")?
        .execute([log])?;
    Ok(deleted == 1)
}
