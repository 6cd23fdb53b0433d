//! Taking inputs in: each is recorded as facts about what it speaks of, or refused. What follows
//! from the facts comes afterwards, for all inputs at once ([`pass`](crate::pass)).

use crate::{
    deadline,
    decide::{RefusalReason, Turn},
    event::{Event, NodeFinished},
    id::StepId,
    input::{Input, NewRun},
    locks,
    node::{Execution, NodeKind, NodePhase, leaf},
    outputs,
    report::{StepEnd, StepReport},
    time::Timestamp,
};

pub(crate) fn take(turn: &mut Turn<'_>, input: &Input) {
    match input {
        Input::Create(new) => create(turn, new),
        Input::StepReported { step, report } => match report {
            StepReport::Started { at } => started(turn, step, *at),
            StepReport::Ended(end) => ended(turn, step, end),
        },
        Input::LocksAnswered { holder, answer } => locks::answered(turn, holder, answer),
        Input::Stop => stop(turn),
        Input::Tick => tick(turn),
    }
}

fn create(turn: &mut Turn<'_>, new: &NewRun) {
    match turn.run.created() {
        None => {
            turn.record(Event::RunCreated(Box::new(new.clone())));
            locks::ask_for_run(turn);
        }
        Some(created) => {
            let reason = if created.id == new.id {
                RefusalReason::Late
            } else {
                RefusalReason::Illegal
            };
            let phase = turn.run.phase();
            turn.refuse("create", &new.id, phase, reason);
        }
    }
}

fn stop(turn: &mut Turn<'_>) {
    let refusal = match turn.run_refusal() {
        None if turn.run.stop_requested_at().is_some() => Some(RefusalReason::Late),
        refusal => refusal,
    };
    if let Some(reason) = refusal {
        turn.refuse_for_run("stop", reason);
        return;
    }
    let at = turn.now;
    turn.record(Event::StopRequested { at });
    deadline::stop_everything(turn);
}

fn tick(turn: &mut Turn<'_>) {
    if let Some(reason) = turn.run_refusal() {
        turn.refuse_for_run("tick", reason);
    }
}

/// What an execution that a report speaks of is to the run.
enum Known {
    Live(Execution),
    Over,
    Nothing,
    Foreign,
}

fn known(turn: &Turn<'_>, step: &StepId) -> Known {
    if !turn.run.is_created() || *turn.run.id() != step.run {
        return Known::Foreign;
    }
    let Some(node) = turn.run.node(&step.node) else {
        return Known::Foreign;
    };
    match node.kind {
        NodeKind::Pod => {}
        NodeKind::Steps
        | NodeKind::StepGroup
        | NodeKind::Dag
        | NodeKind::TaskGroup
        | NodeKind::Skipped
        | NodeKind::Retry
        | NodeKind::Suspend => return Known::Nothing,
    }
    let execution = node
        .executions
        .iter()
        .find(|execution| execution.number == step.execution);
    match execution {
        Some(execution) if execution.ended_at.is_none() => Known::Live(*execution),
        Some(_) => Known::Over,
        None => Known::Nothing,
    }
}

fn refuse_report(turn: &mut Turn<'_>, input: &'static str, step: &StepId, reason: RefusalReason) {
    let phase = turn
        .run
        .node(&step.node)
        .map_or("-", |node| node.phase.as_str());
    turn.refuse(input, step, phase, reason);
}

fn started(turn: &mut Turn<'_>, step: &StepId, at: Timestamp) {
    const INPUT: &str = "step_started";
    match known(turn, step) {
        Known::Live(execution) if execution.started_at.is_none() => {
            turn.record(Event::ExecutionStarted {
                node: step.node.clone(),
                execution: step.execution,
                at,
            });
        }
        Known::Live(_) | Known::Over => refuse_report(turn, INPUT, step, RefusalReason::Late),
        Known::Nothing => refuse_report(turn, INPUT, step, RefusalReason::Illegal),
        Known::Foreign => refuse_report(turn, INPUT, step, RefusalReason::Unknown),
    }
}

fn ended(turn: &mut Turn<'_>, step: &StepId, end: &StepEnd) {
    const INPUT: &str = "step_ended";
    match known(turn, step) {
        Known::Live(execution) => take_end(turn, step, &execution, end),
        Known::Over => refuse_report(turn, INPUT, step, RefusalReason::Late),
        Known::Nothing => refuse_report(turn, INPUT, step, RefusalReason::Illegal),
        Known::Foreign => refuse_report(turn, INPUT, step, RefusalReason::Unknown),
    }
}

fn take_end(turn: &mut Turn<'_>, step: &StepId, execution: &Execution, end: &StepEnd) {
    turn.record(Event::ExecutionEnded {
        node: step.node.clone(),
        execution: execution.number,
        at: end.at,
    });
    let (mut phase, mut message) = leaf::phase_of(end);
    let mut outputs = leaf::outputs_of(end);
    let (parameters, missing) = outputs::of_leaf(turn, &step.node, end);
    outputs.parameters = parameters;
    if let Some(missing) = missing
        && phase == NodePhase::Succeeded
    {
        phase = NodePhase::Error;
        message = missing;
    }
    turn.record(Event::NodeFinished(Box::new(NodeFinished {
        node: step.node.clone(),
        phase,
        message: Some(message),
        outputs,
        at: end.at,
    })));
    turn.touch(&step.node);
    locks::release_what_is_idle(turn, &step.node);
}

impl Turn<'_> {
    /// Why an input for the whole run is refused, if it is.
    fn run_refusal(&self) -> Option<RefusalReason> {
        if !self.run.is_created() {
            Some(RefusalReason::Illegal)
        } else if self.run.phase().is_finished() {
            Some(RefusalReason::Late)
        } else {
            None
        }
    }

    pub(crate) fn refuse_for_run(&mut self, input: &'static str, reason: RefusalReason) {
        let (subject, phase) = if self.run.is_created() {
            (self.run.id().to_string(), self.run.phase().to_string())
        } else {
            ("-".to_owned(), "-".to_owned())
        };
        self.refuse(input, subject, phase, reason);
    }
}
