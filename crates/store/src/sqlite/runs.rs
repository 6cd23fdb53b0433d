//! The rows that lists show of runs.

use groundplan_engine::{id::RunId, time::Timestamp};
use groundplan_ports::{
    error::{ErrorKind, PortError},
    store::RunRow,
};
use rusqlite::{Connection, OptionalExtension, Params, Row};

use crate::failure::Failure;

/// How many candidates an ambiguous name is answered with.
const CANDIDATES: usize = 5;

/// What a run's id or name must begin with.
const BEGINS: &str = "(substr(run, 1, length(?1)) = ?1 OR substr(name, 1, length(?1)) = ?1)";

pub(super) fn put(db: &Connection, row: &RunRow) -> Result<(), Failure> {
    db.prepare_cached(
        "INSERT OR REPLACE INTO run (run, name, namespace, phase, message, created_at, started_at,
             finished_at, settings)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute((
        &row.run.0,
        &row.name,
        &row.namespace,
        &row.phase,
        &row.message,
        row.created_at.0,
        row.started_at.map(|at| at.0),
        row.finished_at.map(|at| at.0),
        &row.settings,
    ))?;
    Ok(())
}

pub(super) fn newest(db: &Connection, limit: usize) -> Result<Vec<RunRow>, Failure> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut select = db.prepare_cached(&select("TRUE", "?1"))?;
    let rows = select.query_map([limit], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn find(db: &Connection, name: &str) -> Result<RunRow, Failure> {
    for condition in ["run = ?1", "name = ?1"] {
        if let Some(row) = first(db, condition, [name])? {
            return Ok(row);
        }
    }
    let mut names = Vec::new();
    if !name.is_empty() {
        let sql = format!("SELECT DISTINCT name FROM run WHERE {BEGINS} ORDER BY name");
        let mut select = db.prepare_cached(&sql)?;
        let rows = select.query_map([name], |row| row.get::<_, String>(0))?;
        for row in rows.take(CANDIDATES + 1) {
            names.push(row?);
        }
    }
    match (names.len(), first(db, BEGINS, [name])?) {
        (1, Some(row)) => Ok(row),
        (0 | 1, _) => Err(
            PortError::new(ErrorKind::NotFound, format!("there is no run `{name}`"))
                .with_hint("`groundplan runs` lists the runs of this data directory")
                .into(),
        ),
        _ => Err(ambiguous(name, &names).into()),
    }
}

fn ambiguous(name: &str, names: &[String]) -> PortError {
    let more = if names.len() > CANDIDATES {
        ", and more"
    } else {
        ""
    };
    let shown: Vec<_> = names
        .iter()
        .take(CANDIDATES)
        .map(|name| format!("`{name}`"))
        .collect();
    PortError::new(
        ErrorKind::Invalid,
        format!(
            "the names of several runs begin with `{name}`: {}{more}",
            shown.join(", ")
        ),
    )
    .with_hint("give more of the name, or the run's id")
}

fn first(db: &Connection, condition: &str, params: impl Params) -> Result<Option<RunRow>, Failure> {
    let mut select = db.prepare_cached(&select(condition, "1"))?;
    Ok(select.query_row(params, read).optional()?)
}

fn select(condition: &str, limit: &str) -> String {
    format!(
        "SELECT run, name, namespace, phase, message, created_at, started_at, finished_at, settings
         FROM run WHERE {condition} ORDER BY created_at DESC, run DESC LIMIT {limit}"
    )
}

fn read(row: &Row<'_>) -> Result<RunRow, rusqlite::Error> {
    Ok(RunRow {
        run: RunId(row.get(0)?),
        name: row.get(1)?,
        namespace: row.get(2)?,
        phase: row.get(3)?,
        message: row.get(4)?,
        created_at: Timestamp(row.get(5)?),
        started_at: row.get::<_, Option<i64>>(6)?.map(Timestamp),
        finished_at: row.get::<_, Option<i64>>(7)?.map(Timestamp),
        settings: row.get(8)?,
    })
}
