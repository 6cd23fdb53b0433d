//! One turn: decide, ask the lock space, commit all of it in one transaction, then perform.

use std::panic::{AssertUnwindSafe, catch_unwind};

use groundplan_engine::{
    action::Action,
    decide::{Decision, decide},
    event::Event,
    id::StepId,
    input::Input,
    report::StepReport,
    sync::{self, Holder, LockAnswer, LockEvent, LockRequest, LockSpace},
    time::Timestamp,
};
use groundplan_ports::store::{Change, Commit, Committed, Incoming, Projection, Revision, RunRow};

use crate::{
    codec,
    controller::Controller,
    error::{Error, While},
    intake::{Envelope, aggregate_of, lock_space},
    journal::{self, SNAPSHOT},
};

use super::{Drive, gather::Inputs};

/// Events after which a snapshot is written at the latest; it doubles with the run.
const SNAPSHOT_EVERY: usize = 1000;

/// Everything that one turn decided.
#[derive(Debug, Default)]
struct Decided {
    events: Vec<Event>,
    actions: Vec<Action>,
    locks: Option<DecidedLocks>,
    others: Vec<(Holder, LockAnswer)>,
    wake_at: Option<Timestamp>,
}

#[derive(Debug)]
struct DecidedLocks {
    space: LockSpace,
    revision: Revision,
    events: Vec<LockEvent>,
}

impl Drive<'_> {
    /// Takes a turn until it is committed: another process may have changed the lock space first.
    pub(super) async fn take_turn(&mut self, inputs: Inputs) -> Result<Vec<Event>, Error> {
        loop {
            let now = self.controller.ports.clock.now();
            let decided = self.decided(&inputs.inputs, now).await?;
            match self.commit(&decided, &inputs, now).await {
                Ok(committed) => {
                    self.after_commit(&decided, &inputs.inputs);
                    self.perform(committed).await?;
                    return Ok(decided.events);
                }
                Err(error) if error.is_conflict() => {
                    self.keep_or_lose_lease().await?;
                    self.reload().await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn decided(&mut self, inputs: &[Input], now: Timestamp) -> Result<Decided, Error> {
        let mut decided = Decided::default();
        let mut inputs = inputs.to_vec();
        loop {
            let Decision {
                events,
                actions,
                locks,
                wake_at,
                ..
            } = self.decide(&inputs, now)?;
            decided.events.extend(events);
            decided.actions.extend(actions);
            decided.wake_at = wake_at;
            if locks.is_empty() {
                return Ok(decided);
            }
            inputs = self.ask_for_locks(&locks, &mut decided).await?;
        }
    }

    fn decide(&mut self, inputs: &[Input], now: Timestamp) -> Result<Decision, Error> {
        let run = &mut self.run;
        catch_unwind(AssertUnwindSafe(|| decide(run, inputs, now))).map_err(|panic| {
            Error::Panicked {
                run: self.id.clone(),
                message: panic
                    .downcast_ref::<String>()
                    .cloned()
                    .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
                    .unwrap_or_default(),
            }
        })
    }

    /// The lock space's answers: those for this run are its next inputs.
    async fn ask_for_locks(
        &self,
        requests: &[LockRequest],
        decided: &mut Decided,
    ) -> Result<Vec<Input>, Error> {
        let locks = match &mut decided.locks {
            Some(locks) => locks,
            none @ None => {
                let (space, revision) = self.controller.load_lock_space().await?;
                none.insert(DecidedLocks {
                    space,
                    revision,
                    events: Vec::new(),
                })
            }
        };
        let answered = sync::decide(&mut locks.space, requests);
        locks.events.extend(answered.events);
        let (own, others): (Vec<_>, Vec<_>) = answered
            .answers
            .into_iter()
            .partition(|(holder, _)| holder.run == self.id);
        decided.others.extend(others);
        Ok(own
            .into_iter()
            .map(|(holder, answer)| Input::LocksAnswered { holder, answer })
            .collect())
    }

    async fn commit(
        &mut self,
        decided: &Decided,
        inputs: &Inputs,
        now: Timestamp,
    ) -> Result<Vec<Committed>, Error> {
        let mut changes = vec![self.own_change(decided).await?];
        if let Some(locks) = &decided.locks
            && !locks.events.is_empty()
        {
            changes.push(self.controller.lock_change(locks).await?);
        }
        let commit = Commit {
            changes,
            consumed: inputs.consumed.clone(),
            settled: self.done.clone(),
            deliveries: self.deliveries(decided).await?,
            projections: vec![Projection::Run(self.row())],
            at: now,
        };
        let store = &self.controller.ports.store;
        store
            .commit(commit)
            .await
            .doing(|| format!("cannot commit a turn of run `{}`", self.id))
    }

    async fn own_change(&self, decided: &Decided) -> Result<Change, Error> {
        let blobs = self.controller.ports.blobs.as_ref();
        let mut events = Vec::with_capacity(decided.events.len());
        for event in &decided.events {
            events.push(journal::record(event, blobs).await?);
        }
        let mut actions = Vec::with_capacity(decided.actions.len());
        for action in &decided.actions {
            actions.push(codec::encode(action, blobs).await?);
        }
        let snapshot = if self.wants_snapshot(decided.events.len()) {
            Some((SNAPSHOT, codec::encode(&self.run, blobs).await?))
        } else {
            None
        };
        Ok(Change {
            aggregate: self.aggregate.clone(),
            expected: self.revision,
            lease: Some(self.lease.clone()),
            events,
            actions,
            snapshot,
            timer: decided.wake_at,
        })
    }

    fn wants_snapshot(&self, more: usize) -> bool {
        let known = usize::try_from(self.revision.0).unwrap_or(usize::MAX);
        self.events_since_snapshot + more >= SNAPSHOT_EVERY.max(known / 2)
    }

    async fn deliveries(&self, decided: &Decided) -> Result<Vec<Incoming>, Error> {
        let Some(locks) = &decided.locks else {
            return Ok(Vec::new());
        };
        let mut deliveries = Vec::new();
        for (place, (holder, answer)) in decided.others.iter().enumerate() {
            let input = Input::LocksAnswered {
                holder: holder.clone(),
                answer: answer.clone(),
            };
            deliveries.push(Incoming {
                aggregate: aggregate_of(&holder.run),
                delivery: format!("locks-{}-{place}", locks.revision.0),
                body: codec::encode(
                    &Envelope::Input(Box::new(input)),
                    self.controller.ports.blobs.as_ref(),
                )
                .await?,
            });
        }
        Ok(deliveries)
    }

    fn after_commit(&mut self, decided: &Decided, inputs: &[Input]) {
        for action in std::mem::take(&mut self.done) {
            self.outstanding.remove(&action);
        }
        if self.wants_snapshot(decided.events.len()) {
            self.events_since_snapshot = 0;
        } else {
            self.events_since_snapshot += decided.events.len();
        }
        self.revision = Revision(self.revision.0 + decided.events.len() as u64);
        self.wake_at = decided.wake_at;
        for step in ended(inputs) {
            self.running.remove(step);
            self.accepted.remove(step);
            self.archive(step.clone());
        }
    }

    fn row(&self) -> RunRow {
        let run = &self.run;
        RunRow {
            run: self.id.clone(),
            name: run.name().to_owned(),
            namespace: run.namespace().to_owned(),
            phase: run.phase().as_str().to_owned(),
            message: run.message().to_owned(),
            created_at: run.created().map(|new| new.created_at).unwrap_or_default(),
            started_at: run.started_at(),
            finished_at: run.finished_at(),
            settings: serde_json::to_vec(&self.settings).expect("settings have a JSON form"),
        }
    }

    async fn reload(&mut self) -> Result<(), Error> {
        let loaded = self.controller.load_run(&self.id).await?;
        self.run = loaded.run;
        self.revision = loaded.revision;
        Ok(())
    }

    async fn keep_or_lose_lease(&mut self) -> Result<(), Error> {
        let until = self.lease.until;
        let renewed = self.controller.ports.store.renew(&self.lease, until).await;
        self.lease = renewed.doing(|| format!("cannot renew the lease of run `{}`", self.id))?;
        Ok(())
    }
}

fn ended(inputs: &[Input]) -> impl Iterator<Item = &StepId> {
    inputs.iter().filter_map(|input| match input {
        Input::StepReported {
            step,
            report: StepReport::Ended(_),
        } => Some(step),
        Input::StepReported {
            report: StepReport::Started { .. },
            ..
        }
        | Input::Create(_)
        | Input::LocksAnswered { .. }
        | Input::Stop
        | Input::Tick => None,
    })
}

impl Controller {
    async fn lock_change(&self, locks: &DecidedLocks) -> Result<Change, Error> {
        let blobs = self.ports.blobs.as_ref();
        let mut events = Vec::with_capacity(locks.events.len());
        for event in &locks.events {
            events.push(journal::record(event, blobs).await?);
        }
        Ok(Change {
            aggregate: lock_space(),
            expected: locks.revision,
            lease: None,
            events,
            actions: Vec::new(),
            snapshot: Some((SNAPSHOT, codec::encode(&locks.space, blobs).await?)),
            timer: None,
        })
    }

    pub(super) async fn decode_action(&self, action: &Committed) -> Result<Action, Error> {
        codec::decode(
            action.body(),
            self.ports.blobs.as_ref(),
            "action",
            &action.aggregate().key,
        )
        .await
    }
}

impl journal::Recorded for Event {
    fn recorded_kind(&self) -> &'static str {
        self.kind()
    }

    fn recorded_version(&self) -> u16 {
        self.version()
    }

    const NEWEST_VERSION: u16 = Event::NEWEST_VERSION;
}

impl journal::Recorded for LockEvent {
    fn recorded_kind(&self) -> &'static str {
        self.kind()
    }

    fn recorded_version(&self) -> u16 {
        self.version()
    }

    const NEWEST_VERSION: u16 = LockEvent::NEWEST_VERSION;
}
