//! Steps and tasks lead to templates that are there.

use super::super::Subject;
use super::super::library::Target;
use super::super::model::{At, Home, Template};
use super::super::report::Report;
use super::workflow;
use crate::diagnostic::Severity;

pub(super) fn check(
    subject: &Subject<'_>,
    home: &Home<'_>,
    template: &Template<'_>,
    report: &mut Report<'_>,
) {
    for call in &template.calls {
        let reference = call.at.get("templateRef");
        if let Some(reference) = &reference {
            shape(&call.at, reference, report);
        }
        match subject.library.target(home, call) {
            Target::Undefined => match &reference {
                Some(reference) => undefined_reference(subject, reference, report),
                None => undefined(
                    home,
                    &call.at,
                    &format!("{} `{}`", call.word(), call.name),
                    report,
                ),
            },
            Target::Nothing if reference.is_none() && call.at.node.entry("template").is_none() => {
                report.error(
                    "missing-template",
                    &call.at,
                    format!("{} `{}` calls no template", call.word(), call.name),
                    Some("add `template:`".to_owned()),
                );
            }
            Target::Found(..) | Target::Dynamic | Target::Nothing => {}
        }
        workflow::hooks(&call.at, report);
        hooks(home, &call.at, report);
    }
}

/// `templateRef` names a stored workflow and a template of it, and stands alone.
fn shape(call: &At<'_>, reference: &At<'_>, report: &mut Report<'_>) {
    if call.text("template").is_some() {
        report.error(
            "conflicting-fields",
            &call.place("template"),
            "`template` and `templateRef` stand in one call".to_owned(),
            Some("keep one of them".to_owned()),
        );
    }
    for field in ["name", "template"] {
        if reference.text(field).is_none() {
            report.error(
                "incomplete-reference",
                reference,
                format!("`templateRef` lacks `{field}`"),
                Some("it names a stored workflow and a template of it".to_owned()),
            );
        }
    }
}

fn undefined(home: &Home<'_>, call: &At<'_>, caller: &str, report: &mut Report<'_>) {
    let at = call.place("template");
    let name = at.node.text().unwrap_or_default();
    let hint = report.nearest(name, home.template_names()).map_or_else(
        || "define it under `templates`".to_owned(),
        |near| format!("did you mean `{near}`?"),
    );
    report.error(
        "undefined-template",
        &at,
        format!("{caller} refers to template `{name}`, which is defined nowhere"),
        Some(hint),
    );
}

fn undefined_reference(subject: &Subject<'_>, reference: &At<'_>, report: &mut Report<'_>) {
    let name = reference.text("name").unwrap_or_default();
    let template = reference.text("template").unwrap_or_default();
    let (field, message, hint) = match subject.library.stored(reference) {
        Some(stored) => (
            "template",
            format!("the stored workflow `{name}` has no template `{template}`"),
            report
                .nearest(template, stored.template_names())
                .map(|near| format!("did you mean `{near}`?")),
        ),
        None => (
            "name",
            format!("the stored workflow `{name}` is in none of the files"),
            Some(report.nearest(name, subject.library.names()).map_or_else(
                || "give the file that holds it as well".to_owned(),
                |near| format!("did you mean `{near}`?"),
            )),
        ),
    };
    report.error(
        "undefined-reference",
        &reference.place(field),
        message,
        hint,
    );
}

/// A hook's template is looked up only when the hook runs, so Argo takes the document.
fn hooks(home: &Home<'_>, call: &At<'_>, report: &mut Report<'_>) {
    let mut names = Vec::new();
    if call.text("onExit").is_some() {
        names.push(call.place("onExit"));
    }
    if let Some(hooks) = call.get("hooks") {
        names.extend(hooks.entries().filter_map(|(_, hook)| hook.get("template")));
    }
    for at in names {
        let name = at.node.text().unwrap_or_default();
        if name.is_empty() || home.template(name).is_some() || super::super::model::is_dynamic(name)
        {
            continue;
        }
        let hint = report
            .nearest(name, home.template_names())
            .map(|near| format!("did you mean `{near}`?"));
        report.add(
            Severity::Warning,
            "undefined-template",
            &at,
            at.node.position,
            format!("the hook's template `{name}` is defined nowhere"),
            hint,
        );
    }
}
