//! Runs, the lock space between them, and a clock that jumps from one happening to the next.

use std::collections::{BTreeMap, BTreeSet};

use groundplan_engine::{
    action::{Action, StepRequest},
    decide::{Decision, Refusal, decide},
    event::Event,
    evolve::replay,
    id::{RunId, StepId},
    input::{Input, NewRun},
    report::{StepOutcome, StepReport},
    run::Run,
    sync::{self, LockEvent, LockRequest, LockSpace},
    time::Timestamp,
};
use groundplan_workflow::resolve::ResolvedWorkflow;

use super::{Outcome, Script, line_of_action, line_of_event, resolved};

/// One run, and what is around it.
#[derive(Debug, Default)]
pub struct Actor {
    /// The run.
    pub run: Run,
    /// Every event of it.
    pub journal: Vec<Event>,
    /// Every step it started, in order.
    pub started: Vec<StepRequest>,
    /// Every input that it refused.
    pub refused: Vec<Refusal>,
    /// Nodes looked at so far.
    pub visits: u64,
    mail: Vec<Input>,
    wake_at: Option<Timestamp>,
    live: BTreeMap<StepId, Live>,
}

#[derive(Debug)]
struct Live {
    request: StepRequest,
    outcome: Outcome,
    seen_at: Option<Timestamp>,
    ends_at: Option<Timestamp>,
    times_out_at: Option<Timestamp>,
    asked_to_stop: bool,
}

/// Runs and the lock space they share, on a virtual clock that begins with the year 2000.
#[derive(Debug)]
pub struct World {
    /// What the clock shows.
    pub now: Timestamp,
    /// The locks.
    pub space: LockSpace,
    /// Every event of the lock space.
    pub lock_journal: Vec<LockEvent>,
    /// The runs by id.
    pub actors: BTreeMap<RunId, Actor>,
    lines: Vec<String>,
}

const BEGINNING: Timestamp = Timestamp(946_684_800_000);

impl Default for World {
    fn default() -> Self {
        World {
            now: BEGINNING,
            space: LockSpace::default(),
            lock_journal: Vec::new(),
            actors: BTreeMap::new(),
            lines: Vec::new(),
        }
    }
}

impl World {
    /// A world with one run of a document, which has not had its first turn.
    pub fn of(yaml: &str) -> (World, RunId) {
        let mut world = World::default();
        let run = world.create(yaml);
        (world, run)
    }

    /// Adds a run of a document.
    pub fn create(&mut self, yaml: &str) -> RunId {
        self.create_resolved(resolved(yaml))
    }

    /// Adds a run of a workflow. Its id is the workflow's name.
    pub fn create_resolved(&mut self, workflow: ResolvedWorkflow) -> RunId {
        let id = RunId(workflow.metadata.name.clone());
        let new = NewRun {
            id: id.clone(),
            uid: format!("uid-{id}"),
            created_at: self.now,
            seed: 7,
            workflow,
        };
        self.tell(&id, Input::Create(Box::new(new)));
        id
    }

    /// Something happens to a run; it sees it in its next turn.
    pub fn tell(&mut self, run: &RunId, input: Input) {
        self.actors.entry(run.clone()).or_default().mail.push(input);
    }

    /// A run.
    pub fn run(&self, id: &RunId) -> &Run {
        &self.actors.get(id).expect("a run that was created").run
    }

    /// Everything around a run.
    pub fn actor(&self, id: &RunId) -> &Actor {
        self.actors.get(id).expect("a run that was created")
    }

    /// One turn of a run over everything it was told.
    pub fn turn(&mut self, id: &RunId, script: &mut dyn Script) -> Decision {
        let actor = self.actors.get_mut(id).expect("a run that was created");
        let inputs = std::mem::take(&mut actor.mail);
        for input in &inputs {
            self.lines.push(line_of_input(input, self.now));
        }
        let decision = decide(&mut actor.run, &inputs, self.now);
        self.take(id, &decision, script);
        decision
    }

    fn take(&mut self, id: &RunId, decision: &Decision, script: &mut dyn Script) {
        let actor = self.actors.get_mut(id).expect("a run that was created");
        let lines = &mut self.lines;
        lines.extend(
            decision
                .refused
                .iter()
                .map(|refusal| format!("  refused: {refusal}")),
        );
        for event in &decision.events {
            lines.push(format!("  {}", line_of_event(event, &actor.run)));
        }
        for action in &decision.actions {
            lines.push(format!("  -> {}", line_of_action(action)));
        }
        actor.journal.extend(decision.events.iter().cloned());
        actor.refused.extend(decision.refused.iter().cloned());
        actor.visits += decision.visits;
        actor.wake_at = decision.wake_at;
        for action in &decision.actions {
            match action {
                Action::StartStep(request) => actor.start(request, self.now, script),
                Action::StopStep { step, .. } => actor.stop(step, self.now),
            }
        }
        self.ask_for_locks(&decision.locks);
    }

    fn ask_for_locks(&mut self, requests: &[LockRequest]) {
        if requests.is_empty() {
            return;
        }
        let decision = sync::decide(&mut self.space, requests);
        self.lock_journal.extend(decision.events);
        for (holder, answer) in decision.answers {
            let run = holder.run.clone();
            self.tell(&run, Input::LocksAnswered { holder, answer });
        }
    }

    /// Turns until no run has anything to see.
    pub fn settle(&mut self, script: &mut dyn Script) {
        loop {
            let waiting: Vec<RunId> = self
                .actors
                .iter()
                .filter(|(_, actor)| !actor.mail.is_empty())
                .map(|(id, _)| id.clone())
                .collect();
            if waiting.is_empty() {
                return;
            }
            for id in waiting {
                self.turn(&id, script);
            }
        }
    }

    /// Plays until nothing more happens by itself.
    pub fn play(&mut self, script: &mut dyn Script) {
        self.settle(script);
        while let Some(next) = self.next_happening() {
            self.now = self.now.max(next);
            self.happen();
            self.settle(script);
        }
    }

    /// Plays up to a number of seconds after the beginning, that instant included.
    pub fn play_until(&mut self, seconds: i64, script: &mut dyn Script) {
        let end = BEGINNING.plus_millis(seconds * 1000);
        self.settle(script);
        while let Some(next) = self.next_happening().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            self.happen();
            self.settle(script);
        }
        self.now = end;
    }

    /// Goes to a number of seconds after the beginning and lets everything happen that is due then,
    /// without a turn: what is told now is seen together with it.
    pub fn arrive_at(&mut self, seconds: i64, script: &mut dyn Script) {
        self.play_until(seconds - 1, script);
        self.now = BEGINNING.plus_millis(seconds * 1000);
        self.happen();
    }

    fn next_happening(&self) -> Option<Timestamp> {
        let actors = self.actors.values();
        actors.filter_map(Actor::next_happening).min()
    }

    fn happen(&mut self) {
        let now = self.now;
        for actor in self.actors.values_mut() {
            actor.happen(now);
        }
    }

    /// What happened, line by line.
    pub fn transcript(&self) -> String {
        self.lines.join("\n")
    }

    /// Checks what always holds: each run is the fold of its journal and survives its snapshot, so
    /// does the lock space, and no step was started twice.
    pub fn check(&self) {
        for actor in self.actors.values() {
            assert_eq!(replay(&actor.journal), actor.run, "the fold of the journal");
            let snapshot = serde_json::to_string(&actor.run).expect("a run can be encoded");
            let again: Run = serde_json::from_str(&snapshot).expect("a snapshot can be read");
            assert_eq!(again, actor.run, "the snapshot");
            let steps: BTreeSet<&StepId> = actor.started.iter().map(|step| &step.step).collect();
            assert_eq!(steps.len(), actor.started.len(), "one start per execution");
        }
        let mut space = LockSpace::default();
        for event in &self.lock_journal {
            sync::evolve(&mut space, event);
        }
        assert_eq!(space, self.space, "the fold of the locks' journal");
        let snapshot = serde_json::to_string(&space).expect("a lock space can be encoded");
        let again: LockSpace = serde_json::from_str(&snapshot).expect("a snapshot can be read");
        assert_eq!(again, space, "the snapshot of the locks");
    }
}

impl Actor {
    fn start(&mut self, request: &StepRequest, now: Timestamp, script: &mut dyn Script) {
        let outcome = script.outcome(request);
        let after = |seconds: i64| now.plus_millis(seconds * 1000);
        let own = request.timeout_seconds.map(after);
        let live = Live {
            request: request.clone(),
            seen_at: (outcome.seconds != Some(1)).then(|| after(1)),
            ends_at: outcome.seconds.map(after),
            times_out_at: [own, request.deadline].into_iter().flatten().min(),
            asked_to_stop: false,
            outcome,
        };
        self.started.push(request.clone());
        self.live.insert(request.step.clone(), live);
    }

    fn stop(&mut self, step: &StepId, now: Timestamp) {
        if let Some(live) = self.live.get_mut(step) {
            live.asked_to_stop = true;
            live.ends_at = Some(now.plus_millis(1000));
            live.times_out_at = None;
            live.outcome.outcome = StepOutcome::Exited;
            live.outcome.exit_code = Some(143);
            live.outcome.silent = true;
        }
    }

    fn next_happening(&self) -> Option<Timestamp> {
        let steps = self
            .live
            .values()
            .flat_map(|live| [live.seen_at, live.ends_at, live.times_out_at]);
        steps.chain([self.wake_at]).flatten().min()
    }

    fn happen(&mut self, now: Timestamp) {
        let is_due = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
        if is_due(self.wake_at) {
            self.wake_at = None;
            self.mail.push(Input::Tick);
        }
        let mut ended = Vec::new();
        let mut live: Vec<(&StepId, &mut Live)> = self.live.iter_mut().collect();
        live.sort_by_key(|(step, _)| step.execution);
        for (step, live) in live {
            let times_out_first = is_due(live.times_out_at)
                && live.ends_at.is_none_or(|end| live.times_out_at < Some(end));
            let report = if times_out_first {
                let mut end = live.outcome.end(&live.request, now, false);
                end.outcome = StepOutcome::TimedOut;
                end.exit_code = None;
                end.result = None;
                end.parameters.clear();
                StepReport::Ended(end)
            } else if is_due(live.ends_at) {
                let end = live.outcome.end(&live.request, now, live.asked_to_stop);
                StepReport::Ended(end)
            } else if is_due(live.seen_at) {
                live.seen_at = None;
                StepReport::Started { at: now }
            } else {
                continue;
            };
            if let StepReport::Ended(_) = report {
                ended.push(step.clone());
            }
            let step = step.clone();
            self.mail.push(Input::StepReported { step, report });
        }
        for step in ended {
            self.live.remove(&step);
        }
    }
}

fn line_of_input(input: &Input, now: Timestamp) -> String {
    let at = (now.0 - BEGINNING.0) / 1000;
    let what = match input {
        Input::Create(new) => format!("create {}", new.id),
        Input::StepReported { step, report } => match report {
            StepReport::Started { .. } => format!("#{} started", step.execution),
            StepReport::Ended(end) => format!(
                "#{} ended: {:?} {}",
                step.execution,
                end.outcome,
                end.exit_code
                    .map_or("-".to_owned(), |code| code.to_string())
            ),
        },
        Input::LocksAnswered { holder, answer } => match &holder.node {
            None => format!("locks of the run: {answer:?}"),
            Some(node) => format!("locks of {node}: {answer:?}"),
        },
        Input::Stop => "stop".to_owned(),
        Input::Tick => "tick".to_owned(),
    };
    format!("{at}s {what}")
}
