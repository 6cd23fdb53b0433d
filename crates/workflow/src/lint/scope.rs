//! What tags within one template may name.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::Subject;
use super::library::Target;
use super::model::{Call, Form, Home, Template, is_dynamic};
use crate::read::NodeValue;

/// Names that exist at some place of a template, as Argo's validator counts them.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    names: BTreeSet<String>,
    /// Prefixes below which everything may exist, since what gives it is not known.
    open: Vec<String>,
    any_item: bool,
}

impl Scope {
    /// What every text of the template may name, `workflow.…` aside.
    pub(super) fn of(template: &Template<'_>) -> Self {
        let mut scope = Scope::default();
        scope.inputs(template);
        if template.form().is_some_and(Form::is_pod) {
            scope.add("pod.name");
        }
        scope
    }

    pub(super) fn inputs(&mut self, template: &Template<'_>) {
        for input in template.inputs() {
            self.add("inputs.parameters");
            self.add(format!("inputs.parameters.{}", input.name()));
        }
        for input in template.input_artifacts() {
            self.add(format!("inputs.artifacts.{}", input.name()));
            if template.form().is_some_and(Form::is_leaf) {
                self.add(format!("inputs.artifacts.{}.path", input.name()));
            }
        }
    }

    pub(super) fn add(&mut self, name: impl Into<String>) {
        self.names.insert(name.into());
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.names.contains(name)
            || (self.any_item && name.starts_with("item."))
            || self.open.iter().any(|prefix| name.starts_with(prefix))
    }

    /// The certain names that begin so, for hints.
    pub(super) fn below<'s>(&'s self, prefix: &'s str) -> impl Iterator<Item = &'s str> {
        self.names
            .range::<str, _>((Bound::Included(prefix), Bound::Unbounded))
            .map(String::as_str)
            .take_while(move |name| name.starts_with(prefix))
    }

    /// What the items of a loop are called.
    pub(super) fn items(&mut self, call: &Call<'_>) {
        let items = call.at.list(&["withItems"]);
        if call.is_loop() {
            self.add("item");
        }
        for item in &items {
            match &item.node.value {
                NodeValue::List(parts) => {
                    for index in 0..parts.len() {
                        self.add(format!("item.[{index}]"));
                    }
                }
                NodeValue::Map(entries) => {
                    for entry in entries {
                        self.add(format!("item.{}", entry.key));
                    }
                }
                // A list given as one tag is known only when the workflow runs.
                NodeValue::Text(text) if is_dynamic(text) => self.any_item = true,
                _ => {}
            }
        }
        if items.is_empty() && call.at.text("withParam").is_some() {
            self.any_item = true;
        }
    }

    /// What others may name of a step or task.
    pub(super) fn outputs(&mut self, subject: &Subject<'_>, home: &Home<'_>, call: &Call<'_>) {
        let prefix = call.prefix();
        for name in ["id", "startedAt", "finishedAt", "hostNodeName"] {
            self.add(format!("{prefix}.{name}"));
        }
        let Target::Found(_, target) = subject.library.target(home, call) else {
            self.open.push(format!("{prefix}."));
            return;
        };
        if is_dynamic(call.name) {
            self.open
                .push(format!("{}.", prefix.split('.').next().unwrap_or_default()));
        }
        let daemon = target.at.node.get("daemon");
        if daemon.is_some_and(|node| node.value == NodeValue::Bool(true)) {
            self.add(format!("{prefix}.ip"));
        }
        if target.has_result() {
            self.add(format!("{prefix}.outputs.result"));
            self.add(format!("{prefix}.exitCode"));
        }
        for output in target.outputs() {
            self.add(format!("{prefix}.outputs.parameters.{}", output.name()));
        }
        for output in target.output_artifacts() {
            self.add(format!("{prefix}.outputs.artifacts.{}", output.name()));
        }
        if call.is_joined() {
            self.add(format!("{prefix}.outputs.parameters"));
        }
    }
}

/// The dependencies of a DAG's tasks, for asking whether one comes before another.
pub(super) struct Order {
    before: BTreeMap<String, BTreeSet<String>>,
}

impl Order {
    pub(super) fn of(template: &Template<'_>) -> Self {
        Order {
            before: template
                .calls
                .iter()
                .filter(|call| call.group.is_none())
                .map(|task| (task.name.to_owned(), super::rules::dependencies(task)))
                .collect(),
        }
    }

    /// Whether there is such a task.
    pub(super) fn has(&self, task: &str) -> bool {
        self.before.contains_key(task)
    }

    /// Whether `task` waits for `other`, directly or through others. Near ones are found first.
    pub(super) fn waits_for(&self, task: &str, other: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = std::collections::VecDeque::from([task]);
        while let Some(name) = open.pop_front() {
            let Some(before) = self.before.get(name) else {
                continue;
            };
            if before.contains(other) {
                return true;
            }
            open.extend(
                before
                    .iter()
                    .map(String::as_str)
                    .filter(|name| seen.insert(*name)),
            );
        }
        false
    }
}
