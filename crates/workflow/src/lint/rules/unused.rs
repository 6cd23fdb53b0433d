//! Inputs that a template declares and never uses.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::super::model::{Form, Template};
use super::super::report::Report;

static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"inputs\s*\??\.\s*parameters(?:\??\.([-A-Za-z0-9_]+)|\??\.?\[\s*['"]([^'"]+)['"]\s*\])?"#,
    )
    .expect("the pattern is valid")
});

pub(super) fn check(template: &Template<'_>, report: &mut Report<'_>) {
    let inputs = template.inputs();
    // A suspended node shows its inputs to a person; a plugin reads what it likes.
    if inputs.is_empty() || matches!(template.form(), None | Some(Form::Suspend | Form::Plugin)) {
        return;
    }
    let declared = format!("{}.inputs", template.at.path);
    let mut used = BTreeSet::new();
    for (at, text) in template.at.texts() {
        if !text.contains("inputs") {
            continue;
        }
        let own = at.path.as_str().starts_with(&declared);
        for found in REFERENCE.captures_iter(text) {
            match found.get(1).or(found.get(2)) {
                Some(name) => {
                    used.insert(name.as_str());
                }
                // The whole list, or a name that is made while the workflow runs.
                None if !own => return,
                None => {}
            }
        }
    }
    for input in inputs {
        if !input.name().is_empty() && !used.contains(input.name()) {
            report.warn(
                "unused-input",
                &input.place("name"),
                format!(
                    "{} never uses its input `{}`",
                    template.title(),
                    input.name()
                ),
                Some("remove it here and from the calls, or use it".to_owned()),
            );
        }
    }
}
