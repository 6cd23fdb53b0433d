//! Nodes below a template of many.

use crate::{decide::Turn, id::NodeId};

pub(crate) fn begin(turn: &mut Turn<'_>, id: &NodeId) -> Result<(), String> {
    visit(turn, id);
    Ok(())
}

pub(crate) fn visit(turn: &mut Turn<'_>, id: &NodeId) {
    while let Some(child) = turn.next_touched(id) {
        crate::pass::visit(turn, &child);
    }
}

pub(crate) fn visit_group(turn: &mut Turn<'_>, id: &NodeId) {
    visit(turn, id);
}
