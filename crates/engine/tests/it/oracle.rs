//! Comparison with answers of Argo itself, where a file of them is at hand: one JSON object with
//! `request` and `answer` per line, in the form of the oracle's driver.
#![expect(
    clippy::disallowed_methods,
    reason = "tests read their tables, and say how they fared"
)]

use std::collections::BTreeMap;

use groundplan_engine::{
    action::StepRequest,
    id::RunId,
    input::Input,
    node::{Locks, Node},
    report::StepOutcome,
    run::Run,
};
use groundplan_testkit::engine::{Outcome, World, display_name, try_resolved};
use groundplan_workflow::expr::{
    expression::Moment,
    scope::MapScope,
    tags::{self, Mode},
};
use serde_json::{Value, json};

/// Outcomes by node and template, in the oracle's form.
struct OracleScript {
    script: Value,
    run: String,
    tries: BTreeMap<String, usize>,
}

impl OracleScript {
    fn of(script: &Value, run: &str) -> Self {
        OracleScript {
            script: script.clone(),
            run: run.to_owned(),
            tries: BTreeMap::new(),
        }
    }

    fn find(&mut self, request: &StepRequest) -> Value {
        let name = request.node_name.clone();
        let tries = self.tries.entry(name.clone()).or_default();
        let attempt = *tries;
        *tries += 1;
        let display = display_name(&name);
        let path = name.strip_prefix(&self.run).unwrap_or(&name);
        let nodes = &self.script["nodes"];
        let found = [name.as_str(), path, display]
            .iter()
            .find_map(|key| nodes.get(*key))
            .or_else(|| self.script["templates"].get(&request.template.name))
            .or_else(|| self.script.get("default"))
            .cloned()
            .unwrap_or(Value::Null);
        match found {
            Value::Array(list) if !list.is_empty() => list[attempt.min(list.len() - 1)].clone(),
            other => other,
        }
    }

    fn outcome(&mut self, request: &StepRequest) -> Outcome {
        let mut found = self.find(request);
        with_inputs(&mut found, request);
        let word = found.as_str().map(str::to_owned);
        let phase = word.or_else(|| found["phase"].as_str().map(str::to_owned));
        let code = found["exit_code"]
            .as_i64()
            .or_else(|| found["exit_code"].as_str()?.parse().ok())
            .and_then(|code| i32::try_from(code).ok());
        let message = found["message"].as_str().unwrap_or_default();
        let mut outcome = match phase.as_deref() {
            Some("Failed") => Outcome::exit(code.unwrap_or(1)),
            _ if found["error_from"] == "unschedulable" => Outcome::good().never(),
            Some("Error") => self.error(&found, message),
            _ => Outcome::exit(code.unwrap_or(0)),
        };
        outcome.result = text_of(&found["result"]);
        for (name, value) in found["outputs"].as_object().into_iter().flatten() {
            let value = (!value.is_null()).then(|| text_of(value));
            outcome.parameters.insert(name.clone(), value);
        }
        if phase.as_deref() == Some("Error") {
            // Nothing was taken.
            outcome.result.clear();
            outcome.silent = true;
        }
        outcome.seconds = match found["steps"].as_i64() {
            None | Some(0) => outcome.seconds,
            Some(-1) => None,
            Some(seconds) => Some(seconds),
        };
        outcome
    }

    fn error(&self, found: &Value, message: &str) -> Outcome {
        let code = found["exit_code"].as_i64().unwrap_or(64);
        if found["error_from"] == "init" {
            let message = format!("init: Error (exit code {code}): {message}");
            return Outcome::of(StepOutcome::StartFailure { message });
        }
        let message = format!("wait: Error (exit code {code}): {message}");
        let mut outcome = Outcome::of(StepOutcome::OutputFailure { message });
        outcome.exit_code = Some(0);
        outcome
    }
}

/// Replaces the tags in an outcome by the inputs of the node.
fn with_inputs(outcome: &mut Value, request: &StepRequest) {
    let mut scope = MapScope::new();
    for input in &request.template.inputs.parameters {
        let value = input.value.clone().unwrap_or_default().0;
        scope.set(format!("inputs.parameters.{}", input.name), value);
    }
    let moment = Moment {
        seed: 7,
        now: "2000-01-01T00:00:00Z".parse().expect("a time"),
    };
    tags::replace_in_json(outcome, &scope, Mode::Forbid, &moment).expect("the node's inputs");
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn play(request: &Value) -> Result<(World, RunId), String> {
    let workflow = try_resolved(request["manifest"].as_str().unwrap_or_default())?;
    let name = workflow.metadata.name.clone();
    let mut world = World::default();
    let run = world.create_resolved(workflow);
    let mut script = OracleScript::of(&request["script"], &name);
    let mut outcome = |request: &StepRequest| script.outcome(request);
    for action in request["actions"].as_array().into_iter().flatten() {
        let at = action["at"].as_i64().ok_or("an action at the end")?;
        if action["do"] != "stop" {
            return Err(format!("action {}", action["do"]));
        }
        world.arrive_at(at, &mut outcome);
        world.tell(&run, Input::Stop);
    }
    world.play(&mut outcome);
    world.check();
    Ok((world, run))
}

fn tree(run: &Run) -> Value {
    let mut nodes: Vec<Value> = run.nodes().map(|node| node_of(run, node)).collect();
    nodes.sort_by_key(|node| node["name"].as_str().unwrap_or_default().to_owned());
    Value::Array(nodes)
}

fn with_names(run: &Run, text: &str) -> String {
    let mut text = text.to_owned();
    for node in run.nodes() {
        text = text.replace(&format!("'{}'", node.id), &format!("'{}'", node.name));
    }
    text
}

fn node_of(run: &Run, node: &Node) -> Value {
    let name_of = |id| run.node(id).map(|node| node.name.clone());
    let children: Vec<_> = node.children.iter().filter_map(name_of).collect();
    let inputs: Vec<_> = node
        .inputs
        .iter()
        .map(|input| json!([input.name, input.value]))
        .collect();
    let outputs: Vec<_> = node
        .outputs
        .parameters
        .iter()
        .map(|output| json!([output.name, output.value]))
        .collect();
    json!({
        "name": node.name,
        "displayName": node.display_name,
        "type": node.kind.as_str(),
        "templateName": node.template_name,
        "phase": node.phase.as_str(),
        "message": with_names(run, &node.message),
        "boundary": node.boundary.as_ref().and_then(name_of).unwrap_or_default(),
        "children": children,
        "inputs": inputs,
        "outputs": outputs,
        "result": node.outputs.result,
        "exitCode": node.outputs.exit_code.map(|code| code.to_string()),
    })
}

fn parameters_of(io: &Value) -> Vec<Value> {
    let parameters = io["parameters"].as_array().into_iter().flatten();
    parameters
        .map(|parameter| json!([parameter["name"], text_of(&parameter["value"])]))
        .collect()
}

fn expected(answer: &Value) -> Value {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let nodes = answer["nodes"].as_array().into_iter().flatten();
    let mut nodes: Vec<Value> = nodes
        .map(|node| {
            json!({
                "name": node["name"],
                "displayName": node["displayName"],
                "type": node["type"],
                "templateName": text(&node["templateName"]),
                "phase": node["phase"],
                "message": text(&node["message"]),
                "boundary": text(&node["boundary"]),
                "children": node["children"].as_array().cloned().unwrap_or_default(),
                "inputs": parameters_of(&node["inputs"]),
                "outputs": parameters_of(&node["outputs"]),
                "result": node["outputs"].get("result").cloned().unwrap_or_default(),
                "exitCode": node["outputs"].get("exitCode").cloned().unwrap_or_default(),
            })
        })
        .collect();
    nodes.sort_by_key(|node| node["name"].as_str().unwrap_or_default().to_owned());
    Value::Array(nodes)
}

/// What differs, as lines.
fn differences(run: &Run, world: &World, id: &RunId, answer: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |what: String, ours: &Value, theirs: &Value| {
        if ours != theirs {
            found.push(format!("{what}: ours {ours}, Argo's {theirs}"));
        }
    };
    let message = with_names(run, run.message());
    compare(
        "phase".into(),
        &json!(run.phase().as_str()),
        &answer["phase"],
    );
    compare("message".into(), &json!(message), &answer["message"]);
    // Locks are granted in a turn of their own here, so the order of starts is another.
    let has_locks = run.nodes().any(|node| node.locks != Locks::NotNeeded);
    let started = world.actor(id).started.iter();
    let mut pods: Vec<String> = started.map(|step| step.node_name.clone()).collect();
    let theirs = answer["pods_created_in_order"]
        .as_array()
        .into_iter()
        .flatten();
    let mut theirs: Vec<String> = theirs.map(text_of).collect();
    if has_locks {
        pods.sort();
        theirs.sort();
    }
    compare("pods".into(), &json!(pods), &json!(theirs));
    let (ours, theirs) = (tree(run), expected(answer));
    let by_name = |nodes: &Value| -> BTreeMap<String, Value> {
        let nodes = nodes.as_array().into_iter().flatten();
        nodes
            .map(|node| (text_of(&node["name"]), node.clone()))
            .collect()
    };
    let (ours, theirs) = (by_name(&ours), by_name(&theirs));
    for name in ours
        .keys()
        .chain(theirs.keys().filter(|name| !ours.contains_key(*name)))
    {
        match (ours.get(name), theirs.get(name)) {
            (Some(our), Some(their)) => {
                for (field, value) in our.as_object().into_iter().flatten() {
                    compare(format!("{name} {field}"), value, &their[field]);
                }
            }
            (our, _) => compare(
                format!("{name} exists"),
                &json!(our.is_some()),
                &json!(our.is_none()),
            ),
        }
    }
    found
}

/// Why a run is meant to differ from Argo's, if it is.
fn deviation(request: &Value, answer: &Value, found: &[String]) -> Option<&'static str> {
    if answer.get("stuck").is_some_and(|stuck| !stuck.is_null()) {
        return Some("hang in Argo");
    }
    if request["actions"]
        .as_array()
        .is_some_and(|actions| !actions.is_empty())
    {
        return Some("are stopped: Argo does not wait for what runs");
    }
    let nodes = || answer["nodes"].as_array().into_iter().flatten();
    let unfinished = |node: &Value| node["phase"] == "Running" || node["phase"] == "Pending";
    let fails_fast = |node: &Value| text_of(&node["message"]).contains("failFast enabled");
    if nodes().any(|node| unfinished(node) || fails_fast(node)) {
        return Some("fail fast: Argo leaves nodes unfinished and unlinked");
    }
    let says = |node: &Value, words: &str| text_of(&node["message"]).contains(words);
    if nodes().any(|node| says(node, "Cannot transition token types")) {
        return Some("compare texts that hold quotes: Argo's conditions end at either kind");
    }
    if nodes().any(|node| says(node, "invalid character") || says(node, "unexpected end of JSON")) {
        return Some("join results that are no JSON: here that ends the DAG at once");
    }
    let only = |parts: &[&str]| {
        let known = |line: &String| parts.iter().any(|part| line.contains(part));
        found.iter().all(known)
    };
    if only(&[" children: "]) {
        return Some("go on behind what failed before it had ends: Argo links nothing there");
    }
    let has_no_end = |node: &Value| {
        let children = node["children"].as_array();
        node["type"] == "StepGroup"
            && node["phase"] == "Error"
            && children.is_none_or(Vec::is_empty)
    };
    if nodes().any(has_no_end) {
        return Some("fail before they have ends: Argo lets the DAG around them succeed");
    }
    if only(&["Argo's \"TaskGroup\"", "{{item}}"]) {
        return Some("fan out over an empty text: Argo calls the group itself");
    }
    let manifest = text_of(&request["manifest"]);
    let refers_to = |name: &str| {
        manifest.contains(&format!(".{name}.outputs"))
            || manifest.contains(&format!("['{name}'].outputs"))
    };
    let gives_nothing = |node: &Value| node["phase"] != "Succeeded";
    let refers = |node: &Value| {
        let name = text_of(&node["displayName"]);
        gives_nothing(node) && refers_to(name.split('(').next().unwrap_or_default())
    };
    nodes()
        .any(refers)
        .then_some("take an output of what was skipped or failed: the rule of Argo 4.1")
}

#[test]
fn node_trees_equal_those_of_argo() {
    let Ok(file) = std::env::var("GROUNDPLAN_ORACLE_ANSWERS") else {
        eprintln!("not run: GROUNDPLAN_ORACLE_ANSWERS names no file of answers");
        return;
    };
    let answers = std::fs::read_to_string(&file).expect("the file of answers");
    let (mut same, mut unsupported, mut different) = (0, 0, 0);
    let mut deviations: BTreeMap<&str, u32> = BTreeMap::new();
    for line in answers.lines() {
        let pair: Value = serde_json::from_str(line).expect("a line of answers");
        let (request, answer) = (&pair["request"], &pair["answer"]);
        let (world, id) = match play(request) {
            Ok(played) => played,
            Err(reason) => {
                unsupported += 1;
                eprintln!("{}: not supported: {reason}", request["id"]);
                continue;
            }
        };
        assert!(
            world.run(&id).phase().is_finished(),
            "{} ends",
            request["id"]
        );
        let found = differences(world.run(&id), &world, &id, answer);
        if found.is_empty() {
            same += 1;
        } else if let Some(reason) = deviation(request, answer, &found) {
            *deviations.entry(reason).or_default() += 1;
        } else {
            different += 1;
            eprintln!("== {}\n   {}", request["id"], found.join("\n   "));
        }
    }
    for (reason, count) in deviations {
        eprintln!("{count} {reason}");
    }
    eprintln!("{same} trees equal, {different} differ, {unsupported} not supported");
    assert_eq!(different, 0, "node trees that differ from Argo's");
}
