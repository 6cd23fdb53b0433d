//! Assertions of `check_json` on a finished run. What is not understood is a fault, never a pass.

use serde_json::Value;

/// A finished run as `runs show --json` has it, and what lies beside that.
pub(super) trait Finished {
    /// The run.
    fn run(&self) -> &Value;
    /// What a node's container printed, by the node's id.
    fn printed(&self, node: &str) -> String;
    /// How long the command took, in seconds.
    fn seconds(&self) -> f64;
}

/// What does not hold, in words; nothing where all of them hold.
pub(super) fn faults(checks: &[Value], finished: &dyn Finished) -> Vec<String> {
    checks
        .iter()
        .filter_map(|check| {
            let why = fault(check, finished)?;
            Some(format!("{check}: {why}"))
        })
        .collect()
}

/// The nodes of a run in the order of their creation.
pub(super) fn nodes(run: &Value) -> Vec<&Value> {
    let mut nodes: Vec<&Value> = run["nodes"]
        .as_object()
        .map(|nodes| nodes.values().collect())
        .unwrap_or_default();
    nodes.sort_by_key(|node| node["sequence"].as_u64());
    nodes
}

/// The name of a run's root.
pub(super) fn name(run: &Value) -> &str {
    run["new"]["workflow"]["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
}

const KEYS: [&str; 20] = [
    "node",
    "path",
    "prefix",
    "one_of",
    "any_of",
    "rest",
    "absent",
    "label",
    "min_seconds",
    "max_seconds",
    "phase",
    "count",
    "input",
    "output",
    "equals",
    "starts",
    "in",
    "result",
    "stdout_has",
    "workflow_output",
];

fn fault(check: &Value, finished: &dyn Finished) -> Option<String> {
    let run = finished.run();
    let keys = check.as_object().into_iter().flatten();
    if let Some((key, _)) = keys
        .into_iter()
        .find(|(key, _)| !KEYS.contains(&key.as_str()))
    {
        return Some(format!("`{key}` cannot be looked at here"));
    }
    if let Some(least) = check["min_seconds"].as_f64() {
        let took = finished.seconds();
        return (took < least).then(|| format!("it took {took:.1} s"));
    }
    if let Some(most) = check["max_seconds"].as_f64() {
        let took = finished.seconds();
        return (took > most).then(|| format!("it took {took:.1} s"));
    }
    if let Some(label) = check["label"].as_str() {
        let value = &run["new"]["workflow"]["metadata"]["labels"][label];
        return (value != &check["equals"]).then(|| format!("it is {value}"));
    }
    if let Some(output) = check["workflow_output"].as_str() {
        return value_fault(check, parameter(&run["outputs"]["parameters"], output));
    }
    let display = |node: &Value, name: &Value| node["display_name"] == *name;
    if !check["absent"].is_null() {
        let found = nodes(run)
            .iter()
            .any(|node| display(node, &check["absent"]));
        return found.then(|| "there is such a node".to_owned());
    }
    for (key, exactly) in [("one_of", true), ("any_of", false)] {
        if let Some(names) = check[key].as_array() {
            return choice_fault(check, &named(run, names), exactly);
        }
    }
    let selected = selected(check, run)?;
    match selected {
        Ok(nodes) => nodes_fault(check, &nodes, finished),
        Err(why) => Some(why),
    }
}

fn named<'run>(run: &'run Value, names: &[Value]) -> Vec<&'run Value> {
    let mut found = nodes(run);
    found.retain(|node| names.contains(&node["display_name"]));
    found
}

/// The nodes that the selector selects; an error where it is no selector.
fn selected<'run>(check: &Value, run: &'run Value) -> Option<Result<Vec<&'run Value>, String>> {
    let mut found = nodes(run);
    let of = |key: &str| check[key].as_str();
    if let Some(name) = of("node") {
        found.retain(|node| node["display_name"] == name);
    } else if let Some(path) = of("path") {
        let full = format!("{}{path}", name(run));
        found.retain(|node| node["name"] == full.as_str());
    } else if let Some(prefix) = of("prefix") {
        let begins = |name: &str| name.starts_with(prefix);
        found.retain(|node| node["display_name"].as_str().is_some_and(begins));
    } else {
        return Some(Err("no selector that is known here".to_owned()));
    }
    Some(Ok(found))
}

fn nodes_fault(check: &Value, nodes: &[&Value], finished: &dyn Finished) -> Option<String> {
    let phase = &check["phase"];
    if let Some(count) = check["count"].as_u64() {
        let of_phase = |node: &&&Value| phase.is_null() || node["phase"] == *phase;
        let found = nodes.iter().filter(of_phase).count();
        return (u64::try_from(found) != Ok(count)).then(|| format!("there are {found}"));
    }
    if nodes.is_empty() {
        return Some("there is no such node".to_owned());
    }
    nodes.iter().find_map(|node| {
        let why = node_fault(check, node, finished)?;
        Some(format!(
            "{}: {why}",
            node["name"].as_str().unwrap_or_default()
        ))
    })
}

fn node_fault(check: &Value, node: &Value, finished: &dyn Finished) -> Option<String> {
    if !check["phase"].is_null() && node["phase"] != check["phase"] {
        return Some(format!("it is {}, {}", node["phase"], node["message"]));
    }
    if let Some(input) = check["input"].as_str() {
        let found = value_fault(check, parameter(&node["inputs"], input));
        return found.map(|why| format!("input `{input}`: {why}"));
    }
    if let Some(output) = check["output"].as_str() {
        let found = value_fault(check, parameter(&node["outputs"]["parameters"], output));
        return found.map(|why| format!("output `{output}`: {why}"));
    }
    if !check["result"].is_null() && node["outputs"]["result"] != check["result"] {
        return Some(format!("its result is {}", node["outputs"]["result"]));
    }
    if let Some(text) = check["stdout_has"].as_str() {
        let printed = finished.printed(node["id"].as_str().unwrap_or_default());
        if !printed.contains(text) {
            let end: String = printed.chars().take(200).collect();
            return Some(format!("it printed {end:?}"));
        }
    }
    None
}

fn parameter<'value>(list: &'value Value, name: &str) -> Option<&'value str> {
    let list = list.as_array()?;
    let found = list.iter().find(|parameter| parameter["name"] == name)?;
    found["value"].as_str()
}

fn value_fault(check: &Value, value: Option<&str>) -> Option<String> {
    let Some(value) = value else {
        return Some("there is no such value".to_owned());
    };
    let equals = check["equals"].as_str().map(|expected| expected == value);
    let starts = check["starts"]
        .as_str()
        .map(|start| value.starts_with(start));
    let within = check["in"]
        .as_array()
        .map(|list| list.iter().any(|item| item == value));
    match [equals, starts, within].into_iter().flatten().next() {
        Some(true) => None,
        Some(false) => Some(format!("it is {value:?}")),
        None => Some("no claim about the value that is known here".to_owned()),
    }
}

fn choice_fault(check: &Value, nodes: &[&Value], exactly: bool) -> Option<String> {
    let (hits, others): (Vec<&Value>, Vec<&Value>) = nodes
        .iter()
        .partition(|node| node["phase"] == check["phase"]);
    let rest = &check["rest"];
    let strays = || rest.is_null() || others.iter().all(|node| node["phase"] == *rest);
    let holds = match exactly {
        true => hits.len() == 1 && strays(),
        false => !hits.is_empty(),
    };
    let phases = || -> Vec<String> {
        let line = |node: &&Value| format!("{} {}", node["display_name"], node["phase"]);
        nodes.iter().map(line).collect()
    };
    (!holds).then(|| format!("there are {}", phases().join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Told(Value);

    impl Finished for Told {
        fn run(&self) -> &Value {
            &self.0
        }

        fn printed(&self, node: &str) -> String {
            format!("printed by {node}\n")
        }

        fn seconds(&self) -> f64 {
            12.0
        }
    }

    fn told() -> Told {
        let node = |id: &str, sequence: u64, name: &str, display: &str, phase: &str| {
            json!({
                "id": id, "sequence": sequence, "name": name, "display_name": display,
                "phase": phase, "message": "",
                "inputs": [{"name": "i", "value": "one"}],
                "outputs": {"result": "r", "parameters": [{"name": "o", "value": "two"}]},
            })
        };
        Told(json!({
            "new": {"workflow": {"metadata": {"name": "w", "labels": {"foo": "bar"}}}},
            "nodes": {
                "a": node("a", 0, "w", "w", "Failed"),
                "b": node("b", 1, "w.B(0)", "B(0)", "Succeeded"),
                "c": node("c", 2, "w.B(1)", "B(1)", "Skipped"),
            },
        }))
    }

    /// Checks that the first holds and the second does not.
    #[track_caller]
    fn tells_apart(holds: Value, fails: Value) {
        assert_eq!(fault(&holds, &told()), None, "{holds}");
        assert!(fault(&fails, &told()).is_some(), "{fails}");
    }

    #[test]
    fn selectors_select_by_display_name_path_and_beginning() {
        tells_apart(
            json!({"node": "B(0)", "phase": "Succeeded"}),
            json!({"node": "B(0)", "phase": "Failed"}),
        );
        tells_apart(
            json!({"path": "", "phase": "Failed"}),
            json!({"path": ".B", "phase": "Failed"}),
        );
        tells_apart(
            json!({"prefix": "B(", "count": 2}),
            json!({"prefix": "B(", "count": 2, "phase": "Succeeded"}),
        );
        tells_apart(json!({"absent": "C"}), json!({"absent": "B(1)"}));
        tells_apart(
            json!({"label": "foo", "equals": "bar"}),
            json!({"label": "foo", "equals": "baz"}),
        );
    }

    #[test]
    fn choices_count_who_satisfies_them() {
        let names = ["B(0)", "B(1)"];
        tells_apart(
            json!({"one_of": names, "phase": "Succeeded", "rest": "Skipped"}),
            json!({"one_of": names, "phase": "Succeeded", "rest": "Omitted"}),
        );
        tells_apart(
            json!({"any_of": names, "phase": "Skipped"}),
            json!({"any_of": names, "phase": "Failed"}),
        );
    }

    #[test]
    fn values_and_output_are_compared() {
        tells_apart(
            json!({"node": "B(0)", "input": "i", "equals": "one"}),
            json!({"node": "B(0)", "input": "i", "equals": "two"}),
        );
        tells_apart(
            json!({"node": "B(0)", "output": "o", "in": ["one", "two"]}),
            json!({"node": "B(0)", "output": "p", "starts": "t"}),
        );
        tells_apart(
            json!({"node": "B(0)", "result": "r"}),
            json!({"node": "B(0)", "result": "s"}),
        );
        tells_apart(
            json!({"node": "B(0)", "stdout_has": "by b"}),
            json!({"node": "B(0)", "stdout_has": "by c"}),
        );
        tells_apart(json!({"min_seconds": 10}), json!({"max_seconds": 10}));
    }

    #[test]
    fn what_is_not_understood_does_not_hold() {
        for check in [
            json!({"path": "", "artifact": "out", "equals": "hi"}),
            json!({"workflow": "other", "phase": "Succeeded"}),
            json!({"phase": "Succeeded"}),
            json!({"node": "B(0)", "input": "i"}),
        ] {
            assert!(fault(&check, &told()).is_some(), "{check}");
        }
    }
}
