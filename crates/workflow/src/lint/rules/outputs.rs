//! Outputs: each has one source that its template can give.

use super::super::model::{At, Form, Template};
use super::super::report::Report;

pub(super) fn check(template: &Template<'_>, report: &mut Report<'_>) {
    for output in template.outputs() {
        let value = output.node.get("value").is_some();
        match (value, output.get("valueFrom")) {
            (true, Some(from)) => report.error(
                "conflicting-fields",
                &from,
                format!(
                    "output `{}` has both `value` and `valueFrom`",
                    output.name()
                ),
                Some("keep one of them".to_owned()),
            ),
            (true, None) => {}
            (false, None) => report.error(
                "missing-value",
                &output,
                format!(
                    "output `{}` has neither `value` nor `valueFrom`",
                    output.name()
                ),
                Some(way_out(template)),
            ),
            (false, Some(from)) => source(template, &output, &from, report),
        }
    }
}

fn source(template: &Template<'_>, output: &At<'_>, from: &At<'_>, report: &mut Report<'_>) {
    let texts = ["path", "jqFilter", "jsonPath", "parameter", "expression"];
    let mut set: Vec<&str> = texts
        .into_iter()
        .filter(|field| from.text(field).is_some())
        .collect();
    if from.get("supplied").is_some() {
        set.push("supplied");
    }
    match set.as_slice() {
        [] => report.error(
            "missing-value",
            from,
            format!(
                "output `{}` does not say where its value is from",
                output.name()
            ),
            Some(way_out(template)),
        ),
        [one] => fitting(template, output, from, one, report),
        several => report.error(
            "conflicting-fields",
            from,
            format!(
                "output `{}` has several sources: `{}`",
                output.name(),
                several.join("`, `")
            ),
            Some("keep one of them".to_owned()),
        ),
    }
}

fn fitting(
    template: &Template<'_>,
    output: &At<'_>,
    from: &At<'_>,
    source: &str,
    report: &mut Report<'_>,
) {
    let fits = match template.form() {
        Some(Form::Container | Form::ContainerSet | Form::Script) => source == "path",
        Some(Form::Resource) => matches!(source, "jqFilter" | "jsonPath"),
        Some(Form::Steps | Form::Dag) => matches!(source, "parameter" | "expression"),
        Some(Form::Suspend | Form::Http | Form::Data | Form::Plugin) | None => true,
    };
    if !fits {
        report.error(
            "invalid-value-source",
            &from.place(source),
            format!(
                "output `{}` cannot get its value from `{source}`",
                output.name()
            ),
            Some(way_out(template)),
        );
    }
}

fn way_out(template: &Template<'_>) -> String {
    match template.form() {
        Some(Form::Resource) => "use `valueFrom` with `jsonPath` or `jqFilter`",
        Some(Form::Steps | Form::Dag) => {
            "use `valueFrom` with `parameter`, a tag, or with `expression`"
        }
        Some(Form::Suspend) => "use `valueFrom` with `supplied: {}`",
        _ => "use `valueFrom` with `path`, a file that the step writes",
    }
    .to_owned()
}
