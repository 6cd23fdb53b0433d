//! The loop for one run.

mod gather;
mod recover;
mod steps;
mod turn;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use groundplan_engine::{
    action::{Action, StepRequest, StopReason},
    event::Event,
    id::{NodeId, RunId, StepId},
    node::RunPhase,
    report::{StepEnd, StepOutcome, StepReport},
    run::Run,
    time::Timestamp,
};
use groundplan_ports::store::{AggregateId, Committed, Lease, Owner, Revision, Settlement, Wanted};
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinHandle,
};

use crate::{
    controller::Controller,
    error::{Error, While},
    intake::aggregate_of,
    perform::{
        archive::archive,
        secrets::open_tokens,
        step::{Hold, News, follow},
    },
    settings::RunSettings,
    step_spec::{SecretSet, StepContext, step_spec},
};

/// What a person at the terminal may ask for while a run is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Stop gracefully.
    Stop,
    /// Kill every running step now.
    Kill,
    /// Leave the run alone; its steps go on.
    Detach,
}

/// How driving ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The run is over.
    Finished,
    /// The run goes on without this process.
    Detached,
}

/// What a watcher sees after each turn.
#[derive(Debug)]
pub struct TurnView<'a> {
    /// The run after the turn.
    pub run: &'a Run,
    /// What happened in it.
    pub events: &'a [Event],
    ready: &'a VecDeque<Ready>,
    accepted: &'a BTreeSet<StepId>,
    /// Time of the turn.
    pub at: Timestamp,
}

impl TurnView<'_> {
    /// Leaves that are ready and have no slot, in order.
    pub fn waiting_for_slot(&self) -> impl Iterator<Item = &NodeId> {
        self.ready.iter().map(|ready| &ready.request.step.node)
    }

    /// Steps that the runner has, and whose log can be followed.
    pub fn running(&self) -> impl Iterator<Item = &StepId> {
        self.accepted.iter()
    }
}

/// How often a lease is asked for before its holder is taken for a driver.
const ATTEMPTS: usize = 10;
/// Longest time between two of these.
const BETWEEN_ATTEMPTS: std::time::Duration = std::time::Duration::from_millis(100);

/// Somebody who looks on.
pub trait Watcher: Send {
    /// Called after each turn, once its events are committed.
    fn turn(&mut self, view: &TurnView<'_>);
}

/// Whether a driver may start steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Drives the run to its end.
    Drive,
    /// Records what ended and starts nothing.
    Record,
}

/// A leaf that is ready and has no slot yet.
#[derive(Debug)]
struct Ready {
    action: Committed,
    request: StepRequest,
}

/// One run under this process's lease.
struct Drive<'c> {
    controller: &'c Controller,
    mode: Mode,
    id: RunId,
    aggregate: AggregateId,
    lease: Lease,
    run: Run,
    revision: Revision,
    settings: RunSettings,
    secrets: Option<SecretSet>,
    wake_at: Option<Timestamp>,
    ready: VecDeque<Ready>,
    outstanding: BTreeMap<u64, Committed>,
    running: BTreeMap<StepId, JoinHandle<()>>,
    accepted: BTreeSet<StepId>,
    stopping: BTreeMap<StepId, (u64, StopReason)>,
    archiving: Vec<JoinHandle<Result<(), Error>>>,
    done: Vec<u64>,
    events_since_snapshot: usize,
    /// Events of the turn that taking the run up began with, until they are shown.
    recovered: Vec<Event>,
    news: UnboundedSender<News>,
    heard: UnboundedReceiver<News>,
}

impl Controller {
    /// Drives a run to its end, or until detached.
    ///
    /// # Errors
    /// [`Error::Driven`] where another living process has the lease; whatever the ports cannot do.
    pub async fn drive(
        &self,
        run: &RunId,
        mut controls: UnboundedReceiver<Control>,
        watcher: &mut dyn Watcher,
    ) -> Result<Ending, Error> {
        let mut drive = self.take_patiently(run).await?;
        let ending = drive.run_to_end(&mut controls, watcher).await;
        let let_go = drive.let_go().await;
        // What went wrong first says more.
        ending.and_then(|ending| let_go.map(|()| ending))
    }

    /// Takes a run up, past those who hold it for a moment to record what ended.
    async fn take_patiently(&self, run: &RunId) -> Result<Drive<'_>, Error> {
        for _ in 1..ATTEMPTS {
            match Drive::take(self, run, Mode::Drive).await {
                Err(Error::Driven { .. }) => {
                    let waited = self.ports.store.wait_for_hint(BETWEEN_ATTEMPTS).await;
                    waited.doing(|| format!("cannot wait for the lease of run `{run}`"))?;
                }
                taken => return taken,
            }
        }
        Drive::take(self, run, Mode::Drive).await
    }

    /// Records what ended of a run that nobody drives, and passes on a stop; starts nothing.
    /// A run that somebody drives is left alone.
    pub async fn record(&self, run: &RunId) -> Result<(), Error> {
        let mut drive = match Drive::take(self, run, Mode::Record).await {
            Ok(drive) => drive,
            Err(Error::Driven { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        let recorded = drive.record_once().await;
        drive.let_go().await?;
        recorded
    }
}

impl<'c> Drive<'c> {
    async fn take(controller: &'c Controller, id: &RunId, mode: Mode) -> Result<Self, Error> {
        let aggregate = aggregate_of(id);
        let lease = controller.take_lease(id, &aggregate).await?;
        let (news, heard) = unbounded_channel();
        let mut drive = Drive {
            controller,
            mode,
            id: id.clone(),
            aggregate,
            lease,
            run: Run::default(),
            revision: Revision(0),
            settings: RunSettings::default(),
            secrets: None,
            wake_at: None,
            ready: VecDeque::new(),
            outstanding: BTreeMap::new(),
            running: BTreeMap::new(),
            accepted: BTreeSet::new(),
            stopping: BTreeMap::new(),
            archiving: Vec::new(),
            done: Vec::new(),
            events_since_snapshot: 0,
            recovered: Vec::new(),
            news,
            heard,
        };
        drive.recover().await?;
        Ok(drive)
    }

    async fn run_to_end(
        &mut self,
        controls: &mut UnboundedReceiver<Control>,
        watcher: &mut dyn Watcher,
    ) -> Result<Ending, Error> {
        self.start_ready().await?;
        let recovered = std::mem::take(&mut self.recovered);
        self.show(&recovered, watcher);
        loop {
            self.start_ready().await?;
            if self.is_over() {
                self.finish().await?;
                return Ok(Ending::Finished);
            }
            match self.gather(controls).await? {
                gather::Gathered::Detach => return Ok(Ending::Detached),
                gather::Gathered::Nothing => {}
                gather::Gathered::Inputs(inputs) => {
                    let events = self.take_turn(inputs).await?;
                    self.start_ready().await?;
                    self.show(&events, watcher);
                }
            }
        }
    }

    fn is_over(&self) -> bool {
        self.run.phase().is_finished() && self.running.is_empty() && self.ready.is_empty()
    }

    fn show(&self, events: &[Event], watcher: &mut dyn Watcher) {
        watcher.turn(&TurnView {
            run: &self.run,
            events,
            ready: &self.ready,
            accepted: &self.accepted,
            at: self.controller.ports.clock.now(),
        });
    }

    /// Gives slots to what is ready, in order.
    async fn start_ready(&mut self) -> Result<(), Error> {
        while self.running.len() < self.controller.options.slots {
            let Some(ready) = self.ready.pop_front() else {
                return Ok(());
            };
            self.start(ready).await?;
        }
        Ok(())
    }

    async fn start(&mut self, Ready { action, request }: Ready) -> Result<(), Error> {
        self.ensure_secrets().await?;
        let secrets = self
            .secrets
            .as_mut()
            .expect("secrets were looked up just now");
        let text = serde_json::to_string(&request.template).expect("a template has a JSON form");
        open_tokens(
            self.controller.ports.secrets.as_ref(),
            &text,
            &mut secrets.sealed,
        )
        .await?;
        let created = self.run.created();
        let workflow = &created.expect("a run with a step was created").workflow;
        let context = StepContext {
            workflow: &workflow.spec,
            settings: &self.settings,
            secrets,
            now: self.controller.ports.clock.now(),
        };
        let step = request.step.clone();
        match step_spec(&request, &context) {
            Ok(spec) => {
                self.follow(step, Hold::Start(Box::new(spec), Some(action.id())));
            }
            Err(unspecifiable) => {
                self.done.push(action.id());
                self.report(
                    step,
                    unspecifiable.report(self.controller.ports.clock.now()),
                );
            }
        }
        Ok(())
    }

    fn follow(&mut self, step: StepId, hold: Hold) {
        let runner = self.controller.ports.runner.clone();
        let task = follow(runner, step.clone(), hold, self.news.clone());
        self.running.insert(step, task);
    }

    async fn ensure_secrets(&mut self) -> Result<(), Error> {
        if self.secrets.is_none() {
            self.secrets = Some(self.controller.secrets_of(&self.run).await?);
        }
        Ok(())
    }

    /// Performs what a turn asked for; starting waits for a slot, stopping for the runner to have
    /// the step.
    async fn perform(&mut self, committed: Vec<Committed>) -> Result<(), Error> {
        for action in committed {
            let id = action.id();
            self.outstanding.insert(id, action.clone());
            match self.controller.decode_action(&action).await? {
                // A start that is settled late must not run an ended step again.
                Action::StartStep(request) if !steps::is_live(&self.run, &request.step) => {
                    self.done.push(id);
                }
                Action::StartStep(request) => self.ready.push_back(Ready {
                    action,
                    request: *request,
                }),
                Action::StopStep { step, reason } => self.stop(id, step, reason).await?,
            }
        }
        Ok(())
    }

    async fn stop(&mut self, action: u64, step: StepId, reason: StopReason) -> Result<(), Error> {
        if let Some(place) = self
            .ready
            .iter()
            .position(|ready| ready.request.step == step)
        {
            let never_started = self
                .ready
                .remove(place)
                .expect("the place was found just now");
            self.done.extend([never_started.action.id(), action]);
            self.report(
                step,
                stopped_before_start(self.controller.ports.clock.now()),
            );
        } else if self.accepted.contains(&step) || self.mode == Mode::Record {
            self.stop_now(action, &step, reason).await?;
        } else {
            self.stopping.insert(step, (action, reason));
        }
        Ok(())
    }

    async fn stop_now(
        &mut self,
        action: u64,
        step: &StepId,
        reason: StopReason,
    ) -> Result<(), Error> {
        let runner = &self.controller.ports.runner;
        runner
            .stop(step, reason)
            .await
            .doing(|| format!("cannot stop `{step}`"))?;
        self.done.push(action);
        Ok(())
    }

    fn report(&self, step: StepId, report: StepReport) {
        let observed = News::Observed {
            step,
            report,
            sensitive: BTreeMap::new(),
        };
        self.news
            .send(observed)
            .expect("the loop holds the other end");
    }

    fn archive(&mut self, step: StepId) {
        let ports = self.controller.ports.clone();
        self.archiving
            .push(tokio::spawn(async move { archive(&ports, &step).await }));
    }

    async fn finish(&mut self) -> Result<(), Error> {
        for task in std::mem::take(&mut self.archiving) {
            task.await.expect("archiving does not panic")?;
        }
        if self.run.phase() == RunPhase::Succeeded && self.mode == Mode::Drive {
            let runner = &self.controller.ports.runner;
            runner
                .delete_claims(&self.id)
                .await
                .doing(|| format!("cannot delete the volumes of run `{}`", self.id))?;
        }
        Ok(())
    }

    /// Says what became of the last actions and gives the lease back.
    async fn let_go(&mut self) -> Result<(), Error> {
        for task in std::mem::take(&mut self.running).into_values() {
            task.abort();
        }
        let store = &self.controller.ports.store;
        for action in std::mem::take(&mut self.done) {
            if let Some(action) = self.outstanding.remove(&action) {
                store
                    .settle(&action, Settlement::Done)
                    .await
                    .doing(|| format!("cannot settle an action of run `{}`", self.id))?;
            }
        }
        store
            .release(&self.lease)
            .await
            .doing(|| format!("cannot give back the lease of run `{}`", self.id))
    }
}

/// What the engine hears of a leaf that was asked to stop before it had a slot.
fn stopped_before_start(at: Timestamp) -> StepReport {
    StepReport::Ended(StepEnd {
        at,
        outcome: StepOutcome::StartFailure {
            message: "stopped before it started".to_owned(),
        },
        asked_to_stop: true,
        exit_code: None,
        result: None,
        parameters: BTreeMap::new(),
    })
}

impl Controller {
    /// Who holds a lease of a run that has not run out; that process may have died since.
    pub async fn driver(&self, run: &RunId) -> Result<Option<Owner>, Error> {
        let lease = self
            .ports
            .store
            .lease(&aggregate_of(run))
            .await
            .doing(|| format!("cannot read the lease of run `{run}`"))?;
        let now = self.ports.clock.now();
        Ok(lease
            .filter(|lease| lease.until > now)
            .map(|lease| lease.owner))
    }

    async fn take_lease(&self, id: &RunId, aggregate: &AggregateId) -> Result<Lease, Error> {
        let store = &self.ports.store;
        let claimed = store
            .claim(
                &self.options.owner,
                Wanted::This(aggregate.clone()),
                self.ports.clock.now(),
                self.options.lease,
            )
            .await
            .doing(|| format!("cannot take the lease of run `{id}`"))?;
        if let Some(lease) = claimed.into_iter().next() {
            return Ok(lease);
        }
        let holder = store
            .lease(aggregate)
            .await
            .doing(|| format!("cannot read the lease of run `{id}`"))?;
        let (host, pid) = holder.map_or((String::new(), 0), |lease| {
            (lease.owner.host, lease.owner.pid)
        });
        Err(Error::Driven {
            run: id.clone(),
            host,
            pid,
        })
    }
}
