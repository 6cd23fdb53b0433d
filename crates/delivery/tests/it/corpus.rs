//! Plans of public repositories with facts that others computed from them.

#![expect(clippy::disallowed_methods, reason = "tests read their data")]
#![expect(clippy::print_stderr, reason = "tests say what does not run")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use groundplan_delivery::{
    plan::{
        read::read_plan,
        summary::{PlanSummary, summarize},
    },
    render::summary_text,
};

fn corpus() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("GROUNDPLAN_SHARED").map_or(beside, PathBuf::from);
    let corpus = shared.join("corpus/plans");
    if corpus.is_dir() {
        return Some(corpus);
    }
    eprintln!("not run: no corpus of plans at `{}`", corpus.display());
    None
}

/// The columns of the table that summaries have, in its order.
fn row(version: &str, summary: &PlanSummary) -> Vec<String> {
    let counts = &summary.counts;
    let mut row = vec![
        version.to_owned(),
        summary.tool_version.clone().unwrap_or("-".to_owned()),
    ];
    let numbers = [
        counts.create,
        counts.update,
        counts.delete,
        counts.replace(),
        counts.read,
        counts.no_op,
        counts.import,
        counts.moved,
        counts.forget,
        summary.outputs.len(),
        summary.drift.len(),
    ];
    row.extend(numbers.map(|number| number.to_string()));
    row.push(summary.errored.to_string());
    row.push(summary.needs_apply().to_string());
    row.push(counts.sensitive.to_string());
    row
}

#[test]
fn every_plan_of_the_corpus_gives_the_known_facts() {
    let Some(corpus) = corpus() else { return };
    let table = fs::read_to_string(corpus.join("expected.tsv")).unwrap();
    let (mut right, mut all) = (0, 0);
    for line in table.lines().skip(1) {
        let expected: Vec<&str> = line.split('\t').collect();
        let bytes = fs::read(corpus.join(expected[0])).unwrap();
        let plan = read_plan(&bytes).unwrap_or_else(|error| panic!("{}: {error}", expected[0]));
        let got = row(&plan.format_version, &summarize(&plan));
        all += 1;
        if got == expected[1..] {
            right += 1;
        } else {
            eprintln!(
                "{}:\n  expected {:?}\n  got      {got:?}",
                expected[0],
                &expected[1..]
            );
        }
    }
    println!("plan corpus: {right} of {all}");
    assert!(all >= 81, "the table has {all} rows");
    assert_eq!(right, all);
}

#[test]
fn every_address_that_changes_is_in_the_text() {
    let Some(corpus) = corpus() else { return };
    let table = fs::read_to_string(corpus.join("expected.tsv")).unwrap();
    for line in table.lines().skip(1) {
        let file = line.split('\t').next().unwrap();
        let bytes = fs::read(corpus.join(file)).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let text = summary_text(&summarize(&read_plan(&bytes).unwrap()));
        let empty = Vec::new();
        for change in value["resource_changes"].as_array().unwrap_or(&empty) {
            let address = change["address"].as_str().unwrap();
            let quiet = change["change"]["actions"] == serde_json::json!(["no-op"]);
            assert!(
                quiet || text.contains(address),
                "{file}: {address} is not in\n{text}"
            );
        }
    }
}

#[test]
fn broken_json_of_the_corpus_is_refused() {
    let Some(corpus) = corpus() else { return };
    let bytes = fs::read(corpus.join("invalid/terraform-json-invalid.json")).unwrap();
    let error = read_plan(&bytes).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("at line 676, column 29: trailing characters"),
        "{message}"
    );
}
