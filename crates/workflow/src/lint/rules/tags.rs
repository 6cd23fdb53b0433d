//! Tags name variables that exist where they stand.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Subject;
use super::super::model::{At, Call, Form, Home, Template};
use super::super::report::Report;
use super::super::scope::{Order, Scope};
use super::super::spot::locate;
use crate::diagnostic::Severity;
use crate::expr::tags::{TagKind, scan};

/// Roots whose names Argo checks before a workflow starts.
const CHECKED: [&str; 7] = [
    "item.",
    "steps.",
    "inputs.",
    "outputs.",
    "pod.",
    "workflow.",
    "tasks.",
];
/// Names below them that exist wherever they stand.
const ALWAYS: [&str; 4] = ["outputs.", "tasks.name", "steps.name", "node.name"];
/// Roots of all variables.
const ROOTS: [&str; 11] = [
    "item",
    "steps",
    "inputs",
    "outputs",
    "pod",
    "workflow",
    "tasks",
    "node",
    "retries",
    "lastRetry",
    "cronworkflow",
];

pub(super) fn check(
    subject: &Subject<'_>,
    home: &Home<'_>,
    template: &Template<'_>,
    around: Option<&Scope>,
    report: &mut Report<'_>,
) {
    let mut walk = Walk {
        subject,
        home,
        template,
        report,
    };
    let mut scope = Scope::of(template);
    let is_known = |scope: &Scope, name: &str| {
        scope.contains(name) || around.is_some_and(|around| around.contains(name))
    };
    match template.form() {
        Some(Form::Steps) => {
            walk.steps(&mut scope, &is_known);
            walk.outputs(&scope, &is_known);
        }
        Some(Form::Dag) => {
            walk.tasks(&mut scope, &is_known);
            walk.outputs(&scope, &is_known);
        }
        Some(_) => {
            for (at, text) in template.at.texts() {
                walk.text(&at, text, &scope, &|name| is_known(&scope, name));
            }
        }
        None => {}
    }
}

type IsKnown<'k> = &'k dyn Fn(&Scope, &str) -> bool;

struct Walk<'w, 'a> {
    subject: &'w Subject<'w>,
    home: &'w Home<'w>,
    template: &'w Template<'w>,
    report: &'w mut Report<'a>,
}

impl Walk<'_, '_> {
    /// Steps see what the steps before them give.
    fn steps(&mut self, scope: &mut Scope, is_known: IsKnown<'_>) {
        let mut groups: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
        for step in &self.template.calls {
            groups
                .entry(step.group.unwrap_or_default())
                .or_default()
                .insert(step.name);
        }
        for step in &self.template.calls {
            scope.add(format!("{}.status", step.prefix()));
            scope.items(step);
            if step.has_exit_hook() {
                scope.outputs(self.subject, self.home, step);
            }
            let mut inner = Scope::default();
            if let Some(inline) = &step.inline {
                inner.inputs(inline);
            }
            for (at, text) in step.at.texts() {
                self.text(&at, text, scope, &|name| {
                    is_known(scope, name) || inner.contains(name)
                });
                if !is_hook(step, &at) {
                    let group = &groups[&step.group.unwrap_or_default()];
                    self.siblings(step, group, &at, text, scope);
                }
            }
            self.inline(step, scope);
            scope.outputs(self.subject, self.home, step);
        }
    }

    /// Tasks see the outputs of all, but the status only of those that they wait for.
    fn tasks(&mut self, scope: &mut Scope, is_known: IsKnown<'_>) {
        for task in &self.template.calls {
            scope.outputs(self.subject, self.home, task);
            if task.at.get("hooks").is_some() {
                scope.add(format!("{}.status", task.prefix()));
            }
        }
        if let Some(target) = self.template.at.find(&["dag", "target"]) {
            let text = target.node.text().unwrap_or_default();
            self.text(&target, text, scope, &|name| is_known(scope, name));
        }
        let order = Order::of(self.template);
        for task in &self.template.calls {
            let mut inner = Scope::default();
            inner.items(task);
            if let Some(inline) = &task.inline {
                inner.inputs(inline);
            }
            for (at, text) in task.at.texts() {
                let known = |name: &str| {
                    is_known(scope, name)
                        || inner.contains(name)
                        || status_of(name).is_some_and(|other| order.waits_for(task.name, other))
                };
                self.text(&at, text, scope, &known);
                if !is_hook(task, &at) {
                    self.order(task, &order, &at, text);
                }
            }
            self.inline(task, scope);
        }
    }

    fn inline(&mut self, call: &Call<'_>, scope: &Scope) {
        if let Some(inline) = &call.inline {
            let mut around = scope.clone();
            around.items(call);
            check(self.subject, self.home, inline, Some(&around), self.report);
        }
    }

    fn outputs(&mut self, scope: &Scope, is_known: IsKnown<'_>) {
        let Some(outputs) = self.template.at.get("outputs") else {
            return;
        };
        for (at, text) in outputs.texts() {
            self.text(&at, text, scope, &|name| is_known(scope, name));
        }
    }

    /// One text: every simple tag must be known.
    fn text(&mut self, at: &At<'_>, text: &str, scope: &Scope, known: &dyn Fn(&str) -> bool) {
        // Braces that are never closed stay as they stand.
        let Ok(tags) = scan(text) else { return };
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for tag in tags {
            let piece = &text[tag.start..tag.end];
            let nth = counts.entry(piece).or_default();
            let occurrence = *nth;
            *nth += 1;
            if tag.kind == TagKind::Expression {
                continue;
            }
            let name = tag.text;
            if name == "item" && !known("item") {
                let place = locate(self.report.read(), at, piece, occurrence);
                self.report.add(
                    Severity::Warning,
                    "item-outside-loop",
                    at,
                    place,
                    format!("`{piece}` stands outside any loop and stays as it is"),
                    Some("add `withItems` or `withParam`, or hand it on as an argument".to_owned()),
                );
                continue;
            }
            let checked = CHECKED.iter().any(|root| name.starts_with(root));
            if checked {
                let fine = ALWAYS.iter().any(|prefix| name.starts_with(prefix))
                    || self.subject.globals.contains(name, self.template.name)
                    || known(name);
                if !fine {
                    self.unresolved(at, piece, occurrence, name, scope);
                }
            } else if let Some(root) = misspelt_root(name) {
                let place = locate(self.report.read(), at, piece, occurrence);
                self.report.add(
                    Severity::Warning,
                    "unknown-variable",
                    at,
                    place,
                    format!(
                        "no variable begins with `{}`; the tag stays as it is",
                        first(name)
                    ),
                    Some(format!("did you mean `{root}`?")),
                );
            }
        }
    }

    fn unresolved(&mut self, at: &At<'_>, piece: &str, nth: usize, name: &str, scope: &Scope) {
        let mut parts = name.splitn(3, '.');
        let (root, call) = (
            parts.next().unwrap_or_default(),
            parts.next().unwrap_or_default(),
        );
        let calls: Vec<&str> = self.template.calls.iter().map(|call| call.name).collect();
        let hint = match root {
            "steps" | "tasks" if calls.contains(&call) && name.ends_with(".status") => {
                format!("it is known only to what waits for `{call}`")
            }
            "steps" if calls.contains(&call) && !scope.contains(&format!("steps.{call}.id")) => {
                format!("`{call}` comes later")
            }
            _ => self.near(root, call, name, scope).map_or_else(
                || missing(root, name),
                |near| format!("did you mean `{{{{{near}}}}}`?"),
            ),
        };
        let place = locate(self.report.read(), at, piece, nth);
        self.report.add(
            Severity::Error,
            "unresolved-tag",
            at,
            place,
            format!("`{piece}` names nothing that exists here"),
            Some(hint),
        );
    }

    /// A known name near to one that is not. Of steps and tasks, either the name or what it gives is
    /// taken for misspelt.
    fn near(&mut self, root: &str, call: &str, name: &str, scope: &Scope) -> Option<String> {
        let prefix = format!("{root}.{call}.");
        if !matches!(root, "steps" | "tasks") {
            let root = format!("{root}.");
            let known = scope.below(&root).chain(self.subject.globals.names());
            return self.report.nearest(name, known).map(str::to_owned);
        }
        if self.template.calls.iter().any(|other| other.name == call) {
            return self
                .report
                .nearest(name, scope.below(&prefix))
                .map(str::to_owned);
        }
        let calls = self.template.calls.iter().map(|call| call.name);
        let near = self.report.nearest(call, calls)?;
        let rest = name.strip_prefix(&prefix)?;
        Some(format!("{root}.{near}.{rest}"))
    }

    /// A task that reads what another gives must wait for it.
    fn order(&mut self, task: &Call<'_>, order: &Order, at: &At<'_>, text: &str) {
        let Ok(tags) = scan(text) else { return };
        for tag in tags.iter().filter(|tag| tag.kind == TagKind::Simple) {
            let Some(other) = tag
                .text
                .strip_prefix("tasks.")
                .and_then(|rest| rest.split('.').next())
            else {
                continue;
            };
            // A status that is not known was reported already.
            if !order.has(other)
                || tag.text == "tasks.name"
                || tag.text.ends_with(".status")
                || order.waits_for(task.name, other)
            {
                continue;
            }
            // Argo looks at arguments that begin with such a tag, and at nothing else.
            let argument = at.path.as_str().contains(".arguments.") && tag.start == 0;
            let severity = if argument {
                Severity::Error
            } else {
                Severity::Warning
            };
            let place = locate(self.report.read(), at, &text[tag.start..tag.end], 0);
            self.report.add(
                severity,
                "missing-dependency",
                at,
                place,
                format!(
                    "task `{}` reads what `{other}` gives and does not wait for it",
                    task.name
                ),
                Some(format!("add `{other}` to its `depends`")),
            );
        }
    }

    /// Steps of one group start together.
    fn siblings(
        &mut self,
        step: &Call<'_>,
        group: &BTreeSet<&str>,
        at: &At<'_>,
        text: &str,
        scope: &Scope,
    ) {
        let Ok(tags) = scan(text) else { return };
        for tag in tags.iter().filter(|tag| tag.kind == TagKind::Simple) {
            let other = tag
                .text
                .strip_prefix("steps.")
                .and_then(|rest| rest.split('.').next());
            // What is not known at all was reported already.
            let Some(other) = other.filter(|other| group.contains(other)) else {
                continue;
            };
            if !scope.contains(tag.text) {
                continue;
            }
            let place = locate(self.report.read(), at, &text[tag.start..tag.end], 0);
            self.report.add(
                Severity::Warning,
                "missing-dependency",
                at,
                place,
                format!(
                    "step `{}` reads what `{other}` gives, and both start together",
                    step.name
                ),
                Some("move it to a later group: `- - name: …`".to_owned()),
            );
        }
    }
}

/// Whether a text of a call stands in one of its hooks, which run after it.
fn is_hook(call: &Call<'_>, at: &At<'_>) -> bool {
    let below = at.path.as_str().get(call.at.path.as_str().len()..);
    below.is_some_and(|below| below.starts_with(".hooks"))
}

/// The task whose status a name asks for.
fn status_of(name: &str) -> Option<&str> {
    name.strip_prefix("tasks.")?.strip_suffix(".status")
}

fn first(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// The root that was meant, where a dotted name begins with something like one.
fn misspelt_root(name: &str) -> Option<&'static str> {
    let root = first(name);
    let dotted = name.contains('.')
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    if !dotted || root.is_empty() || ROOTS.contains(&root) {
        return None;
    }
    crate::nearest::nearest(root, ROOTS)
        .and_then(|near| ROOTS.into_iter().find(|root| *root == near))
}

/// A hint where no name is near.
fn missing(root: &str, name: &str) -> String {
    match root {
        "inputs" => "declare it under `inputs`".to_owned(),
        "workflow" if name.starts_with("workflow.parameters.") => {
            "declare it under the workflow's `arguments.parameters`".to_owned()
        }
        "workflow" if name == "workflow.failures" => "only an exit handler knows it".to_owned(),
        "steps" | "tasks" => "nothing of this name gives a value here".to_owned(),
        "item" => "its items have no such key".to_owned(),
        "pod" => "only a container or script has a pod".to_owned(),
        _ => "remove it, or define what it names".to_owned(),
    }
}
