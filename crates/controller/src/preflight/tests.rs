//! Tests of what a document needs before it may start.

use super::*;
use groundplan_workflow::{read, resolve};

fn workflow(text: &str) -> ResolvedWorkflow {
    let file = read::SourceFile::new("test.yaml", text);
    let read = read::read(&file);
    resolve::resolve(&read.documents[0], &[], "test").expect("the document resolves")
}

const MOUNTED: &str = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: test}
spec:
  entrypoint: main
  arguments: {parameters: [{name: workdir, value: /workdir}]}
  volumeClaimTemplates: [{metadata: {name: work}}]
  templates:
  - name: main
    steps: [[{name: a, template: outer, arguments: {parameters: [{name: at, value: '{{workflow.parameters.workdir}}'}]}}]]
  - name: outer
    inputs: {parameters: [{name: at}]}
    steps: [[{name: b, template: leaf, arguments: {parameters: [{name: place, value: '{{inputs.parameters.at}}'}]}}]]
  - name: leaf
    inputs: {parameters: [{name: place}]}
    container: {image: i, command: [c], volumeMounts: [{name: work, mountPath: '{{inputs.parameters.place}}'}]}
";

#[test]
fn a_mount_path_is_traced_through_calls_to_the_workflow_parameter_behind_it() {
    let parameters = mount_parameters(&workflow(MOUNTED)).expect("nothing needs a sandbox");
    assert_eq!(
        parameters,
        BTreeMap::from([("workdir".to_owned(), "work".to_owned())])
    );
}

#[test]
fn a_fixed_mount_path_needs_a_sandbox() {
    let fixed = MOUNTED.replace("'{{inputs.parameters.place}}'", "/workdir");
    let faults = mount_parameters(&workflow(&fixed)).expect_err("a fixed path");
    assert_eq!(
        faults[0].to_string(),
        "template `leaf` mounts volume `work` at the fixed path `/workdir`"
    );
}

#[test]
fn fixed_outputs_and_directories_need_a_sandbox_too() {
    let text = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: test}
spec:
  entrypoint: main
  templates:
  - name: main
    outputs: {parameters: [{name: code, valueFrom: {path: /tmp/exitcode}}, {name: near, valueFrom: {path: code.txt}}]}
    container: {image: i, command: [c], workingDir: /srv}
";
    let faults = mount_parameters(&workflow(text)).expect_err("fixed paths");
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        faults,
        [
            "template `main` starts in the fixed directory `/srv`",
            "template `main` takes output `code` from the fixed path `/tmp/exitcode`",
        ]
    );
}

#[test]
fn one_parameter_cannot_stand_for_two_volumes() {
    let text = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: test}
spec:
  entrypoint: main
  arguments: {parameters: [{name: at, value: /x}]}
  volumeClaimTemplates: [{metadata: {name: one}}, {metadata: {name: two}}]
  templates:
  - name: main
    steps: [[{name: a, template: first}, {name: b, template: second}]]
  - name: first
    container: {image: i, command: [c], volumeMounts: [{name: one, mountPath: '{{workflow.parameters.at}}'}]}
  - name: second
    container: {image: i, command: [c], volumeMounts: [{name: two, mountPath: '{{workflow.parameters.at}}'}]}
";
    let faults = mount_parameters(&workflow(text)).expect_err("two volumes");
    assert_eq!(
        faults[0].to_string(),
        "parameter `at` is the mount path of both volume `one` and volume `two`"
    );
}

#[test]
fn every_reference_is_found_once_and_is_optional_only_where_all_say_so() {
    let text = "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: test}
spec:
  entrypoint: a
  volumes: [{name: keys, secret: {secretName: files}}]
  templates:
  - name: a
    container:
      image: i
      command: [c]
      env: [{name: K, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}]
      envFrom: [{configMapRef: {name: settings}}]
  - name: b
    script:
      image: i
      command: [sh]
      source: x
      env: [{name: K, valueFrom: {secretKeyRef: {name: s, key: k}}}]
      volumeMounts: [{name: keys, mountPath: /keys}]
";
    let needed = needed_references(&workflow(text));
    let said: Vec<(String, Option<String>, bool, String)> = needed
        .into_iter()
        .map(|needed| {
            (
                needed.reference.name,
                needed.reference.key,
                needed.optional,
                needed.template,
            )
        })
        .collect();
    assert_eq!(
        said,
        [
            ("files".to_owned(), None, false, "b".to_owned()),
            ("s".to_owned(), Some("k".to_owned()), false, "b".to_owned()),
            ("settings".to_owned(), None, false, "a".to_owned()),
        ]
    );
}
