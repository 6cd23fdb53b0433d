//! The journal itself, shared by every handle: plain maps, and the rules of the contract.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use groundplan_engine::{id::RunId, time::Timestamp};
use groundplan_ports::{
    error::{ErrorKind, PortError, PortResult},
    store::{
        AggregateId, AggregateKind, Change, Commit, Committed, EventRecord, Incoming, InputId,
        Lease, Loaded, Owner, Projection, Receipt, Revision, RunRow, Settlement, Snapshot,
        StoredInput, Wanted,
    },
};

/// Everything the simulated database holds.
#[derive(Debug, Default)]
pub(super) struct Journal {
    aggregates: BTreeMap<AggregateId, Aggregate>,
    runs: BTreeMap<RunId, RunRow>,
    dead: Vec<Owner>,
    last_input: u64,
    last_action: u64,
}

#[derive(Debug, Default)]
struct Aggregate {
    events: Vec<EventRecord>,
    snapshot: Option<Snapshot>,
    deliveries: BTreeSet<String>,
    inputs: BTreeMap<u64, Vec<u8>>,
    actions: BTreeMap<u64, (Vec<u8>, Timestamp)>,
    timer: Option<Timestamp>,
    generation: u64,
    lease: Option<Lease>,
}

impl Aggregate {
    fn revision(&self) -> Revision {
        Revision(self.events.len() as u64)
    }

    fn has_work(&self, now: Timestamp) -> bool {
        !self.inputs.is_empty()
            || self.timer.is_some_and(|due| due <= now)
            || self.actions.values().any(|(_, due)| *due <= now)
    }
}

impl Journal {
    pub(super) fn declare_dead(&mut self, owner: Owner) {
        self.dead.push(owner);
    }

    pub(super) fn receive(&mut self, incoming: Incoming) -> Receipt {
        let aggregate = self.aggregates.entry(incoming.aggregate).or_default();
        if !aggregate.deliveries.insert(incoming.delivery) {
            return Receipt::Duplicate;
        }
        self.last_input += 1;
        aggregate.inputs.insert(self.last_input, incoming.body);
        Receipt::Stored
    }

    pub(super) fn claim(
        &mut self,
        owner: &Owner,
        wanted: Wanted,
        now: Timestamp,
        length: Duration,
    ) -> PortResult<Vec<Lease>> {
        let (ids, limit) = match wanted {
            Wanted::This(id) if id.kind == AggregateKind::LockSpace => {
                return Err(PortError::new(
                    ErrorKind::Invalid,
                    format!("the lock space `{}` has no lease", id.key),
                ));
            }
            Wanted::This(id) => (vec![id], 1),
            Wanted::Any(limit) => (self.with_work(now), limit),
        };
        let until = now.plus_millis(i64::try_from(length.as_millis()).unwrap_or(i64::MAX));
        let mut leases = Vec::new();
        for id in ids {
            if leases.len() == limit {
                break;
            }
            let aggregate = self.aggregates.entry(id.clone()).or_default();
            let held = aggregate.lease.as_ref();
            match held {
                Some(lease) if lease.owner == *owner => {}
                Some(lease) if lease.until > now && !self.dead.contains(&lease.owner) => continue,
                _ => aggregate.generation += 1,
            }
            let lease = Lease {
                aggregate: id,
                owner: owner.clone(),
                generation: aggregate.generation,
                until,
            };
            aggregate.lease = Some(lease.clone());
            leases.push(lease);
        }
        Ok(leases)
    }

    /// Runs with work, those first that nobody drove for longest.
    fn with_work(&self, now: Timestamp) -> Vec<AggregateId> {
        let mut found: Vec<_> = self
            .aggregates
            .iter()
            .filter(|(id, aggregate)| id.kind == AggregateKind::Run && aggregate.has_work(now))
            .map(|(id, aggregate)| {
                (
                    aggregate.lease.as_ref().map(|lease| lease.until),
                    id.clone(),
                )
            })
            .collect();
        found.sort();
        found.into_iter().map(|(_, id)| id).collect()
    }

    pub(super) fn lease(&self, id: &AggregateId) -> Option<Lease> {
        self.aggregates.get(id)?.lease.clone()
    }

    pub(super) fn renew(&mut self, lease: &Lease, until: Timestamp) -> PortResult<Lease> {
        self.check_lease(lease)?;
        let held = self
            .aggregates
            .get_mut(&lease.aggregate)
            .and_then(|aggregate| aggregate.lease.as_mut())
            .expect("a checked lease is held");
        held.until = until;
        Ok(held.clone())
    }

    pub(super) fn release(&mut self, lease: &Lease) {
        if self.check_lease(lease).is_ok()
            && let Some(aggregate) = self.aggregates.get_mut(&lease.aggregate)
        {
            aggregate.lease = None;
        }
    }

    fn check_lease(&self, lease: &Lease) -> PortResult<()> {
        let held = self.lease(&lease.aggregate);
        if held.is_some_and(|held| held.generation == lease.generation) {
            return Ok(());
        }
        Err(PortError::new(
            ErrorKind::Conflict,
            format!(
                "lease {} of `{}` is no longer valid",
                lease.generation, lease.aggregate.key
            ),
        ))
    }

    pub(super) fn load(&self, id: &AggregateId) -> Loaded {
        let Some(aggregate) = self.aggregates.get(id) else {
            return Loaded::default();
        };
        let folded = aggregate
            .snapshot
            .as_ref()
            .map_or(Revision(0), |snapshot| snapshot.revision);
        Loaded {
            revision: aggregate.revision(),
            snapshot: aggregate.snapshot.clone(),
            events: self.events(id, folded),
            inputs: self.waiting_inputs(id),
            actions: aggregate
                .actions
                .iter()
                .map(|(number, (body, due))| {
                    Committed::by_store(*number, id.clone(), body.clone(), *due)
                })
                .collect(),
            timer: aggregate.timer,
        }
    }

    pub(super) fn events(&self, id: &AggregateId, after: Revision) -> Vec<EventRecord> {
        let skip = usize::try_from(after.0).unwrap_or(usize::MAX);
        self.aggregates.get(id).map_or_else(Vec::new, |aggregate| {
            aggregate.events.iter().skip(skip).cloned().collect()
        })
    }

    pub(super) fn waiting_inputs(&self, id: &AggregateId) -> Vec<StoredInput> {
        let inputs = self.aggregates.get(id).map(|aggregate| &aggregate.inputs);
        inputs
            .into_iter()
            .flatten()
            .map(|(number, body)| StoredInput {
                id: InputId(*number),
                body: body.clone(),
            })
            .collect()
    }

    pub(super) fn commit(&mut self, commit: Commit) -> PortResult<Vec<Committed>> {
        self.check(&commit)?;
        for id in &commit.consumed {
            for aggregate in self.aggregates.values_mut() {
                aggregate.inputs.remove(&id.0);
            }
        }
        for change in &commit.changes {
            let aggregate = self.aggregates.entry(change.aggregate.clone()).or_default();
            for id in &commit.settled {
                aggregate.actions.remove(id);
            }
        }
        let mut committed = Vec::new();
        for change in commit.changes {
            self.apply(change, &mut committed);
        }
        for incoming in commit.deliveries {
            self.receive(incoming);
        }
        for Projection::Run(row) in commit.projections {
            self.runs.insert(row.run.clone(), row);
        }
        Ok(committed)
    }

    fn check(&self, commit: &Commit) -> PortResult<()> {
        let mut revisions = BTreeMap::new();
        for change in &commit.changes {
            let id = &change.aggregate;
            let revision = revisions.entry(id).or_insert_with(|| {
                self.aggregates
                    .get(id)
                    .map_or(Revision(0), Aggregate::revision)
            });
            if *revision != change.expected {
                return Err(PortError::new(
                    ErrorKind::Conflict,
                    format!(
                        "`{}` is at revision {}, not {}",
                        id.key, revision.0, change.expected.0
                    ),
                ));
            }
            revision.0 += change.events.len() as u64;
            match (&change.lease, id.kind) {
                (Some(lease), _) => self.check_lease(lease)?,
                (None, AggregateKind::LockSpace) => {}
                (None, AggregateKind::Run) => {
                    return Err(PortError::new(
                        ErrorKind::Invalid,
                        format!("a turn of `{}` has no lease", id.key),
                    ));
                }
            }
        }
        for id in &commit.consumed {
            let waits = |aggregate: &Aggregate| aggregate.inputs.contains_key(&id.0);
            if !self.aggregates.values().any(waits) {
                return Err(PortError::new(
                    ErrorKind::Conflict,
                    format!("input {} was consumed by another turn", id.0),
                ));
            }
        }
        Ok(())
    }

    fn apply(&mut self, change: Change, committed: &mut Vec<Committed>) {
        let id = change.aggregate;
        let aggregate = self.aggregates.entry(id.clone()).or_default();
        aggregate.events.extend(change.events);
        if let Some((version, body)) = change.snapshot {
            aggregate.snapshot = Some(Snapshot {
                revision: aggregate.revision(),
                version,
                body,
            });
        }
        aggregate.timer = change.timer;
        for body in change.actions {
            self.last_action += 1;
            let number = self.last_action;
            aggregate
                .actions
                .insert(number, (body.clone(), Timestamp(0)));
            committed.push(Committed::by_store(number, id.clone(), body, Timestamp(0)));
        }
    }

    pub(super) fn settle(&mut self, action: &Committed, settlement: Settlement) {
        let Some(aggregate) = self.aggregates.get_mut(action.aggregate()) else {
            return;
        };
        match settlement {
            Settlement::Done => {
                aggregate.actions.remove(&action.id());
            }
            Settlement::RetryAt(at) => {
                if let Some((_, due)) = aggregate.actions.get_mut(&action.id()) {
                    *due = at;
                }
            }
        }
    }

    pub(super) fn runs(&self, limit: usize) -> Vec<RunRow> {
        let mut rows: Vec<_> = self.runs.values().cloned().collect();
        rows.sort_by(|a, b| (b.created_at, &b.run).cmp(&(a.created_at, &a.run)));
        rows.truncate(limit);
        rows
    }

    pub(super) fn find_run(&self, name: &str) -> PortResult<RunRow> {
        let newest_first = self.runs(usize::MAX);
        let exact = newest_first
            .iter()
            .find(|row| row.run.0 == name)
            .or_else(|| newest_first.iter().find(|row| row.name == name));
        if let Some(row) = exact {
            return Ok(row.clone());
        }
        let mut names = BTreeMap::new();
        for row in newest_first {
            let begins = row.run.0.starts_with(name) || row.name.starts_with(name);
            if !name.is_empty() && begins {
                names.entry(row.name.clone()).or_insert(row);
            }
        }
        let candidates = names.keys().cloned().collect::<Vec<_>>().join("`, `");
        match names.len() {
            0 => Err(PortError::new(
                ErrorKind::NotFound,
                format!("there is no run `{name}`"),
            )),
            1 => Ok(names
                .into_values()
                .next()
                .expect("there is exactly one candidate")),
            _ => Err(PortError::new(
                ErrorKind::Invalid,
                format!("`{name}` may be `{candidates}`"),
            )),
        }
    }
}
