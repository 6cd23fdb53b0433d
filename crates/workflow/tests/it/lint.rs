//! What lint says of documents, as self-updating expectations (`INSTA_UPDATE=always`).

use std::fmt::Write;

use groundplan_workflow::diagnostic::{Diagnostic, Severity};
use groundplan_workflow::lint::{explain, lint};
use groundplan_workflow::read::SourceFile;

/// Every diagnostic of some files, with the line of source it is about.
fn render(files: &[(&str, &str)]) -> String {
    let sources: Vec<SourceFile> = files
        .iter()
        .map(|(name, text)| SourceFile::new(*name, text.as_bytes()))
        .collect();
    let mut out = String::new();
    for found in lint(&sources) {
        assert!(
            explain(&found.code).is_some(),
            "`{}` has no meaning",
            found.code
        );
        let text = files
            .iter()
            .find(|(name, _)| *name == found.file)
            .map(|(_, text)| *text);
        one(&found, text.unwrap_or_default(), &mut out);
    }
    out
}

fn one(found: &Diagnostic, text: &str, out: &mut String) {
    let severity = match found.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Notice => "notice",
    };
    writeln!(out, "{severity}[{}] {}", found.code, found.message).expect("a string grows");
    if let Some(place) = found.position {
        writeln!(
            out,
            "  {}:{}:{} {}",
            found.file, place.line, place.column, found.path
        )
        .expect("a string grows");
        let line = text
            .lines()
            .nth(place.line as usize - 1)
            .unwrap_or_default();
        let marked = text
            .get(place.offset as usize..(place.offset + place.length) as usize)
            .unwrap_or_default();
        let marked = marked.lines().next().unwrap_or_default();
        writeln!(out, "  | {line}").expect("a string grows");
        if !marked.is_empty() {
            let before = " ".repeat(place.column as usize - 1);
            let marks = "^".repeat(marked.chars().count());
            writeln!(out, "  | {before}{marks}").expect("a string grows");
        }
    } else {
        writeln!(out, "  {}", found.file).expect("a string grows");
    }
    if let Some(hint) = &found.hint {
        writeln!(out, "  hint: {hint}").expect("a string grows");
    }
}

/// A Workflow with these lines below `spec:`.
fn workflow(spec: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {{generateName: a-}}\nspec:\n{spec}"
    )
}

fn check(spec: &str) -> String {
    render(&[("a.yaml", &workflow(spec))])
}

#[test]
fn a_clean_document_gives_nothing() {
    let text = check(
        "  entrypoint: main
  arguments: {parameters: [{name: who, value: world}]}
  templates:
  - name: main
    steps:
    - - name: greet
        template: greet
        arguments: {parameters: [{name: who, value: '{{workflow.parameters.who}}'}]}
  - name: greet
    inputs: {parameters: [{name: who}]}
    container:
      image: alpine:3.23
      command: [sh, -c, 'echo \"hello {{inputs.parameters.who}}\"']
",
    );
    assert_eq!(text, "");
}

#[test]
fn unknown_and_misplaced_fields() {
    insta::assert_snapshot!(check(
        "  entrypoint: main
  templatez: []
  mutexes: [{name: tf}]
  on: 1
  templates:
  - name: main
    image: alpine
    volumeMounts: []
    dag:
      tasks:
      - name: a
        template: b
        arguments:
          withItems: [1]
          parameters: [{name: x, value: 1, nmae: y}]
  - name: b
    inputs: {parameters: [{name: x, default: 1}]}
    container: {image: a, Command: [echo, '{{inputs.parameters.x}}']}
"
    ));
}

#[test]
fn wrong_types() {
    insta::assert_snapshot!(check(
        "  entrypoint: main
  activeDeadlineSeconds: '60'
  priority: 1.5
  volumes: {name: a}
  arguments: {parameters: [{name: a, value: [1, 2]}, {name: b, value: {x: 1}}, {name: c, value: 010}]}
  templates:
  - name: main
    failFast: 'yes'
    metadata: {labels: {cron: true}}
    container: {image: 1, command: echo, args: [1, true, ok], env: [{name: A, value: 1}]}
  - name: n
    container: [a]
"
    ));
}

#[test]
fn fields_without_a_meaning_here() {
    insta::assert_snapshot!(render(&[(
        "cron.yaml",
        "apiVersion: argoproj.io/v1alpha1
kind: CronWorkflow
metadata: {name: nightly, uid: x, resourceVersion: '1'}
spec:
  schedule: 0 1 * * *
  timezone: UTC
  suspend: false
  workflowSpec:
    entrypoint: main
    serviceAccountName: ci
    nodeSelector: {a: b}
    tolerations: []
    podPriority: 5
    synchronization: {mutex: {name: tf}}
    onExit: main
    parallelism: 0
    templates:
    - name: main
      retryStrategy: {limit: 2, backof: 1}
      nodeSelector: {a: b}
      container:
        image: alpine
        imagePullPolicy: Always
        resources: {requests: {cpu: 1}, limits: {cpu: 1}}
    - name: wait
      suspend: {}
    - name: ext
      plugin: {hello: {}}
"
    )]));
}

#[test]
fn names_and_types_of_templates() {
    insta::assert_snapshot!(check(
        "  templates:
  - name: a b
    container: {image: x}
    script: {image: x, source: y}
  - name: two
  - name: two
    container: {}
  - container: {image: x}
  - name: inputs
    inputs: {parameters: [{name: p.q}, {name: p}, {name: p}]}
    outputs: {parameters: [{name: o}, {name: q, value: '1', valueFrom: {path: /x}}, {name: r, valueFrom: {parameter: x}}]}
    parallelism: 3
    container: {image: x, args: ['{{inputs.parameters.p}}']}
"
    ));
}

#[test]
fn calls_and_arguments() {
    insta::assert_snapshot!(check(
        "  entrypoint: mian
  onExit: bye
  arguments: {parameters: [{name: env, value: dev, enum: [stage, prod]}, {name: none}]}
  templates:
  - name: main
    steps:
    - - {name: a, template: leav}
      - {name: b}
      - name: c
        template: leaf
        arguments: {parameters: [{name: pth, value: x}, {name: empty}]}
    - - {name: d, templateRef: {name: lib, template: x}}
      - {name: e, template: leaf, templateRef: {name: lib}}
  - name: leaf
    inputs: {parameters: [{name: path}, {name: size, default: 1}]}
    container: {image: x, args: ['{{inputs.parameters.path}}{{inputs.parameters.size}}']}
"
    ));
}

#[test]
fn dependencies_of_tasks() {
    insta::assert_snapshot!(check(
        "  entrypoint: main
  templates:
  - name: main
    dag:
      target: d zz
      tasks:
      - {name: a, template: t, depends: c}
      - {name: b, template: t, depends: a.Suceeded}
      - {name: c, template: t, depends: b && (a.AnySucceeded || dd)}
      - {name: d, template: t, depends: 'a &&'}
      - {name: e, template: t, dependencies: [a]}
      - {name: 5f, template: t, continueOn: {failed: true}}
      - {name: g, template: t, depends: d && h}
      - {name: h, template: t, depends: g}
  - name: empty
    dag: {tasks: []}
  - name: t
    container: {image: x}
"
    ));
}

#[test]
fn tags() {
    insta::assert_snapshot!(check(
        "  entrypoint: main
  arguments: {parameters: [{name: branch, value: main}]}
  templates:
  - name: main
    dag:
      tasks:
      - {name: a, template: t, arguments: {parameters: [{name: p, value: '{{workflow.parameters.brnch}}'}]}}
      - name: b
        template: t
        depends: a
        when: '{{tasks.a.status}} == Succeeded && {{tasks.c.status}} == Failed'
        arguments: {parameters: [{name: p, value: '{{tasks.a.outputs.parameters.oo}}'}]}
      - {name: c, template: t, arguments: {parameters: [{name: p, value: '{{tasks.b.outputs.parameters.o}}'}]}}
      - {name: d, template: t, arguments: {parameters: [{name: p, value: 'x {{tasks.c.outputs.parameters.o}}{{item}}'}]}}
  - name: steps
    steps:
    - - {name: a, template: t, arguments: {parameters: [{name: p, value: '{{steps.b.outputs.result}}'}]}}
      - {name: b, template: t, arguments: {parameters: [{name: p, value: '{{steps.a.outputs.parameters.o}}'}]}}
    - - name: c
        template: t
        withItems: [{k: 1}]
        arguments: {parameters: [{name: p, value: '{{item.k}} {{item.q}}'}]}
  - name: t
    inputs: {parameters: [{name: p}]}
    outputs: {parameters: [{name: o, valueFrom: {path: /o}}]}
    script:
      image: x
      command: [sh]
      source: |
        echo {{inputs.parameters.p}} {{ workflow.name }} {{workflow.failures}}
        echo {{input.parameters.p}} {{=anything}} {{outputs.parameters.o.path}}
        echo {{.Values}} {{pod.name}} {{inputs.parameters.q}} {{inputs.parameters.q}}
"
    ));
}

#[test]
fn scripts() {
    insta::assert_snapshot!(check(
        "  entrypoint: a
  volumes: [{name: key, secret: {secretName: deploy}}]
  templates:
  - name: a
    script:
      image: x
      command: [bash, -e]
      env: [{name: GIVEN, value: x}]
      volumeMounts: [{name: key, mountPath: /root/.ssh}]
      source: |
        set -eu
        cd /workdir/<your-repo>
        ssh-add /root/.ssh/key
        echo $GIVEN ${MISSING} $HOME \"${OTHER:-x}\" '$QUOTED' # $REMARK
        LOCAL=1; for i in 1 2; do echo $LOCAL $i; done
        mkdir -p /data/x && cat /data/x/y
  - name: b
    container:
      image: x
      command: [sh, -c]
      args: ['. ./env.sh; echo $ANY']
  - name: c
    container: {image: x, command: [python, -c, 'print($x)']}
"
    ));
}

#[test]
fn references_between_files() {
    let library = "apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: lib}
spec:
  templates:
  - name: greet
    inputs: {parameters: [{name: who}]}
    outputs: {parameters: [{name: said, valueFrom: {path: /said}}]}
    container: {image: x, args: ['{{inputs.parameters.who}} {{workflow.parameters.any}}']}
";
    let caller = workflow(
        "  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: a, templateRef: {name: lib, template: greet}}
    - - name: b
        templateRef: {name: lib, template: gret}
        arguments: {parameters: [{name: who, value: '{{steps.a.outputs.parameters.sad}}'}]}
    - - {name: c, templateRef: {name: lub, template: greet}}
",
    );
    insta::assert_snapshot!(render(&[("lib.yaml", library), ("a.yaml", &caller)]));
}

#[test]
fn schedules() {
    insta::assert_snapshot!(render(&[(
        "cron.yaml",
        "kind: CronWorkflow
metadata: {name: a-name-that-is-longer-than-fifty-two-characters-altogether}
spec:
  schedules: ['* * * *', '61 * * * *', '@daily']
  timezone: Middle Earth
  concurrencyPolicy: Never
  startingDeadlineSeconds: -1
  workflowSpec:
    entrypoint: main
    templates: [{name: main, container: {image: x}}]
---
kind: CronWorkflow
metadata: {name: none}
spec:
  workflowSpec: {entrypoint: main, templates: [{name: main, container: {image: x}}]}
"
    )]));
}

#[test]
fn broken_files() {
    let mut out = String::new();
    for (name, text) in [
        ("empty.yaml", ""),
        ("remark.yaml", "# nothing\n"),
        ("list.yaml", "- a\n- b\n"),
        ("kindless.yaml", "spec: {}\n"),
        (
            "kind.yaml",
            "apiVersion: argoproj.io/v1alpha1\nkind: Workfow\n",
        ),
        (
            "config-map.yaml",
            "apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n",
        ),
        ("tab.yaml", "kind: Workflow\nspec:\n\tentrypoint: a\n"),
        (
            "quote.yaml",
            "kind: Workflow\nspec: {entrypoint: \"a}\n---\nkind: Workflow\nspec: {}\n",
        ),
        (
            "indent.yaml",
            "kind: Workflow\nspec:\n  entrypoint: a\n templates: []\n",
        ),
        ("colon.yaml", "kind: Workflow\nspec:\n  entrypoint: a: b\n"),
        (
            "tag.yaml",
            "kind: Workflow\nspec:\n  entrypoint: {{workflow.name}}\n",
        ),
        (
            "twice.yaml",
            "kind: Workflow\nspec: {entrypoint: a, entrypoint: b, templates: [{name: b, container: {image: x}}]}\n",
        ),
        (
            "number.json",
            "{\"kind\": \"Workflow\", \"spec\": {\"entrypoint\": .inf}}",
        ),
    ] {
        out.push_str(&render(&[(name, text)]));
        out.push('\n');
    }
    insta::assert_snapshot!(out);
}

#[test]
fn a_binary_file_is_one_fault() {
    let found = lint(&[SourceFile::new(
        "a.bin",
        vec![0x7f, b'E', b'L', b'F', 0, 1, 0xff],
    )]);
    let codes: Vec<&str> = found.iter().map(|found| found.code.as_str()).collect();
    assert_eq!(codes, ["binary-file"]);
}

#[test]
fn a_document_of_a_hundred_thousand_lines_is_checked() {
    let mut spec =
        String::from("  entrypoint: main\n  templates:\n  - name: main\n    dag:\n      tasks:\n");
    let tasks = 12_500;
    for task in 0..tasks {
        let before = if task == 0 {
            String::new()
        } else {
            format!("t{}", task - 1)
        };
        write!(
            spec,
            "      - name: t{task}\n        template: leaf\n        depends: '{before}'\n        \
             arguments:\n          parameters:\n          - name: p\n            value: \
             '{{{{tasks.{before}.outputs.parameters.o}}}}'\n            # remark\n"
        )
        .expect("a string grows");
    }
    spec.push_str(
        "  - name: leaf\n    inputs: {parameters: [{name: p}]}\n    outputs: {parameters: [{name: o, \
         valueFrom: {path: /o}}]}\n    container: {image: x, args: ['{{inputs.parameters.p}}']}\n",
    );
    let text = workflow(&spec);
    assert!(text.lines().count() > 100_000);
    let found = lint(&[SourceFile::new("large.yaml", text.as_bytes())]);
    let codes: Vec<&str> = found.iter().map(|found| found.code.as_str()).collect();
    assert_eq!(codes, ["unresolved-tag"]);
}

#[test]
fn our_own_examples_have_no_fault() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workflows");
    let files = crate::shared::documents(&folder);
    assert!(!files.is_empty());
    let faults: Vec<String> = lint(&files)
        .into_iter()
        .filter(|found| found.severity > Severity::Notice)
        .map(|found| {
            let line = found.position.map_or(0, |place| place.line);
            format!("{}:{line} {} {}", found.file, found.code, found.message)
        })
        .collect();
    assert_eq!(faults, Vec::<String>::new());
}
