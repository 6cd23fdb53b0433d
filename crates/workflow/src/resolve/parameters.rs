//! The values of a run: what the document says and what was given for it.

use std::collections::BTreeSet;

use super::Faults;
use crate::document::{AnyString, Parameter, Template};
use crate::nearest::nearest;

/// The workflow's arguments with the given values in force. As in Argo, given ones come first, in
/// the order given.
pub(super) fn merge(
    arguments: &[Parameter],
    entry: &Template,
    given: &[(String, String)],
    faults: &mut Faults<'_>,
) -> Vec<Parameter> {
    let mut merged = Vec::new();
    let mut seen = BTreeSet::new();
    for (name, value) in given {
        if !seen.insert(name.as_str()) {
            faults.error(
                "duplicate-parameter",
                format!("parameter `{name}` is given twice"),
                "arguments",
                Some("give it once".to_owned()),
            );
            continue;
        }
        let argument = arguments.iter().find(|argument| argument.name == *name);
        let input = entry
            .inputs
            .parameters
            .iter()
            .find(|input| input.name == *name);
        if argument.is_none() && input.is_none() {
            unknown(name, arguments, entry, faults);
            continue;
        }
        merged.push(Parameter {
            name: name.clone(),
            value: Some(AnyString(value.clone())),
            allowed: argument
                .or(input)
                .map(|parameter| parameter.allowed.clone())
                .unwrap_or_default(),
            description: argument
                .or(input)
                .and_then(|parameter| parameter.description.clone()),
            ..Parameter::default()
        });
    }
    merged.extend(
        arguments
            .iter()
            .filter(|argument| !seen.contains(argument.name.as_str()))
            .cloned(),
    );
    allowed(&merged, faults);
    missing(&merged, entry, faults);
    merged
}

fn unknown(name: &str, arguments: &[Parameter], entry: &Template, faults: &mut Faults<'_>) {
    let known: Vec<&str> = arguments
        .iter()
        .chain(&entry.inputs.parameters)
        .map(|parameter| parameter.name.as_str())
        .collect();
    let hint = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "the workflow takes no parameters".to_owned(),
        None => format!("it takes `{}`", known.join("`, `")),
    };
    faults.error(
        "unknown-parameter",
        format!("the workflow has no parameter `{name}`"),
        "arguments",
        Some(hint),
    );
}

fn allowed(merged: &[Parameter], faults: &mut Faults<'_>) {
    for parameter in merged {
        let Some(value) = &parameter.value else {
            continue;
        };
        if parameter.allowed.is_empty() || parameter.allowed.contains(value) {
            continue;
        }
        let values: Vec<&str> = parameter.allowed.iter().map(AnyString::as_str).collect();
        faults.error(
            "value-not-allowed",
            format!("parameter `{}` may not be `{value}`", parameter.name),
            "arguments",
            Some(format!("it may be `{}`", values.join("`, `"))),
        );
    }
}

fn missing(merged: &[Parameter], entry: &Template, faults: &mut Faults<'_>) {
    let supplied =
        |parameter: &Parameter| parameter.value.is_some() || parameter.value_from.is_some();
    let mut names: Vec<&str> = merged
        .iter()
        .filter(|argument| !supplied(argument))
        .map(|argument| argument.name.as_str())
        .collect();
    let inputs = entry.inputs.parameters.iter().filter(|input| {
        !supplied(input)
            && input.default.is_none()
            && !merged.iter().any(|argument| argument.name == input.name)
    });
    names.extend(inputs.map(|input| input.name.as_str()));
    if names.is_empty() {
        return;
    }
    let options: Vec<String> = names
        .iter()
        .map(|name| format!("-p {name}=VALUE"))
        .collect();
    faults.error(
        "missing-parameter",
        format!("no value for `{}`", names.join("`, `")),
        "arguments",
        Some(format!("add {}", options.join(" "))),
    );
}
