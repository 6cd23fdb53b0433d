//! Groups of the children of a fan-out.

use crate::{decide::Turn, id::NodeId};

pub(crate) fn visit(turn: &mut Turn<'_>, id: &NodeId) {
    while let Some(child) = turn.next_touched(id) {
        crate::pass::visit(turn, &child);
    }
}
