//! Loops: one source of items.

use super::super::model::Template;
use super::super::report::Report;

pub(super) fn check(template: &Template<'_>, report: &mut Report<'_>) {
    for call in &template.calls {
        let mut sources = Vec::new();
        if !call.at.list(&["withItems"]).is_empty() {
            sources.push("withItems");
        }
        if call.at.text("withParam").is_some() {
            sources.push("withParam");
        }
        let sequence = call.at.get("withSequence");
        if sequence.is_some() {
            sources.push("withSequence");
        }
        if let [first, second, ..] = sources.as_slice() {
            report.error(
                "conflicting-fields",
                &call.at.place(second),
                format!("`{first}` and `{second}` stand in one {}", call.word()),
                Some("keep one of them".to_owned()),
            );
        }
        let Some(sequence) = sequence else { continue };
        match (sequence.get("count"), sequence.get("end")) {
            (Some(_), Some(end)) => report.error(
                "conflicting-fields",
                &end,
                "`count` and `end` stand in one sequence".to_owned(),
                Some("keep one of them".to_owned()),
            ),
            (None, None) => report.warn(
                "endless-sequence",
                &sequence,
                "the sequence has neither `count` nor `end`".to_owned(),
                Some("add one of them; Argo ends the node in Error otherwise".to_owned()),
            ),
            (Some(_), None) | (None, Some(_)) => {}
        }
    }
}
