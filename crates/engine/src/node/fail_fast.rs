//! `failFast` of a template: once something of it went wrong nothing new starts, and when nothing
//! lives any more the node fails.

use std::collections::BTreeSet;

use crate::{
    decide::Turn,
    id::NodeId,
    node::{NodeOutputs, NodePhase},
};

const MESSAGE: &str = "template has failed or errored children and failFast enabled";

/// Whether a `Steps` or `DAG` node fails fast now: then nothing of it goes on. It ends here once
/// nothing below it lives.
pub(crate) fn check(turn: &mut Turn<'_>, id: &NodeId) -> bool {
    let node = turn.node(id);
    if node.failed_here == 0 || !is_on(turn, id) {
        return false;
    }
    while turn.next_touched(id).is_some() {}
    if turn.node(id).live == 0 {
        for unfinished in unfinished_below(turn, id).into_iter().rev() {
            fail(turn, &unfinished);
        }
        fail(turn, id);
    }
    true
}

fn is_on(turn: &Turn<'_>, id: &NodeId) -> bool {
    let templates = &turn.run.workflow().templates;
    templates
        .get(&turn.node(id).template_name)
        .is_some_and(|template| template.fail_fast == Some(true))
}

fn fail(turn: &mut Turn<'_>, id: &NodeId) {
    let message = Some(MESSAGE.to_owned());
    turn.finish_node(id, NodePhase::Failed, message, NodeOutputs::default());
}

/// Nodes below this one that are not fulfilled, in the order of their creation.
fn unfinished_below(turn: &Turn<'_>, id: &NodeId) -> Vec<NodeId> {
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut left = turn.node(id).children.clone();
    while let Some(next) = left.pop() {
        let node = turn.node(&next);
        if !is_below(turn, &next, id) || !seen.insert(next.clone()) {
            continue;
        }
        left.extend(node.children.iter().cloned());
        if !node.phase.is_fulfilled() {
            found.insert((node.sequence, next));
        }
    }
    found.into_iter().map(|(_, id)| id).collect()
}

fn is_below(turn: &Turn<'_>, id: &NodeId, above: &NodeId) -> bool {
    let mut parent = turn.node(id).parent.clone();
    while let Some(id) = parent {
        if id == *above {
            return true;
        }
        parent = turn.node(&id).parent.clone();
    }
    false
}
