//! Fields that only a cluster honours, as far as Argo looks into them.

use super::super::model::{At, Home, Template};
use super::super::report::Report;

pub(super) fn document(home: &Home<'_>, report: &mut Report<'_>) {
    resources(&home.spec, report);
    for plugin in home.spec.list(&["executorPlugins"]) {
        let name = plugin.find(&["metadata", "name"]);
        if name.is_none_or(|name| name.node.text() == Some("")) {
            report.error(
                "missing-name",
                &plugin,
                "an executor plugin has no name".to_owned(),
                Some("add `metadata: {name: …}`".to_owned()),
            );
        }
        if plugin
            .list(&["spec", "sidecar", "container", "ports"])
            .is_empty()
        {
            report.error(
                "missing-value",
                &plugin,
                "the container of an executor plugin has no port".to_owned(),
                Some("add `ports:` to `spec.sidecar.container`".to_owned()),
            );
        }
    }
}

pub(super) fn template(template: &Template<'_>, report: &mut Report<'_>) {
    resources(&template.at, report);
}

/// A pod as a whole has processors, memory and huge pages, and no devices.
fn resources(at: &At<'_>, report: &mut Report<'_>) {
    let Some(resources) = at.get("podResources") else {
        return;
    };
    if let Some(claims) = resources.get("claims") {
        report.error(
            "conflicting-fields",
            &claims,
            "a pod as a whole has no claims".to_owned(),
            Some("put them into the container's `resources`".to_owned()),
        );
    }
    for field in ["limits", "requests"] {
        let Some(amounts) = resources.get(field) else {
            continue;
        };
        for (name, amount) in amounts.entries() {
            if !matches!(name, "cpu" | "memory") && !name.starts_with("hugepages-") {
                report.error(
                    "invalid-choice",
                    &amount,
                    format!("`{name}` is no resource of a pod as a whole"),
                    Some("use `cpu`, `memory` or `hugepages-…`".to_owned()),
                );
            }
        }
    }
}
