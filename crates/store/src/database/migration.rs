//! Numbered changes of the tables, applied once and in order.

use std::path::Path;

use groundplan_ports::error::{ErrorKind, PortError};
use rusqlite::{Connection, OptionalExtension};

use crate::failure::Failure;

/// `GPLN`: marks the file as a database of Groundplan.
const APPLICATION_ID: i32 = 0x4750_4c4e;

/// All changes; the position gives the number, from 1. Never edit one that was released.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/0001_journal.sql"),
    include_str!("../../migrations/0002_logs.sql"),
    include_str!("../../migrations/0003_secrets.sql"),
];

/// Brings the tables to this version's format. The caller has begun a transaction.
pub(super) fn migrate(connection: &Connection, database: &Path) -> Result<(), Failure> {
    let known = MIGRATIONS.len();
    let found = format(connection, database)?;
    if found > known {
        return Err(too_new(connection, database, found, known)?.into());
    }
    if found == known {
        return Ok(());
    }
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS migration (number INTEGER PRIMARY KEY, applied_by TEXT NOT NULL)",
    )?;
    for (position, sql) in MIGRATIONS.iter().enumerate().skip(found) {
        connection.execute_batch(sql)?;
        let number = i64::try_from(position + 1).expect("there are few migrations");
        connection.execute(
            "INSERT INTO migration (number, applied_by) VALUES (?1, ?2)",
            (number, env!("CARGO_PKG_VERSION")),
        )?;
    }
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    Ok(())
}

/// How many changes the file has; 0 for a new one.
fn format(connection: &Connection, database: &Path) -> Result<usize, Failure> {
    let application: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))?;
    if tables == 0 && application == 0 {
        return Ok(0);
    }
    if application != APPLICATION_ID {
        return Err(PortError::new(
            ErrorKind::Broken,
            format!(
                "`{}` is the database of another program",
                database.display()
            ),
        )
        .with_hint("move the file away, or give another data directory with `--data-dir`")
        .into());
    }
    let newest: Option<i64> =
        connection.query_row("SELECT max(number) FROM migration", (), |row| row.get(0))?;
    Ok(usize::try_from(newest.unwrap_or(0)).unwrap_or(0))
}

fn too_new(
    connection: &Connection,
    database: &Path,
    found: usize,
    known: usize,
) -> Result<PortError, Failure> {
    let by: Option<String> = connection
        .query_row(
            "SELECT applied_by FROM migration ORDER BY number DESC LIMIT 1",
            (),
            |row| row.get(0),
        )
        .optional()?;
    let by = by.unwrap_or_else(|| "unknown".to_owned());
    Ok(PortError::new(
        ErrorKind::Broken,
        format!(
            "the database `{}` has format {found} of groundplan {by}, and this is groundplan {}, \
             which knows formats up to {known}",
            database.display(),
            env!("CARGO_PKG_VERSION"),
        ),
    )
    .with_hint(format!(
        "use groundplan {by} or newer, or give another data directory with `--data-dir`"
    )))
}
