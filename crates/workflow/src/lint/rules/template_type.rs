//! A template is of exactly one type.

use super::super::model::{Form, Template};
use super::super::report::Report;

const TYPES: &str = "one of `container`, `script`, `steps`, `dag`, `suspend`, `containerSet`, \
                     `resource`, `http`, `data` and `plugin`";

pub(super) fn check(template: &Template<'_>, report: &mut Report<'_>) {
    match template.forms.as_slice() {
        [_] => {}
        // A type whose value is wrong was reported already.
        [] if Form::ALL
            .iter()
            .any(|form| template.at.node.entry(form.field()).is_some()) => {}
        [] => report.error(
            "missing-template-type",
            &template.at,
            format!("{} does nothing", template.title()),
            Some(format!("add {TYPES}")),
        ),
        several => {
            let fields: Vec<&str> = several.iter().map(|form| form.field()).collect();
            report.error(
                "several-template-types",
                &template.at,
                format!(
                    "{} is of several types: `{}`",
                    template.title(),
                    fields.join("`, `")
                ),
                Some("make it several templates".to_owned()),
            );
        }
    }
}
