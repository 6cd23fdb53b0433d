//! Container sets: their names, their order, and a `main` where values go in or out.

use std::collections::{BTreeMap, BTreeSet};

use super::super::model::{Form, Template};
use super::super::report::Report;
use crate::expr::depends::sort;

pub(super) fn check(template: &Template<'_>, report: &mut Report<'_>) {
    if template.form() != Some(Form::ContainerSet) {
        return;
    }
    let Some(set) = template.body() else { return };
    let containers = set.list(&["containers"]);
    if containers.is_empty() {
        report.error(
            "missing-containers",
            &set,
            format!("{} has no containers", template.title()),
            Some("add `containers:`".to_owned()),
        );
        return;
    }
    let mut seen = BTreeSet::new();
    for container in &containers {
        let name = container.name();
        if name.is_empty() {
            report.error(
                "missing-name",
                container,
                "this container has no name".to_owned(),
                Some("add `name:`".to_owned()),
            );
        } else if !seen.insert(name) {
            report.error(
                "duplicate-name",
                &container.place("name"),
                format!("two containers are named `{name}`"),
                None,
            );
        }
        if matches!(name, "wait" | "init") {
            report.error(
                "reserved-name",
                &container.place("name"),
                format!("`{name}` is the name of one of Argo's own containers"),
                Some("choose another name".to_owned()),
            );
        }
    }
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for container in &containers {
        for dependency in container.list(&["dependencies"]) {
            let name = dependency.node.text().unwrap_or_default();
            edges
                .entry(container.name().to_owned())
                .or_default()
                .insert(name.to_owned());
            if !seen.contains(name) {
                let hint = report.nearest(name, seen.iter().copied());
                report.error(
                    "undefined-task",
                    &dependency,
                    format!(
                        "container `{}` waits for `{name}`, which is none here",
                        container.name()
                    ),
                    hint.map(|near| format!("did you mean `{near}`?")),
                );
            }
        }
    }
    let names: Vec<&str> = containers
        .iter()
        .map(|container| container.name())
        .collect();
    if let Err(cycle) = sort(&names, &edges) {
        report.error(
            "dependency-cycle",
            &set.place("containers"),
            format!("containers wait for each other: `{}`", cycle.join("` -> `")),
            Some("remove one of these dependencies".to_owned()),
        );
    }
    mounts(&set, report);
    let hands_over = !template.input_artifacts().is_empty()
        || !template.outputs().is_empty()
        || !template.output_artifacts().is_empty();
    if hands_over && !seen.contains("main") {
        report.error(
            "missing-main-container",
            &set.place("containers"),
            format!("no container of {} is named `main`", template.title()),
            Some("input artifacts and outputs are those of the container `main`".to_owned()),
        );
    }
}

fn mounts(set: &super::super::model::At<'_>, report: &mut Report<'_>) {
    let mut taken = BTreeSet::new();
    for mount in set.list(&["volumeMounts"]) {
        let path = mount.text("mountPath").unwrap_or_default();
        if !path.is_empty() && !taken.insert(path) {
            report.error(
                "duplicate-mount",
                &mount.place("mountPath"),
                format!("two things are mounted at `{path}`"),
                None,
            );
        }
    }
}
