//! Parameters, volumes, variables and secrets that are not what the document asks for.

use std::{fs, os::unix::fs::PermissionsExt};

use snapbox::{assert_data_eq, str};

use crate::place::{Place, workflow};

const GREETING: &str = "\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  name: greeting
spec:
  entrypoint: main
  arguments:
    parameters:
      - name: greeting
        value: hello
      - name: person
  templates:
    - name: main
      inputs:
        parameters:
          - name: colour
            value: red
      container:
        image: busybox
        command: [echo]
        args: ['{{workflow.parameters.greeting}} {{workflow.parameters.person}} {{inputs.parameters.colour}}']
";

#[test]
fn missing_argument_is_named() {
    let place = Place::new();
    place.write("greeting.yaml", GREETING);
    assert_data_eq!(
        place.say(["run", "greeting.yaml"]),
        str![[r#"
exit code 1
-- stderr
error: `greeting.yaml` cannot be run
  because error[missing-parameter]: no value for `person`
           --> greeting.yaml:8:5
            |
          8 |     parameters:
            |     ^
            |
          help: add -p person=VALUE

"#]]
    );
}

#[test]
fn unknown_parameter_is_refused_with_the_nearest_name() {
    let place = Place::new();
    place.write("greeting.yaml", GREETING);
    assert_data_eq!(
        place.say([
            "run",
            "greeting.yaml",
            "-p",
            "person=Ada",
            "-p",
            "greting=hi"
        ]),
        str![[r#"
exit code 1
-- stderr
error: `greeting.yaml` cannot be run
  because error[unknown-parameter]: the workflow has no parameter `greting`
           --> greeting.yaml:8:5
            |
          8 |     parameters:
            |     ^
            |
          help: did you mean `greeting`?

"#]]
    );
    assert_data_eq!(
        place.say(["run", "greeting.yaml", "-p", "person=Ada", "-p", "zzz=hi"]),
        str![[r#"
exit code 1
-- stderr
error: `greeting.yaml` cannot be run
  because error[unknown-parameter]: the workflow has no parameter `zzz`
           --> greeting.yaml:8:5
            |
          8 |     parameters:
            |     ^
            |
          help: it takes `greeting`, `person`, `colour`

"#]]
    );
}

#[test]
fn parameter_given_twice_is_refused() {
    let place = Place::new();
    place.write("greeting.yaml", GREETING);
    assert_data_eq!(
        place.say([
            "run",
            "greeting.yaml",
            "-p",
            "person=Ada",
            "-p",
            "person=Bob"
        ]),
        str![[r#"
exit code 1
-- stderr
error: `greeting.yaml` cannot be run
  because error[duplicate-parameter]: parameter `person` is given twice
           --> greeting.yaml:8:5
            |
          8 |     parameters:
            |     ^
            |
          help: give it once

"#]]
    );
}

#[test]
fn parameter_without_value_is_refused() {
    let place = Place::new();
    place.write("greeting.yaml", GREETING);
    assert_data_eq!(
        place.say(["run", "greeting.yaml", "-p", "person"]),
        str![[r#"
exit code 1
-- stderr
error: `-p person` has no value
hint: write `-p NAME=VALUE`

"#]]
    );
    assert_data_eq!(
        place.say(["run", "greeting.yaml", "-p", "=Ada"]),
        str![[r#"
exit code 1
-- stderr
error: `-p =Ada` names no parameter
hint: write `-p NAME=VALUE`

"#]]
    );
}

#[test]
fn parameters_name_arguments_of_the_document_and_inputs_of_its_entrypoint() {
    let place = Place::new();
    place.write("greeting.yaml", GREETING);
    place.write("values.yaml", "person: Ada\ngreeting: good morning\n");
    let words = [
        "run",
        "--no-sandbox",
        "greeting.yaml",
        "--parameter-file",
        "values.yaml",
        "-p",
        "greeting=good evening",
        "-p",
        "colour=blue",
    ];
    assert_data_eq!(
        place.say(words),
        str![[r#"
exit code 0
-- stdout
Running   greeting
greeting | good evening Ada blue
Succeeded greeting in [TIME]

Succeeded greeting in [TIME]
groundplan logs greeting  ·  groundplan runs show greeting

"#]]
    );
}

#[test]
fn parameter_file_is_checked() {
    let place = Place::new();
    place.write("greeting.yaml", GREETING);
    assert_data_eq!(
        place.say(["run", "greeting.yaml", "--parameter-file", "none.yaml"]),
        str![[r#"
exit code 1
-- stderr
error: cannot read the parameter file `none.yaml`
  because No such file or directory (os error 2)
hint: name a file that holds a map of parameters, such as `name: value`

"#]]
    );
    place.write("list.yaml", "- person\n- Ada\n");
    assert_data_eq!(
        place.say(["run", "greeting.yaml", "--parameter-file", "list.yaml"]),
        str![[r#"
exit code 1
-- stderr
error: the parameter file `list.yaml` is no map of names to values
hint: write a line `name: value` for each parameter

"#]]
    );
    place.write("twice.yaml", "person: Ada\nperson: Bob\n");
    assert_data_eq!(
        place.say(["run", "greeting.yaml", "--parameter-file", "twice.yaml"]),
        str![[r#"
exit code 1
-- stderr
error: the parameter file `twice.yaml` has faults
  because error[duplicate-key]: key `person` stands twice in one map
           --> twice.yaml:2:1
            |
          2 | person: Bob
            | ^^^^^^
            |
          help: the first one is in line 1; remove one of them

"#]]
    );
    place.write("unknown.yaml", "person: Ada\ngreting: hi\n");
    assert_data_eq!(
        place.say(["run", "greeting.yaml", "--parameter-file", "unknown.yaml"]),
        str![[r#"
exit code 1
-- stderr
error: `greeting.yaml` cannot be run
  because error[unknown-parameter]: the workflow has no parameter `greting`
           --> greeting.yaml:8:5
            |
          8 |     parameters:
            |     ^
            |
          help: did you mean `greeting`?

"#]]
    );
}

#[test]
fn volume_needs_a_name_and_a_directory() {
    let place = Place::new();
    place.write("hello.yaml", workflow("hello", "true"));
    assert_data_eq!(
        place.say(["run", "hello.yaml", "--volume", "data"]),
        str![[r#"
exit code 1
-- stderr
error: `--volume data` names no directory
hint: write `--volume NAME=DIR`

"#]]
    );
    assert_data_eq!(
        place.say(["run", "hello.yaml", "--volume", "data=nowhere"]),
        str![[r#"
exit code 1
-- stderr
error: the directory `[DIR]/work/nowhere` of volume `data` is not there
hint: make it with `mkdir -p [DIR]/work/nowhere`

"#]]
    );
    assert_data_eq!(
        place.say(["run", "hello.yaml", "--volume", "data=hello.yaml"]),
        str![[r#"
exit code 1
-- stderr
error: `[DIR]/work/hello.yaml` of volume `data` is no directory
hint: give a directory

"#]]
    );
    assert_data_eq!(
        place.say([
            "run",
            "hello.yaml",
            "--volume",
            "data=.",
            "--volume",
            "data=/tmp"
        ]),
        str![[r#"
exit code 1
-- stderr
error: volume `data` is given twice
hint: give it once

"#]]
    );
    assert_data_eq!(
        place.say(["run", "hello.yaml", "--volume", "dta=."]),
        str![[r#"
exit code 1
-- stderr
error: the document has no volume `dta`
hint: it has no volumes; remove `--volume`

"#]]
    );
    assert_data_eq!(
        place.say(["run", "hello.yaml", "--volume", "=."]),
        str![[r#"
exit code 1
-- stderr
error: `--volume =.` names no volume
hint: write `--volume NAME=DIR`

"#]]
    );
}

#[test]
fn a_directory_may_be_behind_a_claim_that_the_document_names() {
    let place = Place::new();
    let document = workflow("hello", "true").replace(
        "spec:",
        "spec:\n  volumes:\n  - {name: work, persistentVolumeClaim: {claimName: kept}}",
    );
    place.write("hello.yaml", document);
    let said = place.say(["run", "hello.yaml", "--volume", "kept=.", "--no-sandbox"]);
    assert!(said.starts_with("exit code 0\n"), "{said}");
}

#[test]
fn path_to_bind_must_be_there() {
    let place = Place::new();
    place.write("hello.yaml", workflow("hello", "true"));
    assert_data_eq!(
        place.say(["run", "hello.yaml", "--bind-ro", "nowhere"]),
        str![[r#"
exit code 1
-- stderr
error: `--bind-ro [DIR]/work/nowhere`: there is nothing
hint: name a file or directory of this machine

"#]]
    );
}

#[test]
fn passed_variable_must_be_set() {
    let place = Place::new();
    place.write("hello.yaml", workflow("hello", "true"));
    assert_data_eq!(
        place.say(["run", "hello.yaml", "--pass-env", "AWS_PROFILE"]),
        str![[r#"
exit code 1
-- stderr
error: variable `AWS_PROFILE` is not set here
hint: set it, or write `--pass-env AWS_PROFILE=VALUE`

"#]]
    );
    assert_data_eq!(
        place.say(["run", "hello.yaml", "--pass-env", "=value"]),
        str![[r#"
exit code 1
-- stderr
error: `--pass-env =value` names no variable
hint: write `--pass-env NAME` or `--pass-env NAME=VALUE`

"#]]
    );
    assert_data_eq!(
        place.say([
            "run",
            "hello.yaml",
            "--pass-env",
            "A=1",
            "--pass-env",
            "A=2"
        ]),
        str![[r#"
exit code 1
-- stderr
error: variable `A` is passed twice
hint: pass it once

"#]]
    );
}

const SECRETIVE: &str = "\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  name: secretive
spec:
  entrypoint: main
  templates:
    - name: main
      container:
        image: busybox
        command: [sh, -c]
        args: ['echo started > /mark/started; echo $TOKEN $REGION']
        env:
          - name: TOKEN
            valueFrom: {secretKeyRef: {name: deploy, key: token}}
          - name: REGION
            valueFrom: {configMapKeyRef: {name: places, key: region}}
        volumeMounts:
          - {name: mark, mountPath: /mark}
  volumes:
    - name: mark
      emptyDir: {}
";

#[test]
fn missing_secrets_are_all_named_before_anything_starts() {
    let place = Place::new();
    place.write("secretive.yaml", SECRETIVE);
    let mark = place.folder("mark");
    let volume = format!("mark={}", mark.display());
    assert_data_eq!(
        place.say(["run", "secretive.yaml", "--volume", &volume]),
        str![[r#"
exit code 1
-- stderr
error: not everything that the document refers to is there
  because there is no key `token` of Secret `deploy` in namespace ``, which template `main` needs
  because there is no key `region` of ConfigMap `places` in namespace ``, which template `main` needs
hint: give a file of Secret and ConfigMap documents with `--secrets FILE`

"#]]
    );
    let secrets = place.write(
        "secrets.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: deploy\nstringData:\n  tokn: abcdefgh\n",
    );
    fs::set_permissions(&secrets, fs::Permissions::from_mode(0o600)).expect("ours");
    assert_data_eq!(
        place.say([
            "run",
            "secretive.yaml",
            "--volume",
            &volume,
            "--secrets",
            "secrets.yaml"
        ]),
        str![[r#"
exit code 1
-- stderr
error: not everything that the document refers to is there
  because Secret `deploy` of `secrets.yaml` has no key `token`, which template `main` needs
  because there is no key `region` of ConfigMap `places` in namespace ``, which template `main` needs
hint: give a file of Secret and ConfigMap documents with `--secrets FILE`

"#]]
    );
    assert!(!mark.join("started").exists());
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
fn secrets_file_is_refused_where_others_can_read_it() {
    let place = Place::new();
    place.write("secretive.yaml", SECRETIVE);
    let secrets = place.write(
        "secrets.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: deploy\nstringData:\n  token: abcdefgh\n",
    );
    for mode in [0o604, 0o640] {
        fs::set_permissions(&secrets, fs::Permissions::from_mode(mode)).expect("ours");
        let output = place.output(["run", "secretive.yaml", "--secrets", "secrets.yaml"]);
        assert_eq!(output.status.code(), Some(1), "mode {mode:o}");
    }
    assert_data_eq!(
        place.say(["run", "secretive.yaml", "--secrets", "secrets.yaml"]),
        str![[r#"
exit code 1
-- stderr
error: the file `secrets.yaml` holds a Secret and others can read it (mode 0640)
hint: `chmod 600 secrets.yaml`

"#]]
    );
    assert_data_eq!(
        place.say(["run", "secretive.yaml", "--secrets", "none.yaml"]),
        str![[r#"
exit code 1
-- stderr
error: the file `none.yaml` cannot be read
  because No such file or directory (os error 2)

"#]]
    );
}

#[test]
fn secrets_file_with_faults_shows_no_values() {
    let place = Place::new();
    place.write("secretive.yaml", SECRETIVE);
    let secrets = place.write("secrets.yaml", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: deploy\ndata:\n  token: this-is-no-base64-hunter2\n");
    fs::set_permissions(&secrets, fs::Permissions::from_mode(0o600)).expect("ours");
    let said = place.say(["run", "secretive.yaml", "--secrets", "secrets.yaml"]);
    assert!(!said.contains("hunter2"), "{said}");
    assert_data_eq!(
        said,
        str![[r#"
exit code 1
-- stderr
error: `secrets.yaml` line 6: key `token` of `data` is no base64
hint: encode it with `base64 -w0`, or write it as it is under `stringData`

"#]]
    );
    place.write(
        "secrets.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: deploy\nstringData:\n  token: [hunter2\n",
    );
    let said = place.say(["run", "secretive.yaml", "--secrets", "secrets.yaml"]);
    assert!(!said.contains("hunter2"), "{said}");
    assert_data_eq!(
        said,
        str![[r#"
exit code 1
-- stderr
error: the file `secrets.yaml` in line 6 is not readable: invalid-yaml
hint: it holds Kubernetes Secrets and ConfigMaps as YAML or JSON; put a text with special characters in quotes

"#]]
    );
}

#[test]
fn missing_tool_fails_its_step_and_is_named() {
    let place = Place::new();
    place.configure("images:\n  tools:\n    tools: [tflint]\n");
    let text = workflow("needy", "tflint --version").replace("image: busybox", "image: tools");
    place.write("needy.yaml", text);
    assert_data_eq!(
        place.say(["run", "--no-sandbox", "needy.yaml"]),
        str![[r#"
exit code 1
-- stdout
Running   needy
needy | sh: 1: tflint: not found
Failed    needy in [TIME]: main: Error (exit code 127)

✖ needy
  main: Error (exit code 127)
  │ sh: 1: tflint: not found
  hint: a program was not found; `groundplan tools list` says which tools are here

Failed needy in [TIME]: main: Error (exit code 127)
groundplan logs needy  ·  groundplan runs show needy

"#]]
    );
    let text = workflow("needier", "true").replace("[sh, -c]", "[tflint]");
    place.write("needier.yaml", text);
    assert_data_eq!(
        place.say(["run", "--no-sandbox", "needier.yaml"]),
        str![[r#"
exit code 1
-- stdout
Running   needier
Error     needier in [TIME]: program `tflint` cannot be executed: No such file or directory (os error 2)

✖ needier
  program `tflint` cannot be executed: No such file or directory (os error 2)
  hint: name a program that the image brings, or add its folder to the image's `tools` in the machine configuration

Error needier in [TIME]: program `tflint` cannot be executed: No such file or directory (os error 2)
groundplan logs needier  ·  groundplan runs show needier

"#]]
    );
}

#[test]
fn unmapped_image_shows_the_line_to_add() {
    let place = Place::new();
    let text =
        workflow("unmapped", "true").replace("image: busybox", "image: ghcr.io/acme/builder:1.4");
    place.write("unmapped.yaml", text);
    assert_data_eq!(
        place.say(["run", "--no-sandbox", "unmapped.yaml"]),
        str![[r#"
exit code 1
-- stdout
Error     unmapped in [TIME]: image `ghcr.io/acme/builder:1.4` is not mapped to tools of this machine

✖ unmapped
  image `ghcr.io/acme/builder:1.4` is not mapped to tools of this machine
  hint: add to the machine configuration:
  images:
    "ghcr.io/acme/builder":
      shell: system

Error unmapped in [TIME]: image `ghcr.io/acme/builder:1.4` is not mapped to tools of this machine
groundplan logs unmapped  ·  groundplan runs show unmapped

"#]]
    );
}
