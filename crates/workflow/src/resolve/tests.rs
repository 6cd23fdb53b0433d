//! Behaviour of resolving.

use super::*;
use crate::read::{SourceFile, read};

const DOCUMENT: &str = "
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: apply, namespace: ci, labels: {a: b}}
spec:
  entrypoint: main
  arguments:
    parameters:
    - {name: level, value: low, enum: [low, high]}
    - {name: commit}
  templates:
  - name: main
    inputs:
      parameters:
      - {name: path}
      - {name: lock, default: 'true'}
    container: {image: alpine, command: [echo]}
";

fn attempt(text: &str, given: &[(&str, &str)]) -> Result<ResolvedWorkflow, Vec<Diagnostic>> {
    let file = read(&SourceFile::new("a.yaml", text));
    assert_eq!(file.documents.len(), 1, "{:?}", file.diagnostics);
    let given: Vec<(String, String)> = given
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    resolve(&file.documents[0], &given, "apply-1")
}

fn messages(text: &str, given: &[(&str, &str)]) -> Vec<String> {
    attempt(text, given)
        .expect_err("the document does not resolve")
        .into_iter()
        .map(|fault| format!("{}: {}", fault.code, fault.message))
        .collect()
}

#[test]
fn values_may_name_arguments_and_inputs_of_the_entrypoint() {
    let resolved =
        attempt(DOCUMENT, &[("path", "terraform"), ("commit", "abc")]).expect("it resolves");
    let values: Vec<(&str, Option<&str>)> = resolved
        .spec
        .arguments
        .parameters
        .iter()
        .map(|parameter| {
            (
                parameter.name.as_str(),
                parameter.value.as_ref().map(|value| value.as_str()),
            )
        })
        .collect();
    assert_eq!(
        values,
        [
            ("path", Some("terraform")),
            ("commit", Some("abc")),
            ("level", Some("low"))
        ]
    );
    assert_eq!(resolved.metadata.name, "apply-1");
    assert_eq!(resolved.metadata.namespace, "ci");
    assert_eq!(
        resolved.metadata.labels,
        BTreeMap::from([(
            "workflows.argoproj.io/workflow-template".into(),
            "apply".into()
        )])
    );
    assert!(resolved.spec.templates.is_empty());
    assert!(resolved.entrypoint().is_some());
}

#[test]
fn every_missing_value_is_named_at_once() {
    assert_eq!(
        messages(DOCUMENT, &[]),
        ["missing-parameter: no value for `commit`, `path`"]
    );
}

#[test]
fn unknown_repeated_and_forbidden_values_are_errors() {
    let faults = attempt(
        DOCUMENT,
        &[
            ("comit", "a"),
            ("commit", "a"),
            ("commit", "b"),
            ("path", "p"),
            ("level", "middle"),
        ],
    )
    .expect_err("the values are wrong");
    let hints: Vec<(&str, Option<&str>)> = faults
        .iter()
        .map(|fault| (fault.code.as_str(), fault.hint.as_deref()))
        .collect();
    assert_eq!(
        hints,
        [
            ("unknown-parameter", Some("did you mean `commit`?")),
            ("duplicate-parameter", Some("give it once")),
            ("value-not-allowed", Some("it may be `low`, `high`")),
        ]
    );
}

#[test]
fn missing_templates_are_named_where_they_are_called() {
    let text = "
kind: Workflow
spec:
  entrypoint: mian
  templates:
  - name: main
    dag:
      tasks:
      - {name: a, template: clone}
";
    let faults = attempt(text, &[]).expect_err("templates are missing");
    let places: Vec<(&str, &str, u32)> = faults
        .iter()
        .map(|fault| {
            (
                fault.code.as_str(),
                fault.path.as_str(),
                fault.position.map_or(0, |position| position.line),
            )
        })
        .collect();
    assert_eq!(
        places,
        [
            (
                "undefined-template",
                "spec.templates[0].dag.tasks[0].template",
                9
            ),
            ("undefined-template", "spec.entrypoint", 4),
        ]
    );
}

#[test]
fn a_cron_workflow_resolves_to_its_workflow() {
    let text = "
kind: CronWorkflow
metadata: {name: nightly, labels: {cron: 'true'}}
spec:
  schedule: '0 1 * * *'
  workflowMetadata: {labels: {team: infra}}
  workflowSpec:
    entrypoint: main
    synchronization: {mutex: {name: tf}}
    templates:
    - name: main
      container: {image: alpine}
";
    let resolved = attempt(text, &[]).expect("it resolves");
    let labels: Vec<&str> = resolved
        .metadata
        .labels
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(labels, ["team", "workflows.argoproj.io/cron-workflow"]);
    let mutexes = &resolved.spec.synchronization.expect("locks").mutexes;
    assert_eq!(mutexes[0].name, "tf");
}

#[test]
fn refused_fields_keep_a_document_from_running() {
    let text = "
kind: Workflow
spec:
  entrypoint: main
  onExit: main
  parallelism: 0
  templates:
  - name: main
    retryStrategy: {limit: 1}
    suspend: {}
";
    assert_eq!(
        messages(text, &[]),
        [
            "not-supported-yet: `onExit` is not supported yet",
            "not-supported-yet: `retryStrategy` is not supported yet",
            "not-supported-yet: `suspend` is not supported yet",
        ]
    );
}

#[test]
fn what_argo_rejects_does_not_start() {
    let text = "
kind: Workflow
spec:
  entrypoint: main
  templates:
  - name: main
    dag:
      tasks:
      - {name: a, template: leaf, depends: b}
      - {name: b, template: leaf, depends: a}
      - {name: c, template: leaf, arguments: {parameters: [{name: p, value: '{{inputs.parameters.x}}'}]}}
  - name: leaf
    container: {command: [echo]}
";
    let faults = attempt(text, &[]).expect_err("it is full of faults");
    let mut codes: Vec<&str> = faults.iter().map(|fault| fault.code.as_str()).collect();
    codes.sort_unstable();
    assert_eq!(
        codes,
        ["dependency-cycle", "missing-image", "unresolved-tag"]
    );
}

#[test]
fn a_value_in_force_is_judged_and_not_the_one_it_replaces() {
    let text = "
kind: Workflow
spec:
  entrypoint: main
  arguments: {parameters: [{name: env, value: none, enum: [stage, prod]}, {name: who}]}
  templates:
  - name: main
    inputs: {parameters: [{name: who}, {name: path}]}
    container: {image: x, args: ['{{inputs.parameters.who}} {{inputs.parameters.path}}']}
";
    assert!(attempt(text, &[("env", "prod"), ("who", "x"), ("path", "y")]).is_ok());
    assert_eq!(
        messages(text, &[]),
        [
            "value-not-allowed: parameter `env` may not be `none`",
            "missing-parameter: no value for `who`, `path`",
        ]
    );
}
