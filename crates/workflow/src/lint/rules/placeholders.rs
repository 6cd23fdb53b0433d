//! Placeholders that a person was meant to fill.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::super::model::{At, Home};
use super::super::report::Report;
use super::super::spot::locate;
use crate::diagnostic::Severity;

/// `<your-org>`, `<CLUSTER_NAME>`, `<your name>`, `[e-mail]`, `[your-team]`. A single word in angle
/// brackets is a placeholder only when it says so, since markup and code use brackets as well.
static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
        <(?i:your|my|insert|replace|fill|change)(?:[-_\x20][A-Za-z0-9]+)+>
        | <(?i:your[a-z]*|placeholder|todo|tbd|changeme|fixme)>
        | <[a-z][a-z0-9]*(?:[-_][a-z0-9]+)+>
        | <[A-Z][A-Z0-9]*(?:[-_][A-Z0-9]+)+>
        | \[(?i:e-?mail(?:\x20protected)?|redacted|(?:your|insert)(?:[-_\x20][a-z0-9]+)+)\]",
    )
    .expect("the pattern is valid")
});

struct Use<'a> {
    at: At<'a>,
    count: usize,
}

pub(super) fn check(home: &Home<'_>, report: &mut Report<'_>) {
    let mut uses: BTreeMap<String, Use<'_>> = BTreeMap::new();
    for (at, text) in home.root.texts() {
        if !text.contains(['<', '[']) {
            continue;
        }
        for found in PLACEHOLDER.find_iter(text) {
            uses.entry(found.as_str().to_owned())
                .or_insert_with(|| Use {
                    at: at.clone(),
                    count: 0,
                })
                .count += 1;
        }
    }
    for (placeholder, found) in uses {
        let place = locate(report.read(), &found.at, &placeholder, 0);
        let more = match found.count {
            1 => String::new(),
            count => format!(", here and in {} more places", count - 1),
        };
        report.add(
            Severity::Warning,
            "unfilled-placeholder",
            &found.at,
            place,
            format!("`{placeholder}` is a placeholder{more}"),
            Some("put the real value in its place".to_owned()),
        );
    }
}
