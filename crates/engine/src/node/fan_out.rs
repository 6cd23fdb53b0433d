//! Fan-outs: one call becomes many, one for each item of a list.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value as Json;

use crate::{
    decide::Turn,
    id::NodeId,
    node::{NodeOutputs, NodePhase},
    pass,
    scope::{self, Frame},
};
use groundplan_workflow::{
    document::{Arguments, DagTask, Item, WorkflowStep},
    expr::{
        items,
        scope::{Layered, Scope},
        tags::Mode,
        when,
    },
};

/// What a step and a task have in common: a call that may be fanned out.
pub(crate) trait Callable: Serialize + DeserializeOwned + Clone {
    fn with_items(&self) -> &[Item];
    fn with_param(&self) -> &str;
    fn when(&self) -> &str;
    fn set_when(&mut self, when: String);
    fn name(&self) -> &str;
    fn template(&self) -> &str;
    fn arguments_mut(&mut self) -> &mut Arguments;
    /// The call without its list.
    fn without_items(&self) -> Self;

    /// Whether it is to be fanned out. An empty `withItems` is no list at all.
    fn is_fan_out(&self) -> bool {
        !self.with_items().is_empty() || !self.with_param().is_empty()
    }
}

macro_rules! callable {
    ($kind:ty) => {
        impl Callable for $kind {
            fn with_items(&self) -> &[Item] {
                &self.with_items
            }
            fn with_param(&self) -> &str {
                &self.with_param
            }
            fn when(&self) -> &str {
                &self.when
            }
            fn set_when(&mut self, when: String) {
                self.when = when;
            }
            fn name(&self) -> &str {
                &self.name
            }
            fn template(&self) -> &str {
                &self.template
            }
            fn arguments_mut(&mut self) -> &mut Arguments {
                &mut self.arguments
            }
            fn without_items(&self) -> Self {
                Self {
                    with_items: Vec::new(),
                    with_param: String::new(),
                    ..self.clone()
                }
            }
        }
    };
}

callable!(WorkflowStep);
callable!(DagTask);

/// A call with its tags replaced, ready to be made.
pub(crate) struct Spread<T> {
    /// The step's or task's name, with the item where it is fanned out.
    pub(crate) full_call: String,
    pub(crate) call: T,
}

/// The calls that a step or task stands for; none for an empty list. Its tags other than those of
/// items are replaced already.
pub(crate) fn spread<T: Callable>(
    call: &T,
    frame: &Frame,
    produced: &dyn Scope,
) -> Result<Vec<Spread<T>>, String> {
    if !call.is_fan_out() {
        return Ok(vec![Spread {
            full_call: call.name().to_owned(),
            call: call.clone(),
        }]);
    }
    let is_skipped = matches!(when::evaluate(call.when()), Ok(false));
    let list: Vec<items::Item> = if call.with_items().is_empty() {
        match items::parse_with_param(call.with_param()) {
            Ok(list) => list,
            Err(_) if is_skipped => Vec::new(),
            Err(fault) => return Err(fault.to_string()),
        }
    } else {
        let written = call.with_items().iter();
        written.map(|item| items::Item::from(&item.0)).collect()
    };
    let mode = if is_skipped {
        Mode::Allow
    } else {
        Mode::Forbid
    };
    let body = scope::encode(&call.without_items())?;
    let outer = frame.outer().with(produced);
    list.iter()
        .enumerate()
        .map(|(index, item)| spread_one(call, &body, index, item, &outer, mode, frame))
        .collect()
}

fn spread_one<T: Callable>(
    call: &T,
    body: &Json,
    index: usize,
    item: &items::Item,
    outer: &Layered<'_>,
    mode: Mode<'_>,
    frame: &Frame,
) -> Result<Spread<T>, String> {
    let mut value = body.clone();
    let item_scope = item.scope();
    scope::replace(&mut value, &outer.with(&item_scope), mode, frame.moment())?;
    // Neither the name nor the template depends on the item.
    if let Some(map) = value.as_object_mut() {
        map.insert(
            "template".to_owned(),
            Json::String(call.template().to_owned()),
        );
        map.insert("name".to_owned(), Json::String(call.name().to_owned()));
    }
    Ok(Spread {
        full_call: item.node_name(call.name(), index),
        call: scope::decode(value)?,
    })
}

/// Looks at what changed below the group of a fanned-out task.
pub(crate) fn visit(turn: &mut Turn<'_>, id: &NodeId) {
    while let Some(child) = turn.next_touched(id) {
        pass::visit(turn, &child);
    }
    close(turn, id);
}

/// Ends the group once all children are fulfilled: with the phase of the last that went wrong.
pub(crate) fn close(turn: &mut Turn<'_>, id: &NodeId) {
    if turn.node(id).outstanding > 0 {
        return;
    }
    let members = turn.run.members(id);
    turn.decision.visits += members.len() as u64;
    let phase = members
        .iter()
        .map(|child| turn.node(child).phase)
        .rfind(|phase| phase.is_failure())
        .unwrap_or(NodePhase::Succeeded);
    turn.finish_node(id, phase, None, NodeOutputs::default());
}
