//! Values that are handed over: present, from where they may come, among those allowed, and wanted.

use std::collections::BTreeSet;

use super::super::Subject;
use super::super::library::Target;
use super::super::model::{At, Call, Home, Template};
use super::super::report::Report;
use super::workflow::values_may_come;
use crate::read::NodeValue;

/// The workflow's own arguments, and what its entrypoint and exit handler need of them.
pub(super) fn document(subject: &Subject<'_>, report: &mut Report<'_>) {
    let home = subject.home;
    let own = home.spec.list(&["arguments", "parameters"]);
    let reference = home.spec.get("workflowTemplateRef");
    let base = reference.and_then(|reference| subject.library.stored(&reference));
    let inherited = base.map_or_else(Vec::new, |base| {
        base.spec.list(&["arguments", "parameters"])
    });
    let covered = |argument: &At<'_>| {
        inherited
            .iter()
            .any(|other| other.name() == argument.name() && is_supplied(other))
    };
    let may_come = values_may_come(subject);
    for argument in &own {
        let may_lack =
            may_come || covered(argument) || subject.options.given.contains(argument.name());
        if !is_supplied(argument) && !may_lack {
            unsupplied(argument, report);
        }
        value(argument, may_lack, report);
    }
    artifacts(&home.spec, report);
    // A stored workflow's entrypoint gets its values from whoever starts it.
    if home.is_stored() {
        return;
    }
    let home = base.unwrap_or(home);
    let mut names: BTreeSet<&str> = own.iter().map(At::name).collect();
    names.extend(inherited.iter().map(At::name));
    names.extend(subject.options.given.iter().map(String::as_str));
    let artifacts: BTreeSet<&str> = [&subject.home.spec, &home.spec]
        .iter()
        .flat_map(|spec| spec.list(&["arguments", "artifacts"]))
        .map(|artifact| artifact.name())
        .collect();
    for field in ["entrypoint", "onExit"] {
        let spec = if subject.home.spec.text(field).is_some() {
            &subject.home.spec
        } else {
            &home.spec
        };
        let Some(template) = spec.text(field).and_then(|name| home.template(name)) else {
            continue;
        };
        let place = subject.home.spec.place(field);
        let lacking = lacking(template, &names, &artifacts);
        if !lacking.is_empty() {
            missing_at_start(field, &place, template, &lacking, report);
        }
    }
}

fn missing_at_start(
    field: &str,
    place: &At<'_>,
    template: &Template<'_>,
    lacking: &[&str],
    report: &mut Report<'_>,
) {
    let mut hint = "add it to the workflow's `arguments`".to_owned();
    if field == "entrypoint" {
        let options: Vec<String> = lacking
            .iter()
            .map(|name| format!("-p {name}=VALUE"))
            .collect();
        hint = format!("{hint}, or run it here with {}", options.join(" "));
    }
    report.error(
        "missing-argument",
        place,
        format!(
            "{} needs `{}`, and nothing gives it",
            template.title(),
            lacking.join("`, `")
        ),
        hint,
    );
}

/// What the calls of a template hand over.
pub(super) fn template(
    subject: &Subject<'_>,
    home: &Home<'_>,
    template: &Template<'_>,
    report: &mut Report<'_>,
) {
    for call in &template.calls {
        for argument in call.arguments() {
            if !is_supplied(&argument) {
                unsupplied(&argument, report);
            }
            value(&argument, false, report);
        }
        artifacts(&call.at, report);
        if let Target::Found(_, target) = subject.library.target(home, call) {
            against(call, target, report);
        }
    }
}

/// Compares what a call gives with what its template takes.
fn against(call: &Call<'_>, target: &Template<'_>, report: &mut Report<'_>) {
    let given: Vec<At<'_>> = call.arguments();
    let names: BTreeSet<&str> = given.iter().map(At::name).collect();
    let given_artifacts = call.at.list(&["arguments", "artifacts"]);
    let artifact_names: BTreeSet<&str> = given_artifacts.iter().map(At::name).collect();
    let lacking = lacking(target, &names, &artifact_names);
    if !lacking.is_empty() {
        report.error(
            "missing-argument",
            &call.at.place("name"),
            format!(
                "{} `{}` does not give {} its input{} `{}`",
                call.word(),
                call.name,
                target.title(),
                if lacking.len() == 1 { "" } else { "s" },
                lacking.join("`, `")
            ),
            Some("add it under `arguments`, or give the input a `default`".to_owned()),
        );
    }
    let inputs = target.inputs();
    for argument in given {
        let name = argument.name();
        if name.is_empty() || inputs.iter().any(|input| input.name() == name) {
            continue;
        }
        let hint = match report.nearest(name, inputs.iter().map(At::name)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "remove it, or declare the input".to_owned(),
        };
        report.warn(
            "surplus-argument",
            &argument.place("name"),
            format!("{} has no input `{name}`", target.title()),
            Some(hint),
        );
    }
}

/// Inputs of a template that have no value of their own and are not among those given.
fn lacking<'a>(
    template: &Template<'a>,
    given: &BTreeSet<&str>,
    artifacts: &BTreeSet<&str>,
) -> Vec<&'a str> {
    let parameters = template.inputs().into_iter().filter(|input| {
        !is_supplied(input) && input.node.get("default").is_none() && !given.contains(input.name())
    });
    let inputs = template.input_artifacts().into_iter().filter(|input| {
        let optional = input
            .node
            .get("optional")
            .is_some_and(|node| node.value == NodeValue::Bool(true));
        !optional && !has_location(input) && !artifacts.contains(input.name())
    });
    parameters
        .chain(inputs)
        .map(|input| input.name())
        .filter(|name| !name.is_empty())
        .collect()
}

/// Whether a parameter has a value or a source of one.
fn is_supplied(parameter: &At<'_>) -> bool {
    parameter.node.get("value").is_some() || parameter.node.get("valueFrom").is_some()
}

fn unsupplied(argument: &At<'_>, report: &mut Report<'_>) {
    report.error(
        "missing-value",
        argument,
        format!(
            "argument `{}` has neither `value` nor `valueFrom`",
            argument.name()
        ),
        Some("add `value:`; `null` counts as none".to_owned()),
    );
}

/// Where an argument's value may come from, and which it may be.
fn value(argument: &At<'_>, may_lack: bool, report: &mut Report<'_>) {
    if let Some(from) = argument.get("valueFrom") {
        let allowed = ["configMapKeyRef", "event", "supplied"];
        let forbidden = ["path", "jsonPath", "parameter", "expression"];
        let fine = allowed.iter().any(|field| from.node.get(field).is_some())
            && !forbidden.iter().any(|field| from.text(field).is_some());
        if !fine {
            report.error(
                "invalid-value-source",
                &from,
                format!("argument `{}` cannot get its value from there", argument.name()),
                Some(
                    "an argument takes `value`, or `valueFrom` with `configMapKeyRef` or `supplied`"
                        .to_owned(),
                ),
            );
        }
    }
    let Some(choices) = argument.get("enum") else {
        return;
    };
    let choices_text: Vec<String> = choices.items().map(|choice| any_text(&choice)).collect();
    if choices_text.is_empty() {
        report.error(
            "invalid-choice",
            &choices,
            format!("`enum` of argument `{}` allows no value", argument.name()),
            Some("list the values that are allowed, or remove it".to_owned()),
        );
        return;
    }
    match argument.get("value") {
        // Said already where the value has no other source.
        None if may_lack || !is_supplied(argument) => {}
        None => report.error(
            "missing-value",
            argument,
            format!(
                "argument `{}` has an `enum` and no `value`",
                argument.name()
            ),
            None,
        ),
        Some(value) if choices_text.contains(&any_text(&value)) => {}
        Some(value) => report.error(
            "invalid-choice",
            &value,
            format!(
                "argument `{}` may not be `{}`",
                argument.name(),
                any_text(&value)
            ),
            Some(format!("its `enum` allows `{}`", choices_text.join("`, `"))),
        ),
    }
}

fn any_text(at: &At<'_>) -> String {
    match &at.node.value {
        NodeValue::Text(text) => text.clone(),
        _ => at.node.to_json().to_string(),
    }
}

/// Artifacts that are handed over come from somewhere.
fn artifacts(at: &At<'_>, report: &mut Report<'_>) {
    for artifact in at.list(&["arguments", "artifacts"]) {
        let from = artifact.text("from").is_some();
        let expression = artifact.text("fromExpression").is_some();
        if from && expression {
            report.error(
                "conflicting-fields",
                &artifact,
                format!(
                    "artifact `{}` has both `from` and `fromExpression`",
                    artifact.name()
                ),
                Some("keep one of them".to_owned()),
            );
        } else if !from && !has_location(&artifact) {
            report.error(
                "missing-artifact-source",
                &artifact,
                format!("artifact `{}` comes from nowhere", artifact.name()),
                Some("add `from:` or a location such as `s3:`".to_owned()),
            );
        }
    }
}

/// Places that an artifact may lie in.
const LOCATIONS: [&str; 10] = [
    "s3",
    "git",
    "http",
    "artifactory",
    "hdfs",
    "raw",
    "oss",
    "gcs",
    "azure",
    "plugin",
];

fn has_location(artifact: &At<'_>) -> bool {
    LOCATIONS
        .iter()
        .any(|field| artifact.node.get(field).is_some())
}
