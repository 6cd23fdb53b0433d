//! Leaves: what they need, and fields that only leaves or only groups have.

use std::collections::BTreeMap;

use super::super::model::{At, Form, Home, Template, is_dynamic};
use super::super::report::Report;
use crate::read::NodeValue;

pub(super) fn check(home: &Home<'_>, template: &Template<'_>, report: &mut Report<'_>) {
    let Some(form) = template.form() else { return };
    if matches!(form, Form::Container | Form::Script) {
        image(home, template, form, report);
    }
    if form == Form::Container
        && let Some(container) = template.body()
    {
        mounts(template, &container, report);
    }
    deadline(template, form, report);
    if !form.is_group() && template.at.get("parallelism").is_some() {
        report.error(
            "misplaced-field",
            &template.at.place("parallelism"),
            format!(
                "`parallelism` is only for `steps` and `dag`, and {} is neither",
                template.title()
            ),
            Some("set it on the template that calls this one".to_owned()),
        );
    }
    timeouts(template, form, report);
    for container in template.at.list(&["initContainers"]) {
        if container.name().is_empty() {
            report.error(
                "missing-name",
                &container,
                "an init container has no name".to_owned(),
                Some("add `name:`".to_owned()),
            );
        }
    }
    for field in ["initContainers", "sidecars"] {
        for container in template.at.list(&[field]) {
            reserved(&container, report);
        }
    }
    devices(template, form, report);
}

fn image(home: &Home<'_>, template: &Template<'_>, form: Form, report: &mut Report<'_>) {
    let Some(body) = template.body() else { return };
    if !matches!(body.node.value, NodeValue::Map(_)) {
        return;
    }
    if body
        .node
        .entry("image")
        .is_some_and(|entry| entry.value.text() != Some(""))
    {
        return;
    }
    let inherited = home
        .spec
        .find(&["templateDefaults", form.field()])
        .is_some_and(|defaults| defaults.text("image").is_some());
    if !inherited {
        report.error(
            "missing-image",
            &body,
            format!("{} has no `image`", template.title()),
            Some("add `image:`".to_owned()),
        );
    }
}

fn mounts(template: &Template<'_>, container: &At<'_>, report: &mut Report<'_>) {
    let mut taken: BTreeMap<&str, u32> = BTreeMap::new();
    let mounts = container
        .list(&["volumeMounts"])
        .into_iter()
        .filter_map(|mount| mount.get("mountPath"));
    let artifacts = template
        .input_artifacts()
        .into_iter()
        .filter_map(|artifact| artifact.get("path"));
    for at in mounts.chain(artifacts) {
        let Some(path) = at.node.text() else { continue };
        let line = at.node.position.line;
        match taken.get(path) {
            Some(first) => report.error(
                "duplicate-mount",
                &at,
                format!("two things are mounted at `{path}`"),
                Some(format!("the other one is in line {first}")),
            ),
            None => {
                taken.insert(path, line);
            }
        }
    }
}

fn deadline(template: &Template<'_>, form: Form, report: &mut Report<'_>) {
    let Some(deadline) = template.at.get("activeDeadlineSeconds") else {
        return;
    };
    if form.is_group() {
        report.error(
            "misplaced-field",
            &deadline,
            format!(
                "`activeDeadlineSeconds` is only for leaves, and {} calls others",
                template.title()
            ),
            Some("set it on the templates that are called".to_owned()),
        );
        return;
    }
    let fits = match &deadline.node.value {
        NodeValue::Number(number) => number.as_i64().is_some_and(|seconds| seconds >= 0),
        NodeValue::Text(text) => {
            text.parse::<i64>().is_ok_and(|seconds| seconds >= 0)
                || (text.starts_with("{{") && text.ends_with("}}"))
                || is_dynamic(text)
        }
        _ => true,
    };
    if !fits {
        report.error(
            "invalid-duration",
            &deadline,
            "`activeDeadlineSeconds` is no number of seconds".to_owned(),
            Some("write a whole number such as `600`, or a tag".to_owned()),
        );
    }
}

fn timeouts(template: &Template<'_>, form: Form, report: &mut Report<'_>) {
    for field in ["timeout", "pendingTimeout"] {
        let Some(at) = template.at.get(field) else {
            continue;
        };
        let Some(text) = at.node.text().filter(|text| !text.is_empty()) else {
            continue;
        };
        if !form.is_leaf() {
            report.error(
                "misplaced-field",
                &at,
                format!(
                    "`{field}` is only for leaves, and {} is none",
                    template.title()
                ),
                Some("set it on the templates that are called".to_owned()),
            );
        } else if text.parse::<i64>().is_ok() {
            report.error(
                "invalid-duration",
                &at,
                format!("`{field}: {text}` lacks its unit"),
                Some(format!("write `{text}s`")),
            );
        }
    }
}

/// Names that Argo gives to its own containers.
fn reserved(container: &At<'_>, report: &mut Report<'_>) {
    let name = container.name();
    if matches!(name, "wait" | "init") {
        report.error(
            "reserved-name",
            &container.place("name"),
            format!("`{name}` is the name of one of Argo's own containers"),
            Some("choose another name".to_owned()),
        );
    }
}

fn devices(template: &Template<'_>, form: Form, report: &mut Report<'_>) {
    for field in ["resourceClaims", "podResources"] {
        if let Some(at) = template.at.get(field)
            && !form.is_pod()
        {
            report.error(
                "misplaced-field",
                &at,
                format!("`{field}` is only for templates that run in a pod"),
                Some("set it on the templates that are called".to_owned()),
            );
        }
    }
}
