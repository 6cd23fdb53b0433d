//! What follows from what happened: the facts to record and the things to do.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use crate::{
    action::Action, event::Event, evolve::evolve, id::NodeId, input::Input, intake, node::NodeKind,
    pass, run::Run, sync::LockRequest, time::Timestamp,
};
use groundplan_workflow::expr::scope::MapScope;

/// What one turn of a run comes to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// Facts, in order; the run has already taken them in.
    pub events: Vec<Event>,
    /// Things to do once the facts are committed, in order.
    pub actions: Vec<Action>,
    /// What the run wants of the lock space, in order; to be delivered with the same commit.
    pub locks: Vec<LockRequest>,
    /// When the run wants an [`Input::Tick`], if ever.
    pub wake_at: Option<Timestamp>,
    /// Inputs that changed nothing, and why; to be counted.
    pub refused: Vec<Refusal>,
    /// How many nodes were looked at: the cost of the turn.
    pub visits: u64,
}

/// An input that changed nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Name of the input: `create`, `step_started`, `step_ended`, `locks_answered`, `stop`, `tick`.
    pub input: &'static str,
    /// Whom it was about: the run, a node or an execution.
    pub subject: String,
    /// Where that stood.
    pub phase: String,
    /// Why it was refused.
    pub reason: RefusalReason,
}

/// Why an input changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefusalReason {
    /// It came before: a repetition, or overtaken by what came after. Normal.
    Late,
    /// It speaks of something that this run does not have.
    Unknown,
    /// It cannot happen in this phase: a fault of whoever sent it.
    Illegal,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let reason = match self.reason {
            RefusalReason::Late => "came too late",
            RefusalReason::Unknown => "speaks of something unknown",
            RefusalReason::Illegal => "is not possible",
        };
        write!(
            f,
            "input `{}` of `{}` {reason} in phase `{}`",
            self.input, self.subject, self.phase
        )
    }
}

/// Takes in what happened since the last turn, all of it before anything follows from it, and
/// answers as one walk over the tree would. The same run, inputs and time give the same answer.
///
/// The facts are already taken into `run`: it is the fold of all its events.
pub fn decide(run: &mut Run, inputs: &[Input], now: Timestamp) -> Decision {
    let mut turn = Turn::new(run, now);
    for input in inputs {
        intake::take(&mut turn, input);
    }
    pass::go(&mut turn);
    turn.finish()
}

/// One turn in the making.
pub(crate) struct Turn<'a> {
    pub(crate) run: &'a mut Run,
    pub(crate) now: Timestamp,
    pub(crate) decision: Decision,
    /// Nodes to look at, below each node, in the order in which a walk would meet them.
    touched: BTreeMap<NodeId, BTreeSet<(u32, NodeId)>>,
    /// Whether something changed at or below the root.
    pub(crate) root_touched: bool,
    /// Why the entry template could not be run, where that is so.
    pub(crate) entry_fault: Option<String>,
    /// Called nodes that could not be run, and why.
    pub(crate) faults: BTreeMap<NodeId, String>,
    /// What every template knows, once somebody asked.
    pub(crate) globals: Option<Rc<MapScope>>,
}

impl<'a> Turn<'a> {
    fn new(run: &'a mut Run, now: Timestamp) -> Self {
        Turn {
            run,
            now,
            decision: Decision::default(),
            touched: BTreeMap::new(),
            root_touched: false,
            entry_fault: None,
            faults: BTreeMap::new(),
            globals: None,
        }
    }

    fn finish(self) -> Decision {
        Decision {
            wake_at: self.run.wake_at(),
            ..self.decision
        }
    }

    /// Records a fact and takes it into the run.
    pub(crate) fn record(&mut self, event: Event) {
        evolve(self.run, &event);
        self.decision.events.push(event);
    }

    pub(crate) fn act(&mut self, action: Action) {
        self.decision.actions.push(action);
    }

    pub(crate) fn refuse(
        &mut self,
        input: &'static str,
        subject: impl ToString,
        phase: impl ToString,
        reason: RefusalReason,
    ) {
        self.decision.refused.push(Refusal {
            input,
            subject: subject.to_string(),
            phase: phase.to_string(),
            reason,
        });
    }

    /// Marks a node as changed, and so everything above it as worth a look.
    pub(crate) fn touch(&mut self, id: &NodeId) {
        let mut id = id.clone();
        loop {
            let node = self.run.node_ref(&id);
            let Some(parent) = node.parent.clone() else {
                self.root_touched = true;
                return;
            };
            let order = self.order_below(&parent, &id);
            if !self
                .touched
                .entry(parent.clone())
                .or_default()
                .insert((order, id))
            {
                return;
            }
            id = parent;
        }
    }

    /// Where a walk over `parent` would meet `child`.
    fn order_below(&mut self, parent: &NodeId, child: &NodeId) -> u32 {
        let node = self.run.node_ref(child);
        let (sequence, call) = (node.sequence, node.call.clone());
        if self.run.node_ref(parent).kind != NodeKind::Dag {
            return sequence;
        }
        let shape = self.run.shape_of_dag(parent);
        shape
            .task(&call)
            .and_then(|task| shape.rank(task))
            .unwrap_or(sequence)
    }

    /// Where a walk would meet the next changed node below this one.
    pub(crate) fn first_touched(&self, parent: &NodeId) -> Option<u32> {
        let below = self.touched.get(parent)?;
        below.first().map(|(order, _)| *order)
    }

    /// The next changed node below this one, in the order of a walk.
    pub(crate) fn next_touched(&mut self, parent: &NodeId) -> Option<NodeId> {
        let below = self.touched.get_mut(parent)?;
        let first = below.pop_first().map(|(_, id)| id);
        if below.is_empty() {
            self.touched.remove(parent);
        }
        first
    }
}
