//! The conformance tables of the small languages, read from `../shared` where it is.
#![expect(
    clippy::print_stderr,
    reason = "a score, and what did not run, are for people"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use groundplan_workflow::expr::depends::{self, Depends, Forgiven, Phase, TaskState, Verdict};
use groundplan_workflow::expr::expression::{self, Expression, Moment, Value};
use groundplan_workflow::expr::scope::{MapScope, Scope};
use groundplan_workflow::expr::tags::{self, Mode, ReplaceError};
use groundplan_workflow::expr::{aggregate, when};
use serde_json::{Value as Json, json};

/// One row of a table by column name.
type Row = BTreeMap<String, String>;

#[expect(
    clippy::disallowed_methods,
    reason = "the tables lie beside the workspace"
)]
fn table(name: &str) -> Option<Vec<Row>> {
    let shared = match std::env::var_os("GROUNDPLAN_SHARED") {
        Some(path) => PathBuf::from(path),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
    };
    let path = shared.join("conformance/argo").join(name);
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!(
            "{name}: not run: no conformance table at `{}`",
            path.display()
        );
        return None;
    };
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().expect("a first line").split('\t').collect();
    let row = |line: &str| {
        columns
            .iter()
            .map(|column| (*column).to_owned())
            .zip(line.split('\t').map(str::to_owned))
            .collect()
    };
    Some(lines.map(row).collect())
}

/// Runs a table: the floor is what must pass, and every row that does not is shown.
fn run(name: &str, floor: usize, check: impl Fn(&Row) -> Result<(), String>) {
    let Some(rows) = table(name) else { return };
    let mut passed = 0;
    for row in &rows {
        match check(row) {
            Ok(()) => passed += 1,
            Err(reason) => eprintln!("{name} {}: {reason}", row["id"]),
        }
    }
    eprintln!("{name}: {passed} of {}", rows.len());
    assert!(
        passed >= floor.min(rows.len()),
        "{name}: {passed} passed, at least {floor} must"
    );
}

fn moment() -> Moment {
    Moment {
        seed: 7,
        now: "2026-08-21T12:00:00Z".parse().expect("a time"),
    }
}

fn json_of(row: &Row, column: &str) -> Json {
    serde_json::from_str(&row[column]).expect("the table holds JSON")
}

fn expect<T: PartialEq + std::fmt::Debug>(found: T, expected: T) -> Result<(), String> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{found:?} instead of {expected:?}"))
    }
}

#[test]
fn when_conditions_are_evaluated_as_in_argo() {
    run("when.tsv", 21, |row| {
        let holds = when::evaluate(&row["expression"]).map_err(|error| error.to_string())?;
        expect(holds.to_string(), row["expected"].clone())
    });
}

#[test]
fn fan_outs_are_joined_as_in_argo() {
    run("aggregates.tsv", 14, |row| {
        let inputs: Vec<String> = serde_json::from_str(&row["inputs_json"]).expect("texts");
        if row["op"] == "aggregate" {
            return expect(aggregate::values(&inputs), row["expected_json"].clone());
        }
        let expected = (row["expected_json"] != "-").then(|| json_of(row, "expected_json"));
        expect(aggregate::structured(&inputs).map(Json::Array), expected)
    });
}

#[test]
fn depends_is_read_and_decided_as_in_argo() {
    run("depends.tsv", 27, |row| match row["op"].as_str() {
        "expand" | "logic" => expand(row),
        "validate" => {
            let verdict = if Depends::parse(&row["depends"]).is_ok() {
                "accepted"
            } else {
                "rejected"
            };
            expect(verdict, row["expected"].as_str())
        }
        "eval" => decide(row),
        "ancestry" => ancestry(row),
        "sort" => sort(row),
        other => Err(format!("unknown op {other}")),
    });
}

fn names(value: &Json) -> Vec<String> {
    let names = value.as_array().into_iter().flatten();
    names
        .map(|name| name.as_str().expect("a name").to_owned())
        .collect()
}

fn expand(row: &Row) -> Result<(), String> {
    let context = json_of(row, "context_json");
    let parsed = match context.get("dependencies") {
        Some(list) => Depends::all_of(&names(list)),
        None => Depends::parse(&row["depends"]).map_err(|error| error.to_string())?,
    };
    let forgiven = |name: &str| {
        let listed = names(&context["continueOn"][name]);
        let has = |phase: &str| listed.iter().any(|listed| listed == phase);
        Forgiven {
            error: has("error"),
            failed: has("failed"),
        }
    };
    expect(parsed.expand(forgiven), row["expected"].clone())?;
    let expected: BTreeSet<String> = names(&json_of(row, "expected_json")).into_iter().collect();
    expect(
        parsed.names().into_iter().map(str::to_owned).collect(),
        expected,
    )?;
    let fan_outs: BTreeSet<String> = names(&context["needs_items"]).into_iter().collect();
    if context.get("needs_items").is_none() {
        return Ok(());
    }
    expect(
        parsed
            .fan_out_names()
            .into_iter()
            .map(str::to_owned)
            .collect(),
        fan_outs,
    )
}

fn phase(node: &Json) -> Phase {
    match node["phase"].as_str() {
        Some("Pending") => Phase::Pending,
        Some("Running") => Phase::Running,
        Some("Succeeded") => Phase::Succeeded,
        Some("Failed") => Phase::Failed,
        Some("Error") => Phase::Error,
        Some("Skipped") => Phase::Skipped,
        Some("Omitted") => Phase::Omitted,
        other => panic!("unknown phase {other:?}"),
    }
}

fn decide(row: &Row) -> Result<(), String> {
    let context = json_of(row, "context_json");
    // A task that has a node already was decided before.
    if context.get("self").is_some() {
        return expect("run", row["expected"].as_str());
    }
    let nodes = context["nodes"].as_object().expect("nodes");
    let state = |node: &Json| {
        let children = names(&node["children"]);
        let child = |name: &String| nodes.get(name).map(phase);
        TaskState {
            phase: phase(node),
            daemoned: node["daemoned"] == json!(true),
            children: (node["type"] == "TaskGroup")
                .then(|| children.iter().filter_map(child).collect()),
            hooks_fulfilled: true,
        }
    };
    let states: BTreeMap<_, _> = nodes
        .iter()
        .map(|(name, node)| (name, state(node)))
        .collect();
    let parsed = Depends::parse(&row["depends"]).map_err(|error| error.to_string())?;
    let verdict = parsed.decide(|_| Forgiven::default(), |name| states.get(&name.to_owned()));
    let verdict = match verdict {
        Verdict::Wait => "wait",
        Verdict::Run => "run",
        Verdict::Omit => "omit",
    };
    expect(verdict, row["expected"].as_str())
}

fn ancestry(row: &Row) -> Result<(), String> {
    let context = json_of(row, "context_json");
    let graph = context["dependencies"].as_object().expect("a map");
    let graph = graph
        .iter()
        .map(|(task, on)| (task.clone(), names(on).into_iter().collect()));
    let graph: BTreeMap<String, BTreeSet<String>> = graph.collect();
    let ancestors = depends::ancestors(context["of"].as_str().expect("a name"), &graph);
    let mut found = names(&context["finished"]);
    found.retain(|name| ancestors.contains(name.as_str()));
    expect(found, names(&json_of(row, "expected_json")))
}

fn sort(row: &Row) -> Result<(), String> {
    let context = json_of(row, "context_json");
    let mut graph = BTreeMap::new();
    for (task, text) in context["depends"].as_object().expect("a map") {
        let parsed = Depends::parse(text.as_str().expect("text")).map_err(|e| e.to_string())?;
        let on: BTreeSet<String> = parsed.names().into_iter().map(str::to_owned).collect();
        graph.insert(task.clone(), on);
    }
    let tasks: Vec<&str> = graph.keys().map(String::as_str).collect();
    let sorted = depends::sort(&tasks, &graph).map_err(|cycle| format!("cycle {cycle:?}"))?;
    expect(
        sorted,
        names(&json_of(row, "expected_json"))
            .iter()
            .map(String::as_str)
            .collect(),
    )
}

#[test]
fn tags_and_expressions_are_replaced_as_in_argo() {
    run("template-tags.tsv", 91, |row| {
        let found = tag_operation(row)?;
        let expected = match row["expected_json"].as_str() {
            "-" => None,
            _ => Some(json_of(row, "expected_json")),
        };
        let outcome = if found.is_ok() { "ok" } else { "error" };
        if outcome != row["outcome"] {
            return Err(format!(
                "{found:?} instead of {} {expected:?}",
                row["outcome"]
            ));
        }
        let found = found.unwrap_or_else(Json::String);
        let Some(expected) = expected else {
            return Ok(());
        };
        match row["match"].as_str() {
            "exact" => expect(found, expected),
            "unordered" => {
                let (found, expected) = (names(&found), names(&expected));
                expect(
                    found.into_iter().collect::<BTreeSet<_>>(),
                    expected.into_iter().collect(),
                )
            }
            "contains" => {
                let contains = found
                    .as_str()
                    .unwrap_or("")
                    .contains(expected.as_str().unwrap_or(""));
                if contains {
                    Ok(())
                } else {
                    Err(format!("{found} lacks {expected}"))
                }
            }
            _ => Ok(()),
        }
    });
}

/// What a row's operation gives: a value, or the text of the error; the outer error is a row that
/// the test does not understand.
fn tag_operation(row: &Row) -> Result<Result<Json, String>, String> {
    let input = json_of(row, "input_json");
    let input = input.as_str().expect("a text");
    let mut map = MapScope::new();
    for (name, value) in json_of(row, "scope_json").as_object().expect("a map") {
        map.set_data(name.clone(), value.clone());
    }
    let scope: &dyn Scope = &map;
    let strict: Vec<&str> = row["mode"]
        .strip_prefix("strict:")
        .unwrap_or("")
        .split(',')
        .collect();
    let mode = match row["mode"].as_str() {
        "allow" => Mode::Allow,
        "forbid" => Mode::Forbid,
        _ => Mode::Strict(&strict),
    };
    let moment = moment();
    let text = |result: Result<String, ReplaceError>| {
        result.map(Json::String).map_err(|error| error.to_string())
    };
    let data = |value: Value| value.to_data().expect("JSON has it");
    let parsed = || Expression::parse(input).map_err(|error| error.to_string());
    let list = |names: BTreeSet<String>| json!(names);
    Ok(match row["op"].as_str() {
        "replace" | "configmap-ref" => {
            text(tags::replace(input, scope, mode, &moment).map(|replaced| replaced.text))
        }
        "resolve" => tags::resolve(input, scope, &moment)
            .map(data)
            .map_err(|error| match error {
                ReplaceError::Expression { error, .. } => error.to_string(),
                other => other.to_string(),
            }),
        "simple-tags" => tags::scan(input)
            .map(|tags| {
                let simple = tags.iter().filter(|tag| tag.kind == tags::TagKind::Simple);
                json!(simple.map(|tag| tag.text).collect::<Vec<_>>())
            })
            .map_err(|error| error.to_string()),
        "bool" => expression::evaluate_bool(input, scope, &moment)
            .map(Json::Bool)
            .map_err(|error| error.to_string()),
        "expand" => Ok(data(expression::expand(scope))),
        "value-expression" => text(tags::value_of_expression(input, scope, &moment)),
        "absent-reference" => Ok(json!(tags::absent_reference(input, scope).is_some())),
        "required-names" => parsed().map(|expression| list(expression.required_names())),
        "missing-names" => parsed().map(|expression| list(expression.missing_names(scope))),
        "late-binding" => parsed().map(|expression| json!(expression.is_late_bound(scope))),
        "has-name" => Ok(json!(expression::has_name(scope, input))),
        other => return Err(format!("unknown op {other}")),
    })
}
