//! Retries and locks.

use std::collections::BTreeSet;

use super::super::model::{At, Home, Template};
use super::super::report::Report;

const POLICIES: [&str; 4] = ["Always", "OnFailure", "OnError", "OnTransientError"];

/// The strategy and locks of a template.
pub(super) fn template(template: &Template<'_>, report: &mut Report<'_>) {
    strategy(&template.at, report);
    locks(&template.at, report);
}

/// Those of the workflow.
pub(super) fn document(home: &Home<'_>, report: &mut Report<'_>) {
    locks(&home.spec, report);
}

fn strategy(at: &At<'_>, report: &mut Report<'_>) {
    let Some(strategy) = at.get("retryStrategy") else {
        return;
    };
    if let Some(policy) = strategy.text("retryPolicy")
        && !POLICIES.contains(&policy)
        && !super::super::model::is_dynamic(policy)
    {
        report.error(
            "invalid-choice",
            &strategy.place("retryPolicy"),
            format!("`{policy}` is no `retryPolicy`"),
            Some(format!("use one of `{}`", POLICIES.join("`, `"))),
        );
    }
}

/// One lock twice in a list ends the workflow when it asks for them.
fn locks(at: &At<'_>, report: &mut Report<'_>) {
    let mut seen = BTreeSet::new();
    let mut mutexes = at.list(&["synchronization", "mutexes"]);
    mutexes.extend(at.find(&["synchronization", "mutex"]));
    for mutex in mutexes {
        let key = (mutex.name(), mutex.text("namespace").unwrap_or_default());
        if !mutex.name().is_empty() && !seen.insert(key) {
            report.warn(
                "duplicate-lock",
                &mutex,
                format!("mutex `{}` is asked for twice", mutex.name()),
                Some("ask for it once; Argo fails the workflow otherwise".to_owned()),
            );
        }
    }
}
