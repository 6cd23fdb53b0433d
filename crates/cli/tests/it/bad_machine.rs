//! Machine configurations with faults, and machines without a sandbox.

use snapbox::{assert_data_eq, str};

use crate::place::{Place, workflow};

#[test]
fn every_fault_of_the_configuration_is_shown_at_once_with_its_line() {
    let place = Place::new();
    place.configure(
        "netwrok: true\nslots: 0\nca_bundle: certs.pem\nallowed_host_paths: /srv\n\
         tools:\n  tofoo: /opt/tofu\nimages:\n  builder:\n    shell: fish\n    tools: [tofoo]\n    user: -1\n    working_dir: [a]\n",
    );
    assert_data_eq!(
        place.say(["config", "show"]),
        str![[r#"
exit code 1
-- stderr
error: the machine configuration `[DIR]/home/.config/groundplan/config.yaml` has faults
  because error[unknown-key]: unknown key `netwrok`
           --> [DIR]/home/.config/groundplan/config.yaml:1:1
            |
          1 | netwrok: true
            | ^^^^^^^
            |
          help: did you mean `network`?
          
          error[wrong-value]: `slots` must be at least 1
           --> [DIR]/home/.config/groundplan/config.yaml:2:8
            |
          2 | slots: 0
            |        ^
          
          error[wrong-value]: `certs.pem` is not an absolute path
           --> [DIR]/home/.config/groundplan/config.yaml:3:12
            |
          3 | ca_bundle: certs.pem
            |            ^^^^^^^^^
          
          error[wrong-value]: `allowed_host_paths` must be a list, and is text
           --> [DIR]/home/.config/groundplan/config.yaml:4:21
            |
          4 | allowed_host_paths: /srv
            |                     ^^^^
          
          error[wrong-value]: `tofoo` is no known tool
           --> [DIR]/home/.config/groundplan/config.yaml:6:10
            |
          6 |   tofoo: /opt/tofu
            |          ^^^^^^^^^
            |
          help: `groundplan tools list` names the tools that are known here
          
          error[wrong-value]: `fish` is no shell; it is `system` or `busybox`
           --> [DIR]/home/.config/groundplan/config.yaml:9:12
            |
          9 |     shell: fish
            |            ^^^^
          
          error[wrong-value]: `tofoo` is no tool that is known here
            --> [DIR]/home/.config/groundplan/config.yaml:10:13
             |
          10 |     tools: [tofoo]
             |             ^^^^^
             |
          help: a tool is one of those that `groundplan tools list` names, `groundplan`, or an absolute folder of programs
          
          error[wrong-value]: `-1` is no user id
            --> [DIR]/home/.config/groundplan/config.yaml:11:11
             |
          11 |     user: -1
             |           ^^
             |
          help: it is a number from 0
          
          error[wrong-value]: `images."builder".working_dir` must be a text, and is a list
            --> [DIR]/home/.config/groundplan/config.yaml:12:18
             |
          12 |     working_dir: [a]
             |                  ^

"#]]
    );
    place.write("hello.yaml", workflow("hello", "true"));
    assert_eq!(place.output(["run", "hello.yaml"]).status.code(), Some(1));
}

#[test]
fn named_configuration_must_be_there() {
    let place = Place::new();
    assert_data_eq!(
        place.say(["config", "show", "--config", "none.yaml"]),
        str![[r#"
exit code 1
-- stderr
error: cannot read the machine configuration `none.yaml`
  because No such file or directory (os error 2)
hint: `--config` and `GROUNDPLAN_CONFIG` name the file; without them none is needed

"#]]
    );
}

#[test]
fn empty_variables_say_nothing_and_empty_options_are_refused() {
    let place = Place::new();
    for name in [
        "GROUNDPLAN_DATA_DIR",
        "GROUNDPLAN_CONFIG",
        "GROUNDPLAN_KEY_FILE",
    ] {
        let shown = place
            .command(["config", "show"])
            .env(name, "")
            .output()
            .expect("it runs");
        let said = place.said(&shown);
        assert!(shown.status.success(), "{name}: {said}");
        assert!(
            said.contains("data_dir: [DIR]/home/.local/share/groundplan"),
            "{name}: {said}"
        );
    }
    let output = place.output(["config", "show", "--data-dir", ""]);
    assert_eq!(output.status.code(), Some(64));
}

#[test]
fn configuration_is_shown_with_the_origin_of_each_value() {
    let place = Place::new();
    place.configure("network: false\nslots: 3\nimages:\n  builder:\n    tools: [git]\n");
    assert_data_eq!(
        place.say(["config", "show", "--data-dir", "elsewhere"]),
        str![[r#"
exit code 0
-- stdout
# [DIR]/home/.config/groundplan/config.yaml
data_dir: [DIR]/work/elsewhere                   # command line or environment
cache: [DIR]/home/.cache/groundplan              # default
network: false                                           # file
ca_bundle: null                                          # default
allowed_host_paths: []                                   # default
slots: 3                                                 # file
images."alpine":                                         # default
  shell: busybox, user: 0, tools: []
images."builder":                                        # file
  shell: system, user: 0, tools: [git]
images."busybox":                                        # default
  shell: busybox, user: 0, tools: []
images."groundplan/*":                                   # default
  shell: system, user: 0, tools: [tofu, tflint, checkov, git, groundplan]

"#]]
    );
}

/// What bubblewrap says where unprivileged user namespaces are forbidden.
const FORBIDDEN: &str = "#!/bin/sh
[ \"$1\" = --version ] && echo 'bubblewrap 0.11.0' && exit
echo 'bwrap: setting up uid map: Permission denied' >&2
exit 1
";

#[test]
fn without_a_sandbox_a_run_is_refused_with_the_way_out() {
    let place = Place::new();
    place.program("bwrap", FORBIDDEN);
    place.write("hello.yaml", workflow("hello", "echo hello"));
    assert_data_eq!(
        place.say(["run", "hello.yaml"]),
        str![[r#"
exit code 1
-- stderr
error: there is no usable sandbox on this machine
  because the sandbox does not work here: bwrap: setting up uid map: Permission denied
hint: repair it (`groundplan doctor` says how), or add `--no-sandbox`

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
    assert_data_eq!(
        place.say(["run", "--no-sandbox", "hello.yaml"]),
        str![[r#"
exit code 0
-- stdout
Running   hello
hello | hello
Succeeded hello in [TIME]

Succeeded hello in [TIME]
groundplan logs hello  ·  groundplan runs show hello

"#]]
    );
}

#[test]
fn no_other_bubblewrap_takes_the_place_of_the_configured_one() {
    let place = Place::new();
    place.program("mine", "#!/bin/sh\nexit 1\n");
    let mine = place.path("programs/mine");
    place.configure(&format!("tools: {{bwrap: {}}}\n", mine.display()));
    place.write("hello.yaml", workflow("hello", "echo hello"));
    assert_data_eq!(
        place.say(["run", "hello.yaml"]),
        str![[r#"
exit code 1
-- stderr
error: there is no usable sandbox on this machine
  because the sandbox does not work here: `[DIR]/programs/mine`: exit status: 1
hint: repair it (`groundplan doctor` says how), or add `--no-sandbox`

"#]]
    );
}

#[test]
fn document_that_needs_fixed_places_is_refused_without_a_sandbox_before_it_starts() {
    let place = Place::new();
    place.program("bwrap", FORBIDDEN);
    place.write("fixed.yaml", FIXED);
    assert_data_eq!(
        place.say(["run", "--no-sandbox", "fixed.yaml"]),
        str![[r#"
exit code 1
-- stderr
error: the document needs a sandbox
  because template `main` mounts volume `shared` at the fixed path `/shared`
  because template `main` starts in the fixed directory `/shared`
  because template `main` takes output `out` from the fixed path `/tmp/out`
hint: run it with a sandbox, or let the mount path come from a parameter

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
fn document_that_takes_its_mount_path_from_a_parameter_runs_without_a_sandbox() {
    let place = Place::new();
    place.program("bwrap", FORBIDDEN);
    place.write("portable.yaml", PORTABLE);
    assert_data_eq!(
        place.say(["run", "--no-sandbox", "portable.yaml"]),
        str![[r#"
exit code 0
-- stdout
Running   portable[0].write
Succeeded portable[0].write in [TIME]
Running   portable[1].read
read | handed over
Succeeded portable[1].read in [TIME]

Succeeded portable in [TIME]
groundplan logs portable  ·  groundplan runs show portable
-- stderr
note[ignored-field]: only a cluster can honour this, ignored here: `volumeClaimTemplates.spec`
  --> portable.yaml:13:7
   |
13 |       spec:
   |       ^^^^

"#]]
    );
    let shared = place.folder("shared");
    assert_data_eq!(
        place.say([
            "run",
            "--no-sandbox",
            "portable.yaml",
            "--volume",
            "shared=shared"
        ]),
        str![[r#"
exit code 0
-- stdout
Running   portable[0].write
Succeeded portable[0].write in [TIME]
Running   portable[1].read
read | handed over
Succeeded portable[1].read in [TIME]

Succeeded portable in [TIME]
groundplan logs portable  ·  groundplan runs show portable
-- stderr
note[ignored-field]: only a cluster can honour this, ignored here: `volumeClaimTemplates.spec`
  --> portable.yaml:13:7
   |
13 |       spec:
   |       ^^^^

"#]]
    );
    assert!(shared.join("file").exists());
}

const FIXED: &str = "\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  name: fixed
spec:
  entrypoint: main
  volumes:
    - name: shared
      emptyDir: {}
  templates:
    - name: main
      container:
        image: busybox
        command: [sh, -c]
        args: ['echo 1 > /tmp/out']
        workingDir: /shared
        volumeMounts:
          - {name: shared, mountPath: /shared}
      outputs:
        parameters:
          - name: out
            valueFrom: {path: /tmp/out}
";

const PORTABLE: &str = "\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  name: portable
spec:
  entrypoint: main
  arguments:
    parameters:
      - name: place
        value: /shared
  volumeClaimTemplates:
    - metadata: {name: shared}
      spec:
        accessModes: [ReadWriteOnce]
        resources: {requests: {storage: 1Gi}}
  templates:
    - name: main
      steps:
        - - {name: write, template: write}
        - - {name: read, template: read}
    - name: write
      container:
        image: busybox
        command: [sh, -c]
        args: ['echo handed over > {{workflow.parameters.place}}/file']
        volumeMounts:
          - {name: shared, mountPath: '{{workflow.parameters.place}}'}
    - name: read
      container:
        image: busybox
        command: [sh, -c]
        args: ['cat {{workflow.parameters.place}}/file']
        volumeMounts:
          - {name: shared, mountPath: '{{workflow.parameters.place}}'}
";
