//! Leaves: what the end of an execution means for the node.

use crate::{
    action::{Action, StepRequest},
    deadline,
    decide::Turn,
    event::Event,
    id::{NodeId, StepId},
    node::{NodeOutputs, NodePhase},
    report::{StepEnd, StepOutcome},
    scope,
};
use groundplan_workflow::document::{Container, IntOrString, Template};

/// Starts a leaf whose node was created just now.
pub(crate) fn begin(turn: &mut Turn<'_>, id: &NodeId, template: Template) {
    if let Some(message) = deadline::nothing_starts(turn.run) {
        let message = Some(message.to_owned());
        turn.finish_node(id, NodePhase::Failed, message, NodeOutputs::default());
        return;
    }
    if let Err(message) = request(turn, id, template) {
        turn.fail_call(id, message);
    }
}

/// Starts a leaf that waited for its locks and has them now.
pub(crate) fn visit(turn: &mut Turn<'_>, id: &NodeId) {
    if !turn.node(id).executions.is_empty() {
        return;
    }
    match scope::process_again(turn, id) {
        Ok(processed) => begin(turn, id, processed.template),
        Err(message) => turn.fail_call(id, message),
    }
}

fn request(turn: &mut Turn<'_>, id: &NodeId, template: Template) -> Result<(), String> {
    let timeout_seconds = timeout_of(&template)?;
    let volumes = scope::volumes_of(turn, &template)?;
    let node = turn.node(id);
    let (node_name, boundary, call) = (node.name.clone(), node.boundary.clone(), node.call.clone());
    let capture_result = boundary.is_some_and(|boundary| {
        let template = turn.node(&boundary).template_name.clone();
        turn.run.shape(&template).wants_result_of(&call)
    });
    let execution = turn.run.executions + 1;
    let at = turn.now;
    turn.record(Event::ExecutionRequested {
        node: id.clone(),
        execution,
        at,
    });
    let step = StepId {
        run: turn.run.id().clone(),
        node: id.clone(),
        execution,
    };
    let deadline = turn.run.deadline();
    turn.act(Action::StartStep(Box::new(StepRequest {
        step,
        node_name,
        template,
        volumes,
        capture_result,
        deadline,
        timeout_seconds,
    })));
    Ok(())
}

fn timeout_of(template: &Template) -> Result<Option<i64>, String> {
    match &template.active_deadline_seconds {
        None => Ok(None),
        Some(IntOrString::Int(seconds)) => Ok(Some(*seconds)),
        Some(IntOrString::String(text)) => text.trim().parse().map(Some).map_err(|_| {
            format!(
                "`activeDeadlineSeconds` of template `{}` is not a number of seconds: `{text}`",
                template.name
            )
        }),
    }
}

/// The container of a leaf.
pub(crate) fn container_of(template: &Template) -> Option<&Container> {
    template
        .container
        .as_ref()
        .or_else(|| template.script.as_ref().map(|script| &script.container))
}

/// The phase and message of a leaf whose execution ended. An output that could not be taken counts
/// only if the tool itself went well.
pub(crate) fn phase_of(end: &StepEnd) -> (NodePhase, String) {
    match &end.outcome {
        StepOutcome::Exited => match end.exit_code.unwrap_or(0) {
            0 if end.asked_to_stop => (
                NodePhase::Failed,
                "stopped before it was done (exit code 0)".to_owned(),
            ),
            0 => (NodePhase::Succeeded, String::new()),
            code => exited("Error", code),
        },
        StepOutcome::Signaled { signal } => exited("Error", end.exit_code.unwrap_or(128 + signal)),
        StepOutcome::TimedOut => (
            NodePhase::Failed,
            "Pod was active on the node longer than the specified deadline".to_owned(),
        ),
        StepOutcome::OutOfMemory => exited("OOMKilled", end.exit_code.unwrap_or(137)),
        StepOutcome::ImageFailure { message } | StepOutcome::StartFailure { message } => {
            (NodePhase::Error, message.clone())
        }
        StepOutcome::OutputFailure { message } => match end.exit_code.unwrap_or(0) {
            0 => (NodePhase::Error, message.clone()),
            code => exited("Error", code),
        },
        StepOutcome::Lost => (
            NodePhase::Error,
            "step lost: nothing of it is left, and it left no exit status".to_owned(),
        ),
    }
}

fn exited(reason: &str, code: i32) -> (NodePhase, String) {
    (
        NodePhase::Failed,
        format!("main: {reason} (exit code {code})"),
    )
}

/// Exit code and result of an ended execution, without its parameters.
pub(crate) fn outputs_of(end: &StepEnd) -> NodeOutputs {
    let exit_code = match &end.outcome {
        StepOutcome::Exited | StepOutcome::OutputFailure { .. } => Some(end.exit_code.unwrap_or(0)),
        StepOutcome::Signaled { signal } => Some(end.exit_code.unwrap_or(128 + signal)),
        StepOutcome::OutOfMemory => Some(end.exit_code.unwrap_or(137)),
        StepOutcome::TimedOut
        | StepOutcome::ImageFailure { .. }
        | StepOutcome::StartFailure { .. }
        | StepOutcome::Lost => end.exit_code,
    };
    NodeOutputs {
        result: end.result.clone(),
        exit_code,
        parameters: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Timestamp;

    fn end(outcome: StepOutcome, exit_code: Option<i32>, asked_to_stop: bool) -> StepEnd {
        StepEnd {
            at: Timestamp(0),
            outcome,
            asked_to_stop,
            exit_code,
            result: None,
            parameters: std::collections::BTreeMap::new(),
        }
    }

    #[test]
    fn only_an_unasked_exit_with_code_0_succeeds() {
        let text = || "x".to_owned();
        let outcomes = [
            StepOutcome::Exited,
            StepOutcome::Signaled { signal: 2 },
            StepOutcome::TimedOut,
            StepOutcome::OutOfMemory,
            StepOutcome::ImageFailure { message: text() },
            StepOutcome::StartFailure { message: text() },
            StepOutcome::OutputFailure { message: text() },
            StepOutcome::Lost,
        ];
        for outcome in outcomes {
            for code in [None, Some(0), Some(3)] {
                for asked in [false, true] {
                    let (phase, message) = phase_of(&end(outcome.clone(), code, asked));
                    let well = outcome == StepOutcome::Exited && code != Some(3) && !asked;
                    assert_eq!(
                        phase == NodePhase::Succeeded,
                        well,
                        "{outcome:?} {code:?} {asked}"
                    );
                    assert_eq!(message.is_empty(), well);
                }
            }
        }
    }

    #[test]
    fn what_could_not_be_run_or_taken_is_an_error_and_the_tools_own_failure_wins() {
        let phase = |outcome, code| phase_of(&end(outcome, code, false)).0;
        let message = || "x".to_owned();
        assert_eq!(phase(StepOutcome::Lost, None), NodePhase::Error);
        assert_eq!(
            phase(StepOutcome::StartFailure { message: message() }, None),
            NodePhase::Error
        );
        assert_eq!(
            phase(StepOutcome::ImageFailure { message: message() }, None),
            NodePhase::Error
        );
        assert_eq!(
            phase(StepOutcome::OutputFailure { message: message() }, Some(0)),
            NodePhase::Error
        );
        assert_eq!(
            phase_of(&end(
                StepOutcome::OutputFailure { message: message() },
                Some(2),
                false
            )),
            (NodePhase::Failed, "main: Error (exit code 2)".to_owned())
        );
        assert_eq!(
            phase_of(&end(StepOutcome::Signaled { signal: 15 }, None, true)),
            (NodePhase::Failed, "main: Error (exit code 143)".to_owned())
        );
    }
}
