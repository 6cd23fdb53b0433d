//! A plan's summary as plain text: what destroys first, one line an object, totals at the end.

use std::fmt::Write;

use super::escaped;
use crate::plan::{
    json::Action,
    summary::{AttributeChange, Counts, Outcome, OutputSummary, PlanSummary, ResourceSummary},
};

/// So many attributes of an object are named; the rest is counted.
const MOST_ATTRIBUTES: usize = 8;

/// Addresses up to this width are padded, so that what follows stands in a column.
const MOST_PADDING: usize = 48;

/// The summary as text of several lines, in UTF-8, without colours; it ends with a newline. No text
/// of the plan can break its layout, and no values of the plan are in it.
pub fn summary_text(summary: &PlanSummary) -> String {
    let mut text = String::new();
    for warning in warnings(summary) {
        text.push_str(&warning);
        text.push_str("\n\n");
    }
    for section in sections(summary) {
        section.write(&mut text);
    }
    text.push_str(&totals(summary));
    text.push('\n');
    text
}

fn warnings(summary: &PlanSummary) -> Vec<String> {
    let mut warnings = Vec::new();
    if summary.errored {
        let warning = "Planning failed: this is only a part of what would change.";
        warnings.push(warning.to_owned());
    } else if summary.complete == Some(false) {
        let warning = "Incomplete: applying this plan will leave changes for another one.";
        warnings.push(warning.to_owned());
    }
    if summary.counts.deferred > 0 {
        let changes = counted(summary.counts.deferred, "change");
        warnings.push(format!("{changes} put off to a later plan."));
    }
    warnings
}

/// A heading with its lines.
struct Section {
    title: String,
    lines: Vec<Line>,
}

/// A mark, what it is about, and remarks.
struct Line {
    mark: &'static str,
    subject: String,
    remarks: String,
}

impl Section {
    fn new(title: &str, lines: Vec<Line>) -> Self {
        Section {
            title: format!("{title} ({})", lines.len()),
            lines,
        }
    }

    fn write(&self, text: &mut String) {
        if self.lines.is_empty() {
            return;
        }
        let widths = self.lines.iter().map(|line| line.subject.chars().count());
        let column = widths
            .filter(|width| *width <= MOST_PADDING)
            .max()
            .unwrap_or(0);
        text.push_str(&self.title);
        text.push('\n');
        for Line {
            mark,
            subject,
            remarks,
        } in &self.lines
        {
            let line = format!("  {mark:<3} {subject:<column$}  {remarks}");
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text.push('\n');
    }
}

fn sections(summary: &PlanSummary) -> Vec<Section> {
    let resources = |title, wanted: fn(&Action) -> bool| {
        let chosen = summary
            .changes
            .iter()
            .filter(|change| wanted(&change.action));
        Section::new(title, chosen.map(resource_line).collect())
    };
    vec![
        resources("Destroy", |action| *action == Action::Delete),
        resources("Replace", |action| {
            matches!(
                action,
                Action::DeleteThenCreate | Action::CreateThenDelete | Action::ForgetThenCreate
            )
        }),
        resources("Forget, without destroying", |action| {
            *action == Action::Forget
        }),
        resources("Update", |action| *action == Action::Update),
        resources("Create", |action| *action == Action::Create),
        resources("Other", |action| matches!(action, Action::Other(_))),
        resources("State only", |action| *action == Action::NoOp),
        resources("Read during the apply", |action| *action == Action::Read),
        Section::new("Outputs", summary.outputs.iter().map(output_line).collect()),
        Section::new(
            "Drift: not as it was left",
            summary.drift.iter().map(drift_line).collect(),
        ),
    ]
}

fn resource_line(resource: &ResourceSummary) -> Line {
    let mut remarks = Vec::new();
    if let Action::Other(words) = &resource.action {
        remarks.push(format!("unknown action \"{}\"", escaped(words)));
    }
    if let Some(key) = &resource.deposed {
        remarks.push(format!("deposed object {}", escaped(key)));
    }
    if let Some(previous) = &resource.previous_address {
        remarks.push(format!("moved from {}", escaped(previous)));
    }
    if resource.imported {
        remarks.push("imported".to_owned());
    }
    remarks.extend(
        resource
            .reason
            .as_deref()
            .and_then(reason_in_words)
            .map(str::to_owned),
    );
    if !resource.attributes.is_empty() {
        remarks.push(attribute_list(&resource.attributes));
    }
    Line {
        mark: mark(&resource.action),
        subject: escaped(&resource.address),
        remarks: remarks.join("; "),
    }
}

fn drift_line(resource: &ResourceSummary) -> Line {
    let mut line = resource_line(resource);
    if resource.action == Action::Delete {
        line.remarks = "no longer there".to_owned();
    }
    line
}

fn output_line(output: &OutputSummary) -> Line {
    Line {
        mark: mark(&output.action),
        subject: escaped(&output.name),
        remarks: if output.sensitive { "sensitive" } else { "" }.to_owned(),
    }
}

fn mark(action: &Action) -> &'static str {
    match action {
        Action::Delete => "-",
        Action::DeleteThenCreate => "-/+",
        Action::CreateThenDelete => "+/-",
        Action::ForgetThenCreate => "./+",
        Action::Update => "~",
        Action::Create => "+",
        Action::Forget => ".",
        Action::Other(_) => "?",
        Action::Read => "<=",
        Action::NoOp => "=",
    }
}

/// Names of attributes: those that force a replacement first, those known only later last.
fn attribute_list(attributes: &[AttributeChange]) -> String {
    let mut ordered: Vec<&AttributeChange> = attributes.iter().collect();
    ordered.sort_by_key(|attribute| (!attribute.forces_replacement, attribute.unknown));
    let named = ordered.iter().take(MOST_ATTRIBUTES).map(|attribute| {
        let mut remarks = Vec::new();
        if attribute.forces_replacement {
            remarks.push("forces replacement");
        }
        if attribute.sensitive {
            remarks.push("sensitive");
        }
        if attribute.unknown {
            remarks.push("known later");
        }
        let name = escaped(&attribute.name);
        match &remarks[..] {
            [] => name,
            remarks => format!("{name} ({})", remarks.join(", ")),
        }
    });
    let mut list = named.collect::<Vec<_>>().join(", ");
    if ordered.len() > MOST_ATTRIBUTES {
        write!(list, " and {} more", ordered.len() - MOST_ATTRIBUTES).expect("text takes all");
    }
    list
}

/// What a word of the plan's format means; words that we don't know say nothing.
fn reason_in_words(reason: &str) -> Option<&'static str> {
    Some(match reason {
        "replace_because_tainted" => "tainted",
        "replace_by_request" => "asked for",
        "replace_by_triggers" => "triggered by another change",
        "delete_because_no_resource_config" => "no longer in the configuration",
        "delete_because_no_module" => "its module is no longer in the configuration",
        "delete_because_wrong_repetition" => "count or for_each came or went",
        "delete_because_count_index" => "beyond the count",
        "delete_because_each_key" => "its key is no longer in for_each",
        "delete_because_enabled_false" => "no longer enabled",
        "delete_because_no_move_target" => "moved to an address that is not configured",
        "read_because_config_unknown" => "depends on what is not known yet",
        "read_because_dependency_pending" => "depends on something that changes",
        "read_because_check_nested" => "read for a check",
        _ => return None,
    })
}

/// The last line.
fn totals(summary: &PlanSummary) -> String {
    let counts = &summary.counts;
    let unchanged = match (counts.no_op, counts.outputs_unchanged) {
        (0, 0) => String::new(),
        (objects, 0) => counted(objects, "object"),
        (0, outputs) => counted(outputs, "output"),
        (objects, outputs) => {
            format!(
                "{} and {}",
                counted(objects, "object"),
                counted(outputs, "output")
            )
        }
    };
    match summary.outcome() {
        Outcome::Errored => "Plan: failed, nothing can be applied.".to_owned(),
        Outcome::NothingEvaluated => {
            "Plan: nothing evaluated; there are no objects and no outputs to compare.".to_owned()
        }
        Outcome::NoChanges => {
            let drifted = match summary.drift.len() {
                0 => String::new(),
                drifted => format!("; {} drifted", counted(drifted, "object")),
            };
            let compared = match &*unchanged {
                "" => String::new(),
                unchanged => format!("; {unchanged} compared"),
            };
            format!("Plan: no changes{compared}{drifted}.")
        }
        Outcome::Changes => format!("Plan: {}.", changes_in_words(summary, counts)),
    }
}

fn changes_in_words(summary: &PlanSummary, counts: &Counts) -> String {
    let mut words = format!(
        "{} to create, {} to update, {} to replace, {} to destroy",
        counts.create,
        counts.update,
        counts.replace(),
        counts.delete,
    );
    let rest = [
        (counts.import, "to import"),
        (counts.moved, "to move"),
        (counts.forget, "to forget"),
        (counts.other, "of an unknown kind"),
        (counts.action_invocations, "to invoke"),
    ];
    for (count, what) in rest.into_iter().filter(|(count, _)| *count > 0) {
        write!(words, ", {count} {what}").expect("text takes all");
    }
    if !summary.outputs.is_empty() {
        let outputs = counted(summary.outputs.len(), "output");
        write!(words, "; {outputs} to change").expect("text takes all");
    }
    if !summary.drift.is_empty() {
        let drifted = counted(summary.drift.len(), "object");
        write!(words, "; {drifted} drifted").expect("text takes all");
    }
    words
}

fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
