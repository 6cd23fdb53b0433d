//! Templates of other documents that this one calls, where nobody checks those documents by
//! themselves: their faults are said at the call.

use std::collections::BTreeSet;

use super::super::Subject;
use super::super::library::Target;
use super::super::model::{At, Home, Template};
use super::super::report::Report;

pub(super) fn check(subject: &Subject<'_>, report: &mut Report<'_>) {
    if let Some(reference) = subject.home.spec.get("workflowTemplateRef")
        && let Some(base) = subject.library.stored(&reference)
    {
        for template in &base.templates {
            follow(subject, base, template, &reference, report);
        }
    }
    for template in subject.home.all_templates() {
        for call in &template.calls {
            if let Some(reference) = call.at.get("templateRef")
                && let Target::Found(home, called) = subject.library.reference(&reference)
            {
                follow(subject, home, called, &reference, report);
            }
        }
    }
}

/// Says the first fault of a template of another document, or of one that it calls.
fn follow(
    subject: &Subject<'_>,
    home: &Home<'_>,
    template: &Template<'_>,
    reference: &At<'_>,
    report: &mut Report<'_>,
) {
    let mut seen = BTreeSet::new();
    let mut open = vec![(home, template)];
    while let Some((home, template)) = open.pop() {
        if subject.is_judged(home) || !seen.insert(std::ptr::from_ref(template.at.node)) {
            continue;
        }
        let mut own = Report::new(home.read);
        super::template(subject, home, template, &mut own);
        super::tags::check(subject, home, template, None, &mut own);
        if let Some(fault) = own.first_error() {
            report.error(
                "faulty-reference",
                reference,
                format!(
                    "{} of `{}` has a fault: {}",
                    template.title(),
                    home.read.metadata().name,
                    fault.message
                ),
                Some(match fault.position {
                    Some(position) => format!("it is in `{}`, line {}", fault.file, position.line),
                    None => format!("it is in `{}`", fault.file),
                }),
            );
            return;
        }
        for call in &template.calls {
            if let Target::Found(home, called) = subject.library.target(home, call) {
                open.push((home, called));
            }
        }
    }
}
