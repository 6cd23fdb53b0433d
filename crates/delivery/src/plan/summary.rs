//! What a plan comes to: counts, addresses, names; no values.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::{
    attributes::{changed_attributes, count_marks},
    json::{Action, Change, Plan, ResourceChange},
};

/// What a plan comes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanSummary {
    /// Version of the tool, where the plan tells it.
    pub tool_version: Option<String>,
    /// How many objects have each action, and what else happens.
    pub counts: Counts,
    /// Objects that change, are moved, imported or read; in order of danger, then of the plan.
    pub changes: Vec<ResourceSummary>,
    /// Outputs that change, by name.
    pub outputs: Vec<OutputSummary>,
    /// Objects that are not as the state has them.
    pub drift: Vec<ResourceSummary>,
    /// Whether planning failed half-way: the rest is only a part.
    pub errored: bool,
    /// The plan's own word on whether applying it brings everything about.
    pub complete: Option<bool>,
    /// The plan's own word on whether it can be applied.
    pub applyable: Option<bool>,
}

/// How many. Objects are counted, not addresses: a deposed object counts for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Objects to make.
    pub create: usize,
    /// Objects to change in place.
    pub update: usize,
    /// Objects to destroy, replacements apart.
    pub delete: usize,
    /// Objects to replace: destroyed first.
    pub delete_then_create: usize,
    /// Objects to replace: made first.
    pub create_then_delete: usize,
    /// Objects to replace: the old one is left alone and forgotten.
    pub forget_then_create: usize,
    /// Objects to leave alone and forget.
    pub forget: usize,
    /// Objects with an action that we don't know.
    pub other: usize,
    /// Data to be read during the apply.
    pub read: usize,
    /// Objects without a change of their own; they may be imported or moved.
    pub no_op: usize,
    /// Objects taken over from outside, beside their action.
    pub import: usize,
    /// Objects that got another address, beside their action.
    pub moved: usize,
    /// Outputs without a change.
    pub outputs_unchanged: usize,
    /// Changes put off to a later plan.
    pub deferred: usize,
    /// Actions to invoke.
    pub action_invocations: usize,
    /// Sensitive values among what objects and outputs will be.
    pub sensitive: usize,
}

impl Counts {
    /// Objects to replace, in whatever order.
    pub fn replace(&self) -> usize {
        self.delete_then_create + self.create_then_delete + self.forget_then_create
    }

    /// Objects that were looked at.
    pub fn objects(&self) -> usize {
        let apart = self.create + self.update + self.delete + self.forget + self.other;
        apart + self.replace() + self.read + self.no_op
    }

    fn add(&mut self, resource: &ResourceSummary) {
        let count = match resource.action {
            Action::Create => &mut self.create,
            Action::Update => &mut self.update,
            Action::Delete => &mut self.delete,
            Action::DeleteThenCreate => &mut self.delete_then_create,
            Action::CreateThenDelete => &mut self.create_then_delete,
            Action::ForgetThenCreate => &mut self.forget_then_create,
            Action::Forget => &mut self.forget,
            Action::Other(_) => &mut self.other,
            Action::Read => &mut self.read,
            Action::NoOp => &mut self.no_op,
        };
        *count += 1;
        self.import += usize::from(resource.imported);
        self.moved += usize::from(resource.previous_address.is_some());
    }
}

/// What happens to one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResourceSummary {
    /// Where it is in the configuration.
    pub address: String,
    /// Where it was, if it moves.
    pub previous_address: Option<String>,
    /// Key of an object that was put aside by a replacement that failed.
    pub deposed: Option<String>,
    /// What is done.
    pub action: Action,
    /// Whether it is taken over from outside.
    pub imported: bool,
    /// Why, in a word of the plan's format.
    pub reason: Option<String>,
    /// Attributes that change, by name; for updates and replacements.
    pub attributes: Vec<AttributeChange>,
}

/// An attribute that changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttributeChange {
    /// Name of the top-level attribute.
    pub name: String,
    /// Whether it holds something sensitive.
    pub sensitive: bool,
    /// Whether it is not wholly known before the apply.
    pub unknown: bool,
    /// Whether it forces a replacement.
    pub forces_replacement: bool,
}

/// An output that changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutputSummary {
    /// Its name.
    pub name: String,
    /// What is done.
    pub action: Action,
    /// Whether it holds something sensitive.
    pub sensitive: bool,
}

/// What a plan comes to, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Planning failed half-way: nothing is known.
    Errored,
    /// The plan held nothing to look at: no pass and no failure.
    NothingEvaluated,
    /// Everything that was looked at is as it should be.
    NoChanges,
    /// There is something to apply.
    Changes,
}

impl Serialize for Action {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Action {
    /// A stable name; an unknown action is named in the words of the plan.
    pub fn name(&self) -> &str {
        match self {
            Action::Delete => "delete",
            Action::DeleteThenCreate => "delete_then_create",
            Action::CreateThenDelete => "create_then_delete",
            Action::ForgetThenCreate => "forget_then_create",
            Action::Update => "update",
            Action::Create => "create",
            Action::Forget => "forget",
            Action::Other(words) => words,
            Action::Read => "read",
            Action::NoOp => "no_op",
        }
    }
}

impl PlanSummary {
    /// Whether applying the plan does anything beyond reading: to objects, their addresses, the
    /// state, or outputs.
    pub fn needs_apply(&self) -> bool {
        let quiet = |resource: &ResourceSummary| {
            matches!(resource.action, Action::NoOp | Action::Read)
                && !resource.imported
                && resource.previous_address.is_none()
        };
        !self.outputs.is_empty() || !self.changes.iter().all(quiet) || self.applyable == Some(true)
    }

    /// What the plan comes to. Drift alone is *no changes*; look at `drift` for it.
    pub fn outcome(&self) -> Outcome {
        let counts = &self.counts;
        if self.errored {
            Outcome::Errored
        } else if self.needs_apply() || counts.action_invocations + counts.deferred > 0 {
            Outcome::Changes
        } else if counts.objects() + counts.outputs_unchanged + self.drift.len() == 0 {
            Outcome::NothingEvaluated
        } else {
            Outcome::NoChanges
        }
    }

    /// Addresses by action, in order of danger, then of the plan.
    pub fn addresses(&self) -> BTreeMap<Action, Vec<&str>> {
        let mut addresses: BTreeMap<Action, Vec<&str>> = BTreeMap::new();
        for change in &self.changes {
            let of_action = addresses.entry(change.action.clone()).or_default();
            of_action.push(&change.address);
        }
        addresses
    }
}

/// Summarizes a plan.
pub fn summarize(plan: &Plan<'_>) -> PlanSummary {
    let mut counts = Counts {
        deferred: plan.deferred_changes.len(),
        action_invocations: plan.action_invocations.len(),
        ..Counts::default()
    };
    let mut changes = Vec::new();
    for change in &plan.resource_changes {
        let resource = summarize_resource(change);
        counts.add(&resource);
        counts.sensitive += count_marks(change.change.after_sensitive);
        if !is_silent(&resource) {
            changes.push(resource);
        }
    }
    changes.sort_by(|left, right| left.action.cmp(&right.action));
    let mut outputs = Vec::new();
    for (name, change) in &plan.output_changes {
        counts.sensitive += count_marks(change.after_sensitive);
        if change.actions == Action::NoOp {
            counts.outputs_unchanged += 1;
        } else {
            outputs.push(summarize_output(name, change));
        }
    }
    PlanSummary {
        tool_version: plan.terraform_version.as_deref().map(str::to_owned),
        counts,
        changes,
        outputs,
        drift: summarize_drift(plan),
        errored: plan.errored.unwrap_or(false),
        complete: plan.complete,
        applyable: plan.applyable,
    }
}

fn is_silent(resource: &ResourceSummary) -> bool {
    resource.action == Action::NoOp && !resource.imported && resource.previous_address.is_none()
}

fn summarize_drift(plan: &Plan<'_>) -> Vec<ResourceSummary> {
    let drifted = plan.resource_drift.iter();
    drifted
        .filter(|change| change.change.actions != Action::NoOp)
        .map(summarize_resource)
        .collect()
}

fn summarize_resource(resource: &ResourceChange<'_>) -> ResourceSummary {
    let action = resource.change.actions.clone();
    let attributes = match action {
        Action::Update
        | Action::DeleteThenCreate
        | Action::CreateThenDelete
        | Action::ForgetThenCreate
        | Action::Other(_) => changed_attributes(&resource.change),
        Action::Create | Action::Delete | Action::Forget | Action::Read | Action::NoOp => {
            Vec::new()
        }
    };
    let owned = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().map(str::to_owned);
    ResourceSummary {
        address: resource.address.clone().into_owned(),
        previous_address: owned(&resource.previous_address)
            .filter(|previous| !previous.is_empty() && *previous != resource.address),
        deposed: owned(&resource.deposed).filter(|key| !key.is_empty()),
        action,
        imported: resource.change.importing.is_some(),
        reason: owned(&resource.action_reason),
        attributes,
    }
}

fn summarize_output(name: &str, change: &Change<'_>) -> OutputSummary {
    OutputSummary {
        name: name.to_owned(),
        action: change.actions.clone(),
        sensitive: count_marks(change.before_sensitive) + count_marks(change.after_sensitive) > 0,
    }
}
