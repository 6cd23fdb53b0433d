//! The executions of a run, read off its nodes.

use groundplan_engine::{
    id::StepId,
    node::{Execution, Node},
    run::Run,
};

/// Executions that have not ended.
pub(super) fn live(run: &Run) -> Vec<StepId> {
    run.live_leaves()
        .flat_map(|node| executions(run, node, |execution| execution.ended_at.is_none()))
        .collect()
}

/// Executions that have ended.
pub(super) fn ended(run: &Run) -> Vec<StepId> {
    run.nodes()
        .flat_map(|node| executions(run, node, |execution| execution.ended_at.is_some()))
        .collect()
}

/// Whether an execution has not ended.
pub(super) fn is_live(run: &Run, step: &StepId) -> bool {
    run.node(&step.node)
        .and_then(Node::live_execution)
        .is_some_and(|execution| execution.number == step.execution)
}

fn executions(run: &Run, node: &Node, wanted: impl Fn(&Execution) -> bool) -> Vec<StepId> {
    let Some(new) = run.created() else {
        return Vec::new();
    };
    let step = |execution: &Execution| StepId {
        run: new.id.clone(),
        node: node.id.clone(),
        execution: execution.number,
    };
    node.executions
        .iter()
        .filter(|execution| wanted(execution))
        .map(step)
        .collect()
}
