//! Argo's own verdicts on documents: how many of ours agree.

use groundplan_workflow::diagnostic::{Diagnostic, Severity};
use groundplan_workflow::lint::{Options, Purpose, judge, lint};
use groundplan_workflow::read::{Kind, ReadDocument, SourceFile, read_as};

use crate::shared;

struct Row {
    file: String,
    accepted: bool,
    purpose: Purpose,
    kind: Kind,
    note: String,
}

fn rows(table: &str) -> Vec<Row> {
    table
        .lines()
        .skip(1)
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            Row {
                file: columns[0].to_owned(),
                accepted: columns[1] == "accepted",
                purpose: match columns[5] {
                    "lint" => Purpose::Lint,
                    "submit" => Purpose::Submit,
                    _ => Purpose::Start,
                },
                kind: Kind::from_word(columns[6]).expect("a kind"),
                note: columns[8].to_owned(),
            }
        })
        .collect()
}

/// What is found in the last document of a file, the others being known to it.
fn found(name: &str, text: &str, row: &Row) -> Vec<Diagnostic> {
    let file = read_as(&SourceFile::new(name, text), Some(row.kind));
    let documents: Vec<&ReadDocument> = file.documents.iter().collect();
    let Some((last, _)) = documents.split_last() else {
        return file.diagnostics;
    };
    let start = last.root.position.offset;
    let mut found: Vec<Diagnostic> = file
        .diagnostics
        .iter()
        .filter(|found| found.position.is_none_or(|place| place.offset >= start))
        .cloned()
        .collect();
    found.extend(judge(&[*last], &documents, &Options::new(row.purpose)));
    found
}

/// The document with the label that the controller's defaults would give it.
fn with_default_label(text: &str) -> String {
    let labels = "\n  workflowMetadata:\n    labels:\n";
    if text.contains(labels) {
        text.replace(labels, &format!("{labels}      default-label: x\n"))
    } else {
        format!("{}{labels}      default-label: x\n", text.trim_end())
    }
}

#[test]
fn no_document_that_argo_runs_gets_an_error() {
    let Some(folder) = shared::path("conformance/argo/run") else {
        return;
    };
    let library = shared::documents(&folder.join("lib"));
    let documents = shared::documents(&folder);
    let mut rejected = Vec::new();
    let count = documents.len();
    for document in documents {
        let mut files = library.clone();
        files.push(document);
        let found = lint(&files);
        let errors = found
            .iter()
            .filter(|found| found.severity == Severity::Error);
        rejected.extend(errors.map(|found| {
            let line = found.position.map_or(0, |place| place.line);
            format!("{}:{line}: {} {}", found.file, found.code, found.message)
        }));
    }
    rejected.sort();
    rejected.dedup();
    shared::say(&format!("documents without a false error: {count}"));
    assert_eq!(rejected, Vec::<String>::new());
}

#[test]
fn lint_gives_argos_verdicts() {
    let Some(folder) = shared::path("conformance/argo/lint") else {
        return;
    };
    let table = shared::text(&folder.join("verdicts.tsv"));
    let rows = rows(&table);
    let mut agreed = 0;
    let mut wrongly_rejected = Vec::new();
    for row in &rows {
        let mut text = shared::text(&folder.join(&row.file));
        if row.note.contains("workflow defaults") {
            text = with_default_label(&text);
        }
        let found = found(&row.file, &text, row);
        let errors: Vec<String> = found
            .iter()
            .filter(|found| found.severity == Severity::Error)
            .map(|found| format!("{} {}: {}", found.code, found.path, found.message))
            .collect();
        if errors.is_empty() == row.accepted {
            agreed += 1;
        } else {
            shared::say(&format!(
                "differs: {} {:?} {errors:?}",
                row.file, row.purpose
            ));
        }
        if row.accepted && !errors.is_empty() {
            wrongly_rejected.push(row.file.clone());
        }
    }
    shared::say(&format!("lint rows: {agreed} of {}", rows.len()));
    assert_eq!(wrongly_rejected, Vec::<String>::new());
    assert_eq!(agreed, rows.len());
}
