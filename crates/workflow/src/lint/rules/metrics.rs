//! Metrics: names, help, and values.

use super::super::model::{At, Template};
use super::super::report::Report;
use crate::read::NodeValue;

pub(super) fn check(template: &Template<'_>, report: &mut Report<'_>) {
    for metric in template.at.list(&["metrics", "prometheus"]) {
        let name = metric.name();
        if !is_valid(name) {
            invalid(&metric.place("name"), "metric", name, report);
        }
        for label in metric.list(&["labels"]) {
            let key = label.text("key").unwrap_or_default();
            if !is_valid(key) {
                invalid(&label.place("key"), "metric label", key, report);
            }
        }
        if metric.text("help").is_none() {
            report.error(
                "missing-value",
                &metric,
                format!("metric `{name}` has no `help`"),
                Some("say in `help:` what it counts".to_owned()),
            );
        }
        values(&metric, report);
    }
}

fn values(metric: &At<'_>, report: &mut Report<'_>) {
    for field in ["gauge", "counter", "histogram"] {
        if let Some(at) = metric.get(field)
            && at.text("value").is_none()
        {
            report.error(
                "missing-value",
                &at,
                format!("the {field} of metric `{}` has no `value`", metric.name()),
                None,
            );
        }
    }
    let Some(gauge) = metric.get("gauge") else {
        return;
    };
    let realtime = gauge
        .node
        .get("realtime")
        .is_some_and(|node| node.value == NodeValue::Bool(true));
    let value = gauge.text("value").unwrap_or_default();
    if realtime && value.contains("resourcesDuration.") {
        report.error(
            "invalid-value-source",
            &gauge.place("value"),
            "`resourcesDuration` is known only when the step has ended".to_owned(),
            Some("remove `realtime: true`".to_owned()),
        );
    }
}

fn invalid(at: &At<'_>, word: &str, name: &str, report: &mut Report<'_>) {
    report.error(
        "invalid-name",
        at,
        format!("`{name}` is no valid name of a {word}"),
        Some("use letters, digits and `_`".to_owned()),
    );
}

fn is_valid(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
