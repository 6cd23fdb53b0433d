//! Who may drive what.

use std::time::Duration;

use groundplan_engine::time::Timestamp;
use groundplan_ports::{
    error::{ErrorKind, PortError},
    store::{AggregateId, AggregateKind, Lease, Owner, Wanted},
};
use rusqlite::{Connection, OptionalExtension, Row};

use super::{
    aggregate::{find, find_or_make, signed, unsigned},
    commit::conflict,
};
use crate::{
    failure::Failure,
    owner::{Liveness, liveness},
};

/// A lease's row: its generation, and who holds it until when.
struct Held {
    generation: i64,
    owner: Option<(Owner, Timestamp)>,
}

pub(super) fn claim(
    db: &Connection,
    owner: &Owner,
    wanted: Wanted,
    now: Timestamp,
    length: Duration,
) -> Result<Vec<Lease>, Failure> {
    let (candidates, limit) = match wanted {
        Wanted::This(id) if id.kind == AggregateKind::LockSpace => {
            return Err(PortError::new(
                ErrorKind::Invalid,
                format!("the lock space `{}` has no lease", id.key),
            )
            .into());
        }
        Wanted::This(id) => (vec![(find_or_make(db, &id)?.id, id)], 1),
        Wanted::Any(limit) => (with_work(db, now)?, limit),
    };
    let until = now.plus_millis(i64::try_from(length.as_millis()).unwrap_or(i64::MAX));
    let mut leases = Vec::new();
    for (row, aggregate) in candidates {
        if leases.len() == limit {
            break;
        }
        let Some(generation) = next_generation(db, row, owner, now)? else {
            continue;
        };
        let lease = Lease {
            aggregate,
            owner: owner.clone(),
            generation: unsigned(generation),
            until,
        };
        put(db, row, &lease)?;
        leases.push(lease);
    }
    Ok(leases)
}

/// The generation a claim would have: the caller's own, or the next where nobody live holds it.
fn next_generation(
    db: &Connection,
    aggregate: i64,
    caller: &Owner,
    now: Timestamp,
) -> Result<Option<i64>, Failure> {
    let Some(held) = select(db, aggregate)? else {
        return Ok(Some(1));
    };
    Ok(match held.owner {
        Some((owner, _)) if owner == *caller => Some(held.generation),
        Some((owner, until)) if until > now && liveness(&owner) != Liveness::Dead => None,
        _ => Some(held.generation + 1),
    })
}

/// Runs with waiting input, a due timer or an action to perform; what was driven longest ago first.
fn with_work(db: &Connection, now: Timestamp) -> Result<Vec<(i64, AggregateId)>, Failure> {
    let mut select = db.prepare_cached(
        "SELECT aggregate.id, aggregate.key FROM aggregate
         LEFT JOIN lease ON lease.aggregate = aggregate.id
         WHERE aggregate.kind = 'run' AND aggregate.id IN (
             SELECT aggregate FROM input WHERE consumed = 0
             UNION SELECT id FROM aggregate WHERE timer IS NOT NULL AND timer <= ?1
             UNION SELECT aggregate FROM action WHERE not_before <= ?1)
         ORDER BY lease.until NULLS FIRST, aggregate.key",
    )?;
    let rows = select.query_map([now.0], |row| {
        let id = AggregateId {
            kind: AggregateKind::Run,
            key: row.get(1)?,
        };
        Ok((row.get(0)?, id))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn held(db: &Connection, aggregate: &AggregateId) -> Result<Option<Lease>, Failure> {
    let Some(row) = find(db, aggregate)? else {
        return Ok(None);
    };
    let Some(held) = select(db, row.id)? else {
        return Ok(None);
    };
    Ok(held.owner.map(|(owner, until)| Lease {
        aggregate: aggregate.clone(),
        owner,
        generation: unsigned(held.generation),
        until,
    }))
}

pub(super) fn renew(db: &Connection, mut lease: Lease, until: Timestamp) -> Result<Lease, Failure> {
    let row = find_or_make(db, &lease.aggregate)?.id;
    check(db, row, &lease)?;
    lease.until = until;
    put(db, row, &lease)?;
    Ok(lease)
}

pub(super) fn release(db: &Connection, lease: &Lease) -> Result<(), Failure> {
    let Some(row) = find(db, &lease.aggregate)? else {
        return Ok(());
    };
    db.prepare_cached(
        "UPDATE lease SET host = NULL, boot_id = NULL, pid = NULL, start_time = NULL, until = NULL
         WHERE aggregate = ?1 AND generation = ?2 AND host IS NOT NULL",
    )?
    .execute((row.id, signed(lease.generation)))?;
    Ok(())
}

/// *Conflict* unless this lease is the newest of its aggregate and was not given back.
pub(super) fn check(db: &Connection, aggregate: i64, lease: &Lease) -> Result<(), Failure> {
    let newest = select(db, aggregate)?
        .is_some_and(|held| held.generation == signed(lease.generation) && held.owner.is_some());
    if newest {
        return Ok(());
    }
    Err(conflict(format!(
        "lease {} of `{}` is no longer valid",
        lease.generation, lease.aggregate.key
    ))
    .into())
}

fn select(db: &Connection, aggregate: i64) -> Result<Option<Held>, Failure> {
    let mut select = db.prepare_cached(
        "SELECT generation, host, boot_id, pid, start_time, until FROM lease WHERE aggregate = ?1",
    )?;
    Ok(select.query_row([aggregate], read).optional()?)
}

fn read(row: &Row<'_>) -> Result<Held, rusqlite::Error> {
    let generation = row.get(0)?;
    let Some(host) = row.get(1)? else {
        return Ok(Held {
            generation,
            owner: None,
        });
    };
    let owner = Owner {
        host,
        boot_id: row.get(2)?,
        pid: row.get(3)?,
        start_time: unsigned(row.get(4)?),
    };
    Ok(Held {
        generation,
        owner: Some((owner, Timestamp(row.get(5)?))),
    })
}

fn put(db: &Connection, aggregate: i64, lease: &Lease) -> Result<(), Failure> {
    db.prepare_cached(
        "INSERT OR REPLACE INTO lease
             (aggregate, generation, host, boot_id, pid, start_time, until)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute((
        aggregate,
        signed(lease.generation),
        &lease.owner.host,
        &lease.owner.boot_id,
        lease.owner.pid,
        signed(lease.owner.start_time),
        lease.until.0,
    ))?;
    Ok(())
}
