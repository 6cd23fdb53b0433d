//! Resource templates: an action, and one manifest that is YAML.

use super::super::model::{At, Form, Template, is_dynamic};
use super::super::report::Report;
use crate::read::{Limits, SourceFile, trees};

const ACTIONS: [&str; 6] = ["get", "create", "apply", "delete", "replace", "patch"];

pub(super) fn check(template: &Template<'_>, report: &mut Report<'_>) {
    if template.form() != Some(Form::Resource) {
        return;
    }
    let Some(resource) = template.body() else {
        return;
    };
    let action = resource.text("action").unwrap_or_default();
    if !ACTIONS.contains(&action) && !is_dynamic(action) {
        report.error(
            "invalid-choice",
            &resource.place("action"),
            format!("`{action}` is no action of a resource template"),
            Some(format!("use one of `{}`", ACTIONS.join("`, `"))),
        );
    }
    if matches!(action, "delete" | "get") {
        return;
    }
    let from = resource.get("manifestFrom");
    match (resource.text("manifest"), &from) {
        (None, None) => report.error(
            "missing-value",
            &resource,
            format!("{} has no manifest", template.title()),
            Some("add `manifest:`".to_owned()),
        ),
        (Some(_), Some(from)) => report.error(
            "conflicting-fields",
            from,
            "`manifest` and `manifestFrom` stand in one template".to_owned(),
            Some("keep one of them".to_owned()),
        ),
        (Some(text), None) => manifest(&resource, text, report),
        (None, Some(from)) => artifact(template, from, report),
    }
}

/// The manifest is YAML once its tags are replaced.
fn manifest(resource: &At<'_>, text: &str, report: &mut Report<'_>) {
    if text.trim_start().starts_with("{{") {
        return;
    }
    let mut plain = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        plain.push_str(&rest[..start]);
        let Some(length) = rest[start..].find("}}") else {
            break;
        };
        plain.push_str("tag");
        rest = &rest[start + length + 2..];
    }
    plain.push_str(rest);
    let (_, faults) = trees(&SourceFile::new("manifest", plain), Limits::default());
    if let Some(fault) = faults.iter().find(|fault| fault.code == "invalid-yaml") {
        report.error(
            "invalid-manifest",
            &resource.place("manifest"),
            format!("the manifest is not YAML: {}", fault.message),
            fault.hint.clone(),
        );
    }
}

fn artifact(template: &Template<'_>, from: &At<'_>, report: &mut Report<'_>) {
    let Some(artifact) = from.get("artifact") else {
        return;
    };
    let name = artifact.name();
    if !template
        .input_artifacts()
        .iter()
        .any(|input| input.name() == name)
    {
        report.error(
            "undefined-artifact",
            &artifact,
            format!(
                "the manifest's artifact `{name}` is no input of {}",
                template.title()
            ),
            Some("declare it under `inputs.artifacts`".to_owned()),
        );
    }
}
