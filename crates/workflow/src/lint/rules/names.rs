//! Names: there, well formed, and unique where they must be.

use std::collections::BTreeMap;

use super::super::model::{At, Home, Template, is_dynamic};
use super::super::report::Report;
use crate::read::{Kind, NodeValue};

/// What a name may be made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alphabet {
    /// Letters, digits and hyphens, beginning with a letter or digit.
    Field,
    /// Letters, digits, hyphens and underscores.
    Value,
}

/// Names of the document itself, its templates and its arguments.
pub(super) fn document(home: &Home<'_>, report: &mut Report<'_>) {
    let limit = match home.read.kind {
        // A run's name gets the time of the schedule appended.
        Kind::CronWorkflow => 52,
        Kind::Workflow | Kind::WorkflowTemplate | Kind::ClusterWorkflowTemplate => 63,
    };
    if let Some(name) = home.root.find(&["metadata", "name"]) {
        let length = name.node.text().map_or(0, str::len);
        if length > limit {
            report.error(
                "name-too-long",
                &name,
                format!("the name has {length} characters, more than {limit}"),
                Some("labels that Kubernetes makes of it are limited".to_owned()),
            );
        }
    }
    list(
        home.spec.list(&["templates"]),
        "template",
        Alphabet::Field,
        report,
    );
    arguments(&home.spec, report);
}

/// Names within a template.
pub(super) fn template(template: &Template<'_>, report: &mut Report<'_>) {
    list(
        template.inputs(),
        "input parameter",
        Alphabet::Value,
        report,
    );
    list(
        template.input_artifacts(),
        "input artifact",
        Alphabet::Value,
        report,
    );
    list(
        template.outputs(),
        "output parameter",
        Alphabet::Value,
        report,
    );
    list(
        template.output_artifacts(),
        "output artifact",
        Alphabet::Value,
        report,
    );
    let steps = template.calls.iter().filter(|call| call.group.is_some());
    list(
        steps.map(|call| call.at.clone()),
        "step",
        Alphabet::Field,
        report,
    );
    let tasks = template.calls.iter().filter(|call| call.group.is_none());
    list(
        tasks.map(|call| call.at.clone()),
        "task",
        Alphabet::Field,
        report,
    );
    for call in &template.calls {
        arguments(&call.at, report);
    }
    for output in template
        .outputs()
        .iter()
        .chain(&template.output_artifacts())
    {
        global_name(output, report);
    }
}

fn arguments(at: &At<'_>, report: &mut Report<'_>) {
    list(
        at.list(&["arguments", "parameters"]),
        "argument",
        Alphabet::Value,
        report,
    );
    list(
        at.list(&["arguments", "artifacts"]),
        "artifact argument",
        Alphabet::Value,
        report,
    );
}

fn global_name(output: &At<'_>, report: &mut Report<'_>) {
    if let Some(name) = output.text("globalName")
        && !is_dynamic(name)
        && !is_valid(name, Alphabet::Value)
    {
        invalid(&output.place("globalName"), name, Alphabet::Value, report);
    }
}

fn list<'a>(
    items: impl IntoIterator<Item = At<'a>>,
    word: &str,
    alphabet: Alphabet,
    report: &mut Report<'_>,
) {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for item in items {
        // A name that is no text was reported as a wrong type.
        let has_text = item
            .node
            .entry("name")
            .is_none_or(|entry| matches!(entry.value.value, NodeValue::Text(_) | NodeValue::Null));
        if !has_text || !matches!(item.node.value, NodeValue::Map(_) | NodeValue::Null) {
            continue;
        }
        let name = item.name();
        if name.is_empty() {
            report.error(
                "missing-name",
                &item,
                format!("this {word} has no name"),
                Some("add `name:`".to_owned()),
            );
            continue;
        }
        let at = item.place("name");
        // Names of templates and inputs are read before any tag is replaced.
        let late = !matches!(word, "template" | "input parameter" | "input artifact");
        let fine = is_valid(name, alphabet) || (late && is_dynamic(name));
        if !fine {
            invalid(&at, name, alphabet, report);
        }
        let line = at.node.position.line;
        match seen.get(name) {
            Some(first) => report.error(
                "duplicate-name",
                &at,
                format!("two {word}s are named `{name}`"),
                Some(format!("the other one is in line {first}")),
            ),
            None => {
                seen.insert(name, line);
            }
        }
    }
}

fn invalid(at: &At<'_>, name: &str, alphabet: Alphabet, report: &mut Report<'_>) {
    let (message, hint) = match alphabet {
        Alphabet::Field if name.len() > 128 => (
            format!("the name `{name}` has more than 128 characters"),
            "shorten it",
        ),
        Alphabet::Field => (
            format!("`{name}` is no valid name"),
            "use letters, digits and `-`, and begin with a letter or digit",
        ),
        Alphabet::Value => (
            format!("`{name}` is no valid name"),
            "use letters, digits, `-` and `_`",
        ),
    };
    report.error("invalid-name", at, message, Some(hint.to_owned()));
}

fn is_valid(name: &str, alphabet: Alphabet) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    match alphabet {
        Alphabet::Field => {
            name.len() <= 128
                && name.starts_with(|c: char| c.is_ascii_alphanumeric())
                && name.chars().all(plain)
        }
        Alphabet::Value => name.chars().all(|c| plain(c) || c == '_'),
    }
}
