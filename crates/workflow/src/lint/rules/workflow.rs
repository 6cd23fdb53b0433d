//! The workflow as a whole: entrypoint, exit handler, hooks, and fields with few words.

use super::super::model::{At, Home, is_dynamic};
use super::super::report::Report;
use super::super::{Purpose, Subject};
use crate::read::Kind;

pub(super) fn check(subject: &Subject<'_>, report: &mut Report<'_>) {
    let spec = &subject.home.spec;
    let base = base(subject, report);
    entrypoint(subject, base, report);
    named(subject, base, "onExit", "exit handler", report);
    hooks(spec, report);
    if let Some(gc) = spec.get("podGC")
        && let Some(strategy) = gc.text("strategy")
        && !POD_GC.contains(&strategy)
    {
        report.error(
            "invalid-choice",
            &gc.place("strategy"),
            format!("`{strategy}` is no strategy of `podGC`"),
            Some(format!("use one of `{}`", POD_GC.join("`, `"))),
        );
    }
}

const POD_GC: [&str; 4] = [
    "OnPodCompletion",
    "OnPodSuccess",
    "OnWorkflowCompletion",
    "OnWorkflowSuccess",
];

/// The stored workflow that this one is made from.
fn base<'s>(subject: &'s Subject<'_>, report: &mut Report<'_>) -> Option<&'s Home<'s>> {
    let spec = &subject.home.spec;
    let reference = spec.get("workflowTemplateRef")?;
    if let Some(templates) = spec.get("templates")
        && templates.items().next().is_some()
    {
        report.error(
            "conflicting-fields",
            &templates,
            "`templates` and `workflowTemplateRef` stand in one workflow".to_owned(),
            Some("keep one of them".to_owned()),
        );
    }
    let found = subject.library.stored(&reference);
    let name = reference.text("name").unwrap_or_default();
    if found.is_none() && !is_dynamic(name) {
        let hint = report.nearest(name, subject.library.names()).map_or_else(
            || "give the file that holds it as well".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        report.error(
            "undefined-reference",
            &reference.place("name"),
            format!("the stored workflow `{name}` is in none of the files"),
            Some(hint),
        );
    }
    found
}

fn entrypoint(subject: &Subject<'_>, base: Option<&Home<'_>>, report: &mut Report<'_>) {
    let home = subject.home;
    if home.spec.text("entrypoint").is_some() {
        named(subject, base, "entrypoint", "entrypoint", report);
        return;
    }
    let inherited = base.is_some_and(|base| base.spec.text("entrypoint").is_some());
    let unknown_base = base.is_none() && home.spec.get("workflowTemplateRef").is_some();
    if inherited || unknown_base || home.is_stored() || home.spec.node.entry("entrypoint").is_some()
    {
        // An entrypoint that is no text was reported as a wrong type, unless it says nothing.
        let says_nothing = home
            .spec
            .node
            .entry("entrypoint")
            .is_some_and(|entry| matches!(entry.value.text(), Some("")));
        if !says_nothing || inherited || unknown_base || home.is_stored() {
            return;
        }
    }
    let hint = match home.template_names().next() {
        Some(name) => format!("add `entrypoint: {name}`"),
        None => "name the template that the run starts with".to_owned(),
    };
    report.error(
        "missing-entrypoint",
        &home.spec,
        "the workflow has no `entrypoint`".to_owned(),
        Some(hint),
    );
}

/// A field of the workflow that names a template.
fn named(
    subject: &Subject<'_>,
    base: Option<&Home<'_>>,
    field: &str,
    word: &str,
    report: &mut Report<'_>,
) {
    let spec = &subject.home.spec;
    let Some(name) = spec.text(field) else { return };
    let home = match (base, spec.get("workflowTemplateRef")) {
        (Some(base), _) => base,
        (None, Some(_)) => return,
        (None, None) => subject.home,
    };
    if home.template(name).is_none() && !is_dynamic(name) {
        let hint = report
            .nearest(name, home.template_names())
            .map(|near| format!("did you mean `{near}`?"));
        report.error(
            "undefined-template",
            &spec.place(field),
            format!("the {word} `{name}` is defined nowhere"),
            hint,
        );
    }
}

/// Hooks other than `exit` need a condition.
pub(super) fn hooks(at: &At<'_>, report: &mut Report<'_>) {
    let Some(hooks) = at.get("hooks") else { return };
    for (name, hook) in hooks.entries() {
        if name != "exit" && hook.text("expression").is_none() {
            report.error(
                "missing-expression",
                &hook,
                format!("hook `{name}` does not say when it runs"),
                Some("add `expression:`".to_owned()),
            );
        }
    }
}

/// Whether the document may still get its values from whoever starts it.
pub(super) fn values_may_come(subject: &Subject<'_>) -> bool {
    let stored = subject.home.is_stored();
    match subject.options.purpose {
        Purpose::Lint => subject.home.read.kind != Kind::CronWorkflow,
        Purpose::Submit => false,
        Purpose::Start => stored,
    }
}
