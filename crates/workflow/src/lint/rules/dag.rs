//! Tasks and their dependencies: logic, names, cycles, targets.

use std::collections::{BTreeMap, BTreeSet};

use super::super::model::{At, Call, Form, Template, is_dynamic};
use super::super::report::Report;
use super::super::spot::locate;
use crate::diagnostic::{Position, Severity};
use crate::expr::depends::{Depends, DependsError, DependsErrorKind, TaskResult, sort};

pub(super) fn check(template: &Template<'_>, report: &mut Report<'_>) {
    if template.form() != Some(Form::Dag) {
        return;
    }
    let Some(dag) = template.body() else { return };
    if template.calls.is_empty() {
        if dag
            .node
            .entry("tasks")
            .is_none_or(|entry| entry.value.items().is_empty())
        {
            report.error(
                "empty-dag",
                &dag,
                format!("{} has no tasks", template.title()),
                Some("add `tasks:`".to_owned()),
            );
        }
        return;
    }
    let tasks: BTreeMap<&str, &Call<'_>> = template
        .calls
        .iter()
        .map(|task| (task.name, task))
        .collect();
    forms(template, report);
    for task in &template.calls {
        logic(task, &tasks, report);
        list(task, &tasks, report);
    }
    cycle(template, report);
    targets(&dag, &tasks, report);
}

/// What a task depends on, by name: from `depends`, else from `dependencies`.
pub(in super::super) fn dependencies(task: &Call<'_>) -> BTreeSet<String> {
    match task.at.text("depends") {
        Some(text) => Depends::parse(text)
            .map(|depends| depends.names().into_iter().map(str::to_owned).collect())
            .unwrap_or_default(),
        None => task
            .at
            .list(&["dependencies"])
            .iter()
            .filter_map(|name| name.node.text())
            .map(str::to_owned)
            .collect(),
    }
}

/// Forms that exclude each other.
fn forms(template: &Template<'_>, report: &mut Report<'_>) {
    let uses_depends = template
        .calls
        .iter()
        .any(|task| task.at.text("depends").is_some());
    for task in &template.calls {
        let has_list = !task.at.list(&["dependencies"]).is_empty();
        if uses_depends && has_list {
            report.error(
                "conflicting-fields",
                &task.at.place("dependencies"),
                "`depends` and `dependencies` are used in one DAG".to_owned(),
                Some(format!(
                    "write `depends: {}`",
                    dependencies(task)
                        .into_iter()
                        .collect::<Vec<_>>()
                        .join(" && ")
                )),
            );
        }
        if uses_depends && task.at.get("continueOn").is_some() {
            report.error(
                "conflicting-fields",
                &task.at.place("continueOn"),
                "`continueOn` is used in a DAG with `depends`".to_owned(),
                Some(format!(
                    "let the tasks after it say `{name} || {name}.Failed`",
                    name = task.name
                )),
            );
        }
        if (uses_depends || has_list) && task.name.starts_with(|c: char| c.is_ascii_digit()) {
            report.error(
                "invalid-name",
                &task.at.place("name"),
                format!("task `{}` begins with a digit", task.name),
                Some("in a DAG with dependencies, begin with a letter".to_owned()),
            );
        }
    }
}

fn logic(task: &Call<'_>, tasks: &BTreeMap<&str, &Call<'_>>, report: &mut Report<'_>) {
    let Some(at) = task.at.get("depends") else {
        return;
    };
    let text = at.node.text().unwrap_or_default();
    if text.is_empty() || is_dynamic(text) {
        return;
    }
    let depends = match Depends::parse(text) {
        Ok(depends) => depends,
        Err(fault) => return unparsable(&at, text, &fault, report),
    };
    for operand in depends.operands() {
        let place = within(report, &at, text, operand.offset, operand.length);
        let Some(other) = tasks.get(operand.name.as_str()) else {
            unknown(task, &at, place, &operand.name, tasks, report);
            continue;
        };
        if operand.result.is_some_and(TaskResult::needs_fan_out) && !other.is_loop() {
            let result = operand.result.map_or("", TaskResult::as_str);
            report.add(
                Severity::Error,
                "depends-without-items",
                &at,
                place,
                format!("`{}` is no loop, so it has no `{result}`", operand.name),
                Some("ask for `Succeeded` or `Failed`, or give the task `withItems`".to_owned()),
            );
        }
    }
}

fn unparsable(at: &At<'_>, text: &str, fault: &DependsError, report: &mut Report<'_>) {
    let hint = match &fault.kind {
        DependsErrorKind::UnknownResult { nearest, .. } => Some(match nearest {
            Some(near) => format!("did you mean `{}`?", near.as_str()),
            None => format!(
                "a result is one of `{}`",
                TaskResult::ALL.map(TaskResult::as_str).join("`, `")
            ),
        }),
        DependsErrorKind::Unclosed => Some("add the closing `)`".to_owned()),
        _ => Some("write names joined by `&&` and `||`, such as `a && (b || c.Failed)`".to_owned()),
    };
    let place = within(report, at, text, fault.offset, 0);
    report.add(
        Severity::Error,
        "invalid-depends",
        at,
        place,
        fault.to_string(),
        hint,
    );
}

fn list(task: &Call<'_>, tasks: &BTreeMap<&str, &Call<'_>>, report: &mut Report<'_>) {
    if task.at.text("depends").is_some() {
        return;
    }
    for item in task.at.list(&["dependencies"]) {
        let Some(name) = item.node.text() else {
            continue;
        };
        if !tasks.contains_key(name) && !is_dynamic(name) {
            let place = item.node.position;
            unknown(task, &item, place, name, tasks, report);
        }
    }
}

fn unknown(
    task: &Call<'_>,
    at: &At<'_>,
    place: Position,
    name: &str,
    tasks: &BTreeMap<&str, &Call<'_>>,
    report: &mut Report<'_>,
) {
    let hint = match report.nearest(name, tasks.keys().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "the DAG has no such task".to_owned(),
    };
    report.add(
        Severity::Error,
        "undefined-task",
        at,
        place,
        format!(
            "task `{}` depends on `{name}`, which is no task here",
            task.name
        ),
        Some(hint),
    );
}

fn cycle(template: &Template<'_>, report: &mut Report<'_>) {
    let names: Vec<&str> = template.calls.iter().map(|task| task.name).collect();
    let mut edges: BTreeMap<String, BTreeSet<String>> = template
        .calls
        .iter()
        .map(|task| (task.name.to_owned(), dependencies(task)))
        .collect();
    // Each cycle that is found is cut, so that the next one shows.
    while let Err(cycle) = sort(&names, &edges) {
        let cycle: Vec<String> = cycle.into_iter().map(str::to_owned).collect();
        let [first, ..] = cycle.as_slice() else {
            return;
        };
        let next = cycle.get(1).unwrap_or(first);
        if let Some(before) = edges.get_mut(first) {
            before.remove(next);
        }
        let Some(task) = template.calls.iter().find(|task| task.name == first) else {
            return;
        };
        let field = if task.at.text("depends").is_some() {
            "depends"
        } else {
            "dependencies"
        };
        report.error(
            "dependency-cycle",
            &task.at.place(field),
            format!(
                "tasks wait for each other: `{}` -> `{first}`",
                cycle.join("` -> `")
            ),
            Some("remove one of these dependencies".to_owned()),
        );
    }
}

fn targets(dag: &At<'_>, tasks: &BTreeMap<&str, &Call<'_>>, report: &mut Report<'_>) {
    let Some(target) = dag.text("target") else {
        return;
    };
    for name in target.split(' ') {
        if is_dynamic(name) || name.contains("}}") || tasks.contains_key(name) {
            continue;
        }
        let hint = report
            .nearest(name, tasks.keys().copied())
            .map(|near| format!("did you mean `{near}`?"));
        report.error(
            "undefined-task",
            &dag.place("target"),
            format!("the target `{name}` is no task here"),
            hint,
        );
    }
}

/// The place of a stretch of a text value.
fn within(report: &Report<'_>, at: &At<'_>, text: &str, offset: usize, length: usize) -> Position {
    let piece = text.get(offset..offset + length).unwrap_or_default();
    if piece.is_empty() {
        return at.node.position;
    }
    let nth = text[..offset].matches(piece).count();
    locate(report.read(), at, piece, nth)
}
