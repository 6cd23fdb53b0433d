//! Documents that cannot be run, and large ones that can.

use std::fmt::Write;

use snapbox::{assert_data_eq, str};

use crate::place::{Place, workflow};

#[test]
fn missing_file_is_named() {
    let place = Place::new();
    assert_data_eq!(
        place.say(["run", "missing.yaml"]),
        str![[r#"
exit code 1
-- stderr
error: cannot read `missing.yaml`
  because No such file or directory (os error 2)
hint: name a file that holds a workflow document

"#]]
    );
    assert_data_eq!(
        place.say(["lint", "missing.yaml"]),
        str![[r#"
exit code 1
-- stderr
error: cannot read `missing.yaml`
  because No such file or directory (os error 2)

"#]]
    );
    assert_data_eq!(
        place.say(["run", "."]),
        str![[r#"
exit code 1
-- stderr
error: cannot read `.`
  because Is a directory (os error 21)
hint: name a file that holds a workflow document

"#]]
    );
}

#[test]
fn empty_file_holds_no_document() {
    let place = Place::new();
    place.write("empty.yaml", "");
    assert_data_eq!(
        place.say(["run", "empty.yaml"]),
        str![[r#"
exit code 4
-- stderr
error[empty-file]: the file holds no document
 |
 = note: in empty.yaml
help: a Workflow begins with `apiVersion: argoproj.io/v1alpha1`
error: `empty.yaml` cannot be run: 1 error

"#]]
    );
    assert_data_eq!(
        place.say(["lint", "empty.yaml"]),
        str![[r#"
exit code 4
-- stdout
error[empty-file]: the file holds no document
 |
 = note: in empty.yaml
help: a Workflow begins with `apiVersion: argoproj.io/v1alpha1`

1 file: 1 error, 0 warnings, 0 notices

"#]]
    );
    place.write("comments.yaml", "# nothing\n---\n# but this\n");
    assert_data_eq!(
        place.say(["run", "comments.yaml"]),
        str![[r#"
exit code 4
-- stderr
error[empty-file]: the file holds no document
 |
 = note: in comments.yaml
help: a Workflow begins with `apiVersion: argoproj.io/v1alpha1`
error: `comments.yaml` cannot be run: 1 error

"#]]
    );
}

#[test]
fn binary_file_is_not_mistaken_for_a_document() {
    let place = Place::new();
    place.write("plan.bin", [0, 159, 146, 150, b'\n', 255, 0, 1]);
    assert_data_eq!(
        place.say(["run", "plan.bin"]),
        str![[r#"
exit code 4
-- stderr
error[binary-file]: byte 1 of the file is not UTF-8
 |
 = note: in plan.bin
help: a document is UTF-8 text
error: `plan.bin` cannot be run: 1 error

"#]]
    );
    assert_data_eq!(
        place.say(["lint", "plan.bin"]),
        str![[r#"
exit code 4
-- stdout
error[binary-file]: byte 1 of the file is not UTF-8
 |
 = note: in plan.bin
help: a document is UTF-8 text

1 file: 1 error, 0 warnings, 0 notices

"#]]
    );
}

#[test]
fn broken_yaml_is_shown_with_its_line() {
    let place = Place::new();
    place.write(
        "broken.yaml",
        "kind: Workflow\nspec:\n  entrypoint: [main\n",
    );
    assert_data_eq!(
        place.say(["run", "broken.yaml"]),
        str![[r#"
exit code 4
-- stderr
error[invalid-yaml]: a value in `[` is not closed
 --> broken.yaml:3:15
  |
3 |   entrypoint: [main
  |               ^
  |
help: add the closing bracket; quote a text that begins with a bracket

error[wrong-type]: `entrypoint` takes text, not a list
 --> broken.yaml:3:15
  |
3 |   entrypoint: [main
  |               ^
error: `broken.yaml` cannot be run: 2 errors

"#]]
    );
}

#[test]
fn document_of_another_kind_names_the_kinds_that_run() {
    let place = Place::new();
    place.write(
        "other.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\n",
    );
    assert_data_eq!(
        place.say(["run", "other.yaml"]),
        str![[r#"
exit code 1
-- stderr
note[other-kind]: a document of kind `ConfigMap` is not read here
 --> other.yaml:2:7
  |
2 | kind: ConfigMap
  |       ^^^^^^^^^
error: `other.yaml` holds no document that can be run
hint: a document to run is a Workflow, CronWorkflow, WorkflowTemplate or ClusterWorkflowTemplate

"#]]
    );
    assert_data_eq!(
        place.say(["lint", "other.yaml"]),
        str![[r#"
exit code 0
-- stdout
note[other-kind]: a document of kind `ConfigMap` is not read here
 --> other.yaml:2:7
  |
2 | kind: ConfigMap
  |       ^^^^^^^^^

1 file: 0 errors, 0 warnings, 1 notice

"#]]
    );
    place.write(
        "misspelt.yaml",
        "apiVersion: argoproj.io/v1alpha1\nkind: Worfklow\nmetadata:\n  name: other\n",
    );
    assert_data_eq!(
        place.say(["run", "misspelt.yaml"]),
        str![[r#"
exit code 4
-- stderr
error[unknown-kind]: `Worfklow` is no kind of document
 --> misspelt.yaml:2:7
  |
2 | kind: Worfklow
  |       ^^^^^^^^
  |
help: did you mean `Workflow`?
error: `misspelt.yaml` cannot be run: 1 error

"#]]
    );
}

#[test]
fn several_documents_in_a_file_leave_it_open_which_to_run() {
    let place = Place::new();
    let both = format!(
        "{}---\n{}",
        workflow("one", "true"),
        workflow("two", "true")
    );
    place.write("both.yaml", both);
    assert_data_eq!(
        place.say(["run", "both.yaml"]),
        str![[r#"
exit code 1
-- stderr
error: `both.yaml` holds 2 documents
hint: put the one to run into a file of its own

"#]]
    );
}

#[test]
fn every_error_of_a_document_is_shown_at_once_and_nothing_starts() {
    let place = Place::new();
    let text = workflow("faulty", "true")
        .replace("entrypoint: main", "entrypoint: mian")
        .replace("command: [sh, -c]", "comand: [sh, -c]");
    place.write("faulty.yaml", text);
    assert_data_eq!(
        place.say(["run", "faulty.yaml"]),
        str![[r#"
exit code 4
-- stderr
error[undefined-template]: the entrypoint `mian` is defined nowhere
 --> faulty.yaml:6:15
  |
6 |   entrypoint: mian
  |               ^^^^
  |
help: did you mean `main`?

error[unknown-field]: `comand` is no field of `container`
  --> faulty.yaml:11:9
   |
11 |         comand: [sh, -c]
   |         ^^^^^^
   |
help: did you mean `command`?
error: `faulty.yaml` cannot be run: 2 errors

"#]]
    );
    assert_data_eq!(
        place.say(["runs"]),
        str![[r#"
exit code 0
-- stderr
no runs yet; `groundplan run FILE` makes one

"#]]
    );
}

#[test]
fn document_of_100_000_lines_is_linted_and_run() {
    let place = Place::new();
    let mut text = workflow("large", "echo it ran");
    let lines = |text: &str| text.lines().count();
    let mut count = lines(&text);
    for number in 0.. {
        if count >= 100_000 {
            break;
        }
        let template = format!(
            "    - name: template-{number}\n      inputs:\n        parameters:\n          - name: word\n      \
             container:\n        image: busybox\n        command: [echo]\n        args:\n          - '{{{{inputs.parameters.word}}}}'\n"
        );
        count += lines(&template);
        text.push_str(&template);
    }
    place.write("large.yaml", &text);
    assert_data_eq!(
        place.say(["run", "--no-sandbox", "large.yaml"]),
        str![[r#"
exit code 0
-- stdout
Running   large
large | it ran
Succeeded large in [TIME]

Succeeded large in [TIME]
groundplan logs large  ·  groundplan runs show large

"#]]
    );
    writeln!(
        text,
        "    - name: last\n      container:\n        imag: busybox"
    )
    .expect("it is a text");
    place.write("large.yaml", &text);
    assert_data_eq!(
        place.say(["lint", "large.yaml"]),
        str![[r#"
exit code 4
-- stdout
error[missing-image]: template `last` has no `image`
      --> large.yaml:100005:9
       |
100005 |         imag: busybox
       |         ^
       |
help: add `image:`

error[unknown-field]: `imag` is no field of `container`
      --> large.yaml:100005:9
       |
100005 |         imag: busybox
       |         ^^^^
       |
help: did you mean `image`?

1 file: 2 errors, 0 warnings, 0 notices

"#]]
    );
}

#[test]
fn lint_tells_errors_from_warnings_by_its_exit_code() {
    let place = Place::new();
    place.write("good.yaml", workflow("good", "true"));
    assert_data_eq!(
        place.say(["lint", "--strict", "good.yaml"]),
        str![[r#"
exit code 0
-- stdout
1 file: 0 errors, 0 warnings, 0 notices

"#]]
    );
    place.write("open.yaml", workflow("open", "echo <your-org>"));
    assert_data_eq!(
        place.say(["lint", "open.yaml"]),
        str![[r#"
exit code 0
-- stdout
warning[unfilled-placeholder]: `<your-org>` is a placeholder
  --> open.yaml:12:22
   |
12 |         args: ["echo <your-org>"]
   |                      ^^^^^^^^^^
   |
help: put the real value in its place

1 file: 0 errors, 1 warning, 0 notices

"#]]
    );
    assert_data_eq!(
        place.say(["lint", "--strict", "open.yaml"]),
        str![[r#"
exit code 4
-- stdout
warning[unfilled-placeholder]: `<your-org>` is a placeholder
  --> open.yaml:12:22
   |
12 |         args: ["echo <your-org>"]
   |                      ^^^^^^^^^^
   |
help: put the real value in its place

1 file: 0 errors, 1 warning, 0 notices

"#]]
    );
    place.write(
        "bad.yaml",
        workflow("bad", "echo {{inputs.parameters.nowhere}}"),
    );
    assert_data_eq!(
        place.say(["lint", "bad.yaml", "good.yaml"]),
        str![[r#"
exit code 4
-- stdout
error[unresolved-tag]: `{{inputs.parameters.nowhere}}` names nothing that exists here
  --> bad.yaml:12:22
   |
12 |         args: ["echo {{inputs.parameters.nowhere}}"]
   |                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   |
help: declare it under `inputs`

2 files: 1 error, 0 warnings, 0 notices

"#]]
    );
}

#[test]
fn lint_answers_programs_in_json() {
    let place = Place::new();
    place.write(
        "bad.yaml",
        workflow("bad", "echo {{inputs.parameters.nowhere}}"),
    );
    let output = place.output(["lint", "--format", "json", "bad.yaml"]);
    assert_eq!(output.status.code(), Some(4));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_data_eq!(
        serde_json::to_string_pretty(&found).expect("it is JSON"),
        str![[r#"
[
  {
    "code": "unresolved-tag",
    "file": "bad.yaml",
    "hint": "declare it under `inputs`",
    "message": "`{{inputs.parameters.nowhere}}` names nothing that exists here",
    "path": "spec.templates[0].container.args[0]",
    "position": {
      "column": 22,
      "length": 29,
      "line": 12,
      "offset": 212
    },
    "severity": "error"
  }
]
"#]]
    );
}
