//! Secrets: where they must not be, and where they are handed on.

use std::process::Output;

use snapbox::{assert_data_eq, str};

use crate::{
    kills::as_both,
    place::Place,
    processes::{files_with, outside_with},
};

as_both! {
    secrets_are_nowhere_outside_the_sandbox
    output_that_contains_a_secret_is_an_error
    sensitive_output_decides_nothing
    sensitive_output_is_handed_on_and_never_shown
}

/// What is searched for, given as a Secret.
const SECRET: &str = "Zephyr-9381-quartz";
/// What is searched for, given as a passed variable.
const PASSED: &str = "Basalt-2746-meadow";
/// Their beginnings in base64, as long as neighbours do not change them.
const ENCODED: [&str; 2] = ["WmVwaHlyLTkzODEtcXVhcnR6", "QmFzYWx0LTI3NDYtbWVhZG93"];

fn forms() -> impl Iterator<Item = &'static str> {
    [SECRET, PASSED].into_iter().chain(ENCODED)
}

fn assert_unsaid(place: &Place, output: &Output) {
    let said = place.said(output);
    for form in forms() {
        assert!(!said.contains(form), "{form}:\n{said}");
    }
}

fn assert_unstored(place: &Place) {
    for form in forms() {
        let found = files_with(&place.data(), form);
        assert!(found.is_empty(), "{form}: {found:?}");
    }
}

const LOUD: &str = "\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  name: loud
spec:
  entrypoint: main
  volumes:
    - {name: shared, emptyDir: {}}
    - {name: secret, secret: {secretName: deploy}}
  templates:
    - name: main
      script:
        image: busybox
        command: [sh]
        source: |
          echo \"$TOKEN and $API_TOKEN\"
          cat /secret/token
          printf %s \"$TOKEN\" | base64
          printf %s \"$API_TOKEN\" | base64
          echo at the gate
          until [ -e /shared/gate ]; do usleep 5000; done
          echo \"$TOKEN\" > /tmp/left-behind
          exit 3
        env:
          - {name: TOKEN, valueFrom: {secretKeyRef: {name: deploy, key: token}}}
        volumeMounts:
          - {name: shared, mountPath: /shared}
          - {name: secret, mountPath: /secret}
";

fn secrets_are_nowhere_outside_the_sandbox(place: Place) {
    place.write("loud.yaml", LOUD);
    place.secrets("secrets.yaml", &[("deploy", "token", SECRET)]);
    let volume = format!("shared={}", place.folder("shared").display());
    let words = [
        "run",
        "loud.yaml",
        "--volume",
        &volume,
        "--secrets",
        "secrets.yaml",
        "--pass-env",
        "API_TOKEN",
    ];
    let mut run = place.start_with(&words, &[("API_TOKEN", PASSED)]);
    run.until_says("loud | at the gate");
    for form in forms() {
        let mut found = outside_with(form);
        // The person gave it to the command in this way.
        found.retain(|place| *place != (run.pid(), "environ"));
        assert!(found.is_empty(), "{form}: {found:?}");
    }
    // Files of secrets lie in memory, seen by the step alone.
    assert_unstored(&place);
    place.write("shared/gate", "");
    let output = run.end();
    assert_unsaid(&place, &output);
    assert_data_eq!(
        place.said(&output),
        str![[r#"
exit code 1
-- stdout
Running   loud
loud | *** and ***
loud | ******
loud | ***
loud | at the gate
Failed    loud in [TIME]: main: Error (exit code 3)

✖ loud
  main: Error (exit code 3)
  │ *** and ***
  │ ******
  │ ***
  │ at the gate

Failed loud in [TIME]: main: Error (exit code 3)
groundplan logs loud  ·  groundplan runs show loud

"#]]
    );
    assert_unstored(&place);
    for words in [
        &["logs", "loud"][..],
        &["runs", "show", "loud"],
        &["runs", "show", "--json", "loud"],
    ] {
        let output = place.output(words);
        assert_eq!(output.status.code(), Some(0));
        assert_unsaid(&place, &output);
    }
}

/// A step whose outputs hold a secret, and one that is given them.
fn handing_on(annotation: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  name: handing-on
spec:
  entrypoint: main
  templates:
    - name: main
      steps:
        - - {{name: make, template: make}}
        - - name: use
            template: use
            arguments:
              parameters:
                - {{name: password, value: '{{{{steps.make.outputs.parameters.password}}}}'}}
    - name: make
{annotation}      script:
        image: busybox
        command: [sh]
        source: |
          printf %s \"postgres://app:$TOKEN@db\" > /tmp/password
        env:
          - {{name: TOKEN, valueFrom: {{secretKeyRef: {{name: deploy, key: token}}}}}}
      outputs:
        parameters:
          - {{name: password, valueFrom: {{path: /tmp/password}}}}
    - name: use
      inputs: {{parameters: [{{name: password}}]}}
      script:
        image: busybox
        command: [sh]
        source: |
          echo 'given {{{{inputs.parameters.password}}}}'
          printf %s '{{{{inputs.parameters.password}}}}' | sha256sum
"
    )
}

fn output_that_contains_a_secret_is_an_error(place: Place) {
    place.write("handing-on.yaml", handing_on(""));
    place.secrets("secrets.yaml", &[("deploy", "token", SECRET)]);
    let output = place.output(["run", "handing-on.yaml", "--secrets", "secrets.yaml"]);
    assert_unsaid(&place, &output);
    assert_data_eq!(
        place.said(&output),
        str![[r#"
exit code 1
-- stdout
Running   handing-on[0].make
Error     handing-on[0].make in [TIME]: output `password` contains the value of secret `deploy/token`

✖ handing-on[0].make
  output `password` contains the value of secret `deploy/token`
  hint: where that is meant, add `password` to the template's annotation `groundplan/sensitive-outputs`

Failed handing-on in [TIME]: child 'handing-on-329416364' failed
groundplan logs handing-on  ·  groundplan runs show handing-on

"#]]
    );
    assert_unstored(&place);
}

/// A condition over a token would be false whatever the value is, and its step left out in silence.
fn sensitive_output_decides_nothing(place: Place) {
    let annotation = "      metadata: {annotations: {groundplan/sensitive-outputs: password}}\n";
    place.secrets("secrets.yaml", &[("deploy", "token", SECRET)]);
    let password = "steps.make.outputs.parameters.password";
    for condition in [
        format!("\"'{{{{{password}}}}}' == 'prod'\""),
        format!("\"{{{{={password} == 'prod'}}}}\""),
        format!("\"{{{{={password}[0:20] == 'prod'}}}}\""),
    ] {
        let call = "- - name: use\n";
        let document = handing_on(annotation);
        assert!(document.contains(call), "{document}");
        let document = document.replace(call, &format!("{call}            when: {condition}\n"));
        place.write("deciding.yaml", document);
        let output = place.output(["run", "deciding.yaml", "--secrets", "secrets.yaml"]);
        assert_unsaid(&place, &output);
        let said = place.said(&output);
        assert!(said.starts_with("exit code 1\n"), "{condition}: {said}");
        assert!(said.contains("failed to resolve references"), "{said}");
    }
}

fn sensitive_output_is_handed_on_and_never_shown(place: Place) {
    let annotation = "      metadata: {annotations: {groundplan/sensitive-outputs: password}}\n";
    place.write("handing-on.yaml", handing_on(annotation));
    place.secrets("secrets.yaml", &[("deploy", "token", SECRET)]);
    let output = place.output(["run", "handing-on.yaml", "--secrets", "secrets.yaml"]);
    assert_unsaid(&place, &output);
    // The digest is of the whole value.
    assert_data_eq!(
        place.said(&output),
        str![[r#"
exit code 0
-- stdout
Running   handing-on[0].make
Succeeded handing-on[0].make in [TIME]
Running   handing-on[1].use
use | given ***
use | 7d847bd69519934559d0c33e909fc436edd64bc720f3914cf550002545b7c14f  -
Succeeded handing-on[1].use in [TIME]

Succeeded handing-on in [TIME]
groundplan logs handing-on  ·  groundplan runs show handing-on

"#]]
    );
    let shown = place.output(["runs", "show", "handing-on"]);
    assert_unsaid(&place, &shown);
    assert_data_eq!(
        place.said(&shown),
        str![[r#"
exit code 0
-- stdout
name        handing-on
id          [RUN]
phase       Succeeded
document    handing-on.yaml
created     [DATE] UTC
took        [TIME]
sandbox     yes
secrets     [DIR]/work/secrets.yaml

✔ handing-on                                  [TIME]
├─ ✔ make                                     [TIME]
└─ ✔ use                                      [TIME]

handing-on[0].make
  out password = ***

handing-on[1].use
  in  password = ***

"#]]
    );
    assert_unstored(&place);
}
