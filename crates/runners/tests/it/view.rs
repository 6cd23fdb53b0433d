//! What a step sees of the machine.

use std::{fs, path::PathBuf};

use groundplan_engine::report::{StepEnd, StepOutcome};
use groundplan_ports::{
    logs::Stream,
    runner::{EnvValue, FileSpec, Isolation, Network, StepSpec, VolumeSource},
    secrets::SecretValue,
};
use groundplan_runners::image::{ImageMapping, Shell, ToolDir};

use crate::machine::{Machine, in_both, mount, printed, run};

/// What a script printed in a sandbox.
async fn said(machine: &Machine, spec: StepSpec) -> String {
    let runner = machine.runner();
    let step = spec.step.clone();
    let end = run(&runner, spec).await;
    let errors = printed(&runner, &step, Stream::Stderr).await;
    assert_eq!(end.exit_code, Some(0), "{:?} {errors}", end.outcome);
    end.result.expect("it is taken")
}

fn sandbox() -> Machine {
    Machine::new(Isolation::Sandbox)
}

fn failure(end: &StepEnd) -> &str {
    match &end.outcome {
        StepOutcome::StartFailure { message } | StepOutcome::ImageFailure { message } => message,
        other => panic!("it fails to start: {other:?}"),
    }
}

#[tokio::test]
async fn a_step_has_no_capability_and_gets_no_privilege() {
    let machine = sandbox();
    let script = "grep -E '^(Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs)' /proc/self/status | tr -d '\\t'";
    assert_eq!(
        said(&machine, machine.script(script)).await,
        "CapPrm:0000000000000000\nCapEff:0000000000000000\nCapBnd:0000000000000000\n\
         CapAmb:0000000000000000\nNoNewPrivs:1"
    );
}

#[tokio::test]
async fn settings_of_the_kernel_cannot_be_written() {
    let machine = sandbox();
    // Opened and left alone: even a sandbox that lets them be written changes no machine.
    let script = "cat /proc/sys/kernel/ostype; \
                  for file in /proc/sys/kernel/core_pattern /proc/sys/vm/swappiness; do \
                  ( : >>$file ) 2>/dev/null && echo opened; done; true";
    assert_eq!(said(&machine, machine.script(script)).await, "Linux");
}

#[tokio::test]
async fn a_step_lives_in_namespaces_of_its_own() {
    let machine = sandbox();
    let inside = said(
        &machine,
        machine.script("cd /proc/self/ns && readlink user pid ipc uts mnt net"),
    )
    .await;
    let outside: Vec<String> = ["user", "pid", "ipc", "uts", "mnt", "net"]
        .iter()
        .map(|name| {
            let link = fs::read_link(format!("/proc/self/ns/{name}")).expect("it is there");
            link.to_string_lossy().into_owned()
        })
        .collect();
    for (inside, outside) in inside.lines().zip(&outside) {
        assert_eq!(inside == outside, inside.starts_with("net:"), "{inside}");
    }
}

#[tokio::test]
async fn the_system_is_read_only_and_homes_and_data_are_not_there() {
    let machine = sandbox();
    let data_dir = machine.data_dir().display().to_string();
    let script = format!(
        "touch /usr/x /bin/x /etc/ssl/certs/x 2>/dev/null && echo written; \
         ls {data_dir} {source} /home /etc/shadow /etc/ssh /var/lib 2>/dev/null; \
         ls -A /root; ls -A /tmp; echo $HOME; pwd; id -u; hostname; set -- /proc/[0-9]*; echo $#",
        source = env!("CARGO_MANIFEST_DIR"),
    );
    // Process 1 and the shell, which counts without starting anything.
    assert_eq!(
        said(&machine, machine.script(&script)).await,
        "/root\n/\n0\ngroundplan\n2"
    );
}

#[tokio::test]
async fn the_environment_is_what_was_given_and_nothing_else() {
    let mut machine = sandbox();
    machine.options.env = vec![("HTTPS_PROXY".into(), "http://proxy.test:3128".into())];
    let mut mapping = ImageMapping::default();
    mapping.env.insert("FROM_IMAGE".into(), "image".into());
    mapping.env.insert("BOTH".into(), "image".into());
    machine.options.images.insert("debian", mapping);
    let mut spec = machine.script("env | sort | grep -v ^PWD=");
    for (name, value) in [("BOTH", "document"), ("OWN", "two\nlines")] {
        spec.main.env.push(EnvValue {
            name: name.into(),
            value: SecretValue::new(value),
            secret: false,
        });
    }
    assert_eq!(
        said(&machine, spec).await,
        "BOTH=document\nFROM_IMAGE=image\nHOME=/root\nHTTPS_PROXY=http://proxy.test:3128\n\
         OWN=two\nPATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nlines"
    );
}

#[tokio::test]
async fn a_bundle_of_authorities_reaches_every_step() {
    let mut machine = sandbox();
    let bundle = machine.data_dir().join("bundle.pem");
    fs::write(&bundle, "authorities").expect("it is written");
    machine.options.ca_bundle = Some(bundle);
    let names = "SSL_CERT_FILE CURL_CA_BUNDLE REQUESTS_CA_BUNDLE GIT_SSL_CAINFO \
                 NODE_EXTRA_CA_CERTS AWS_CA_BUNDLE";
    let script = format!("for n in {names}; do eval \"cat \\$$n; echo\"; done | sort -u");
    assert_eq!(said(&machine, machine.script(&script)).await, "authorities");
}

#[tokio::test]
async fn the_network_can_be_cut_off() {
    let machine = sandbox();
    let mut spec =
        machine.script("ls /sys/class/net 2>/dev/null; tail -n +3 /proc/net/dev | wc -l");
    assert_ne!(said(&machine, spec.clone()).await, "0");
    spec.step.execution += 100;
    spec.network = Network::None;
    let left = said(&machine, spec).await;
    assert!(left == "0" || left == "1", "loopback at most: {left}");
}

#[tokio::test]
async fn alpine_has_the_shell_of_busybox() {
    let machine = sandbox();
    let mut spec =
        machine.script("[ a == a ] && echo same; [ a == b ] || echo other; readlink /bin/sh");
    spec.main.image = "alpine:3.18".into();
    assert_eq!(
        said(&machine, spec.clone()).await,
        "same\nother\n/usr/bin/busybox"
    );
    spec.step.execution += 100;
    spec.main.image = "debian:12".into();
    let end = run(&machine.runner(), spec).await;
    assert_ne!(end.result.as_deref(), Some("same\nother\n/usr/bin/busybox"));
}

#[tokio::test]
async fn a_tool_among_the_systems_programs_does_not_bring_the_systems_shell() {
    let mut machine = sandbox();
    let folder = |path: &str| ToolDir {
        path: path.into(),
        show: Vec::new(),
    };
    let own = machine.data_dir().join("own");
    fs::create_dir_all(&own).expect("it is made");
    write_program(&own.join("apk"), "#!/bin/sh\necho apk of the image\n");
    machine.options.images.insert(
        "alpine/git",
        ImageMapping {
            tools: vec![folder("/usr/bin"), folder(&own.to_string_lossy())],
            shell: Shell::BusyBox,
            ..ImageMapping::default()
        },
    );
    let mut spec = machine.script("[ a == b ] || echo other; command -v sh; apk");
    spec.main.image = "alpine/git".into();
    assert_eq!(
        said(&machine, spec).await,
        "other\n/bin/sh\napk of the image"
    );
}

#[tokio::test]
async fn an_image_brings_tools_files_a_user_and_a_directory() {
    let mut machine = sandbox();
    let tools = machine.data_dir().join("tools/bin");
    fs::create_dir_all(&tools).expect("it is made");
    write_program(&tools.join("tofu"), "#!/bin/sh\necho tofu of the image\n");
    let file = machine.data_dir().join("settings");
    fs::write(&file, "settings").expect("it is written");
    machine.options.images.insert(
        "ghcr.io/opentofu/*",
        ImageMapping {
            tools: vec![ToolDir {
                path: tools.clone(),
                show: vec![machine.data_dir().join("tools")],
            }],
            files: [("/etc/tofu/rc".to_owned(), file)].into(),
            user: 1000,
            shell: Shell::BusyBox,
            working_dir: Some("/work".into()),
            command: vec!["sh".into(), "-c".into(), "echo default".into()],
            ..ImageMapping::default()
        },
    );
    let mut spec = machine.script("tofu; cat /etc/tofu/rc; echo; id -u; id -un; echo $HOME; pwd");
    spec.main.image = "ghcr.io/opentofu/opentofu:1.12.6".into();
    assert_eq!(
        said(&machine, spec.clone()).await,
        "tofu of the image\nsettings\n1000\nuser\n/home/user\n/work"
    );
    spec.step.execution += 100;
    spec.main.command.clear();
    assert_eq!(said(&machine, spec).await, "default");
}

#[tokio::test]
async fn an_unmapped_image_fails_with_the_line_to_add() {
    let machine = sandbox();
    let mut spec = machine.script("true");
    spec.main.image = "hashicorp/terraform:1.5".into();
    let end = run(&machine.runner(), spec).await;
    let message = failure(&end);
    assert!(message.contains("`hashicorp/terraform:1.5`"), "{message}");
    assert!(
        message.contains("images:\n  \"hashicorp/terraform\":\n"),
        "{message}"
    );
}

#[tokio::test]
async fn volumes_appear_at_any_path_and_nest() {
    let machine = sandbox();
    let host = machine.data_dir().join("host");
    fs::create_dir_all(host.join("sub")).expect("it is made");
    fs::write(host.join("sub/file"), "from the host").expect("it is written");
    let mut spec = machine.script(
        "echo claim > /workdir/x; echo inner > /workdir/cache/y; cat /ro/file; echo; \
         touch /ro/z 2>/dev/null || echo read only; ls /workdir; cat /secrets/deep/key; \
         stat -c %a /secrets/deep/key /root/.ssh/id; touch /secrets/new 2>/dev/null || echo fixed; \
         cat /root/.ssh/id",
    );
    spec.main.mounts = vec![
        mount("cache", "/workdir/cache"),
        mount("work", "/workdir"),
        mount("secret", "/secrets"),
        mount("secret", "/root/.ssh/id"),
        mount("host", "/ro"),
    ];
    spec.main.mounts[3].sub_path = "deep/key".into();
    spec.main.mounts[4].sub_path = "sub".into();
    spec.main.mounts[4].read_only = true;
    spec.volumes = [
        ("work".into(), VolumeSource::Claim("work".into())),
        ("cache".into(), VolumeSource::Empty),
        ("host".into(), VolumeSource::Directory(host)),
        (
            "secret".into(),
            VolumeSource::Files(vec![FileSpec {
                path: "deep/key".into(),
                content: SecretValue::new("the key\n"),
                secret: false,
                mode: 0o400,
            }]),
        ),
    ]
    .into();
    let run_id = spec.step.run.clone();
    assert_eq!(
        said(&machine, spec).await,
        "from the host\nread only\ncache\nx\nthe key\n400\n400\nfixed\nthe key"
    );
    let claim =
        groundplan_ports::runner::Runner::claim_directory(&*machine.runner(), &run_id, "work");
    assert_eq!(
        fs::read_to_string(claim.join("x")).expect("it outlives"),
        "claim\n"
    );
    groundplan_ports::runner::Runner::delete_claims(&*machine.runner(), &run_id)
        .await
        .expect("they are deleted");
    assert!(!claim.exists());
}

#[tokio::test]
async fn a_sub_path_over_a_link_is_refused() {
    let machine = sandbox();
    let host = machine.data_dir().join("host");
    fs::create_dir_all(&host).expect("it is made");
    std::os::unix::fs::symlink("/etc", host.join("link")).expect("it is made");
    let mut spec = machine.script("ls /there");
    spec.main.mounts = vec![mount("host", "/there")];
    spec.main.mounts[0].sub_path = "link/ssl".into();
    spec.volumes
        .insert("host".into(), VolumeSource::Directory(host));
    let end = run(&machine.runner(), spec).await;
    assert!(failure(&end).contains("symbolic link"), "{end:?}");
}

#[tokio::test]
async fn a_mount_that_hides_the_sandbox_is_refused_and_leaves_its_volume_alone() {
    let machine = sandbox();
    let host = machine.data_dir().join("host");
    fs::create_dir_all(&host).expect("it is made");
    for path in [
        "/",
        "/./",
        "/usr",
        "/run",
        "/dev/",
        "/proc/sys",
        "/run/groundplan",
    ] {
        let mut spec = machine.script("true");
        spec.main.mounts = vec![mount("host", path)];
        let source = VolumeSource::Directory(host.clone());
        spec.volumes.insert("host".into(), source);
        let end = run(&machine.runner(), spec).await;
        assert!(failure(&end).contains("nothing can be mounted"), "{end:?}");
        let left = fs::read_dir(&host).expect("it is there").count();
        assert_eq!(left, 0, "{path}");
    }
}

#[tokio::test]
async fn a_script_is_a_file_that_is_never_on_disk() {
    let machine = sandbox();
    let mut spec = machine.script("");
    spec.main.command = vec!["bash".into()];
    spec.main.args = vec!["-e".into()];
    spec.main.source = Some("echo \"$0\"; grep -c staging /proc/self/mounts\n".into());
    spec.main.working_dir = "/made/on/demand".into();
    let step = spec.step.clone();
    assert_eq!(said(&machine, spec).await, "/argo/staging/script\n1");
    let root: PathBuf = machine.step_dir(&step).join("root");
    assert!(root.join("made/on/demand").is_dir());
    assert!(!root.join("argo/staging/script").exists());
}

#[tokio::test]
async fn a_working_directory_that_is_no_directory_is_named() {
    let machine = sandbox();
    let mut spec = machine.script("true");
    spec.main.working_dir = "/usr/nowhere".into();
    let end = run(&machine.runner(), spec).await;
    assert!(
        failure(&end).contains("working directory `/usr/nowhere`"),
        "{end:?}"
    );
}

#[tokio::test]
async fn bubblewrap_that_fails_or_is_missing_is_told_in_its_words() {
    let mut machine = sandbox();
    machine.options.bubblewrap = "/nowhere/bwrap".into();
    let end = run(&machine.runner(), machine.script("true")).await;
    assert!(failure(&end).contains("`/nowhere/bwrap`"), "{end:?}");
    let program = machine.data_dir().join("bwrap");
    write_program(
        &program,
        "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n",
    );
    machine.options.bubblewrap = program;
    let end = run(&machine.runner(), machine.script("true")).await;
    let message = failure(&end);
    assert!(message.contains("setting up uid map"), "{message}");
    assert!(message.contains("groundplan doctor"), "{message}");
}

#[tokio::test]
async fn a_mount_that_cannot_be_made_is_told_in_bubblewraps_words() {
    let mut machine = sandbox();
    machine.options.shown = vec!["/nowhere/at/all".into()];
    let end = run(&machine.runner(), machine.script("true")).await;
    assert!(failure(&end).contains("/nowhere/at/all"), "{end:?}");
}

#[tokio::test]
async fn memory_limits_hold_where_control_groups_are_writable() {
    let machine = sandbox();
    let mut spec = machine.script("perl -e '$x = \"x\" x (200 << 20); print length $x'");
    spec.main.memory_limit = Some(64 << 20);
    let step = spec.step.clone();
    let runner = machine.runner();
    let end = run(&runner, spec).await;
    let notices = printed(&runner, &step, Stream::Notice).await;
    if notices.contains("not enforced") {
        eprintln!("not run: memory limits, since {notices}");
        assert_eq!(end.exit_code, Some(0));
    } else {
        assert_eq!(end.outcome, StepOutcome::OutOfMemory);
    }
}

#[tokio::test]
async fn without_sandbox_fixed_mount_paths_and_a_cut_network_are_refused() {
    let machine = Machine::new(Isolation::None);
    let mut spec = machine.script("true");
    spec.main.mounts = vec![mount("work", "/workdir")];
    spec.volumes
        .insert("work".into(), VolumeSource::Claim("work".into()));
    let end = run(&machine.runner(), spec).await;
    assert!(failure(&end).contains("`/workdir`"), "{end:?}");
    let mut spec = machine.script("true");
    spec.network = Network::None;
    let end = run(&machine.runner(), spec).await;
    assert!(failure(&end).contains("network"), "{end:?}");
}

#[tokio::test]
async fn without_sandbox_home_and_temporary_files_are_the_steps_own_and_short() {
    let machine = Machine::new(Isolation::None);
    let mut spec = machine.script("");
    spec.main.command = vec!["sh".into()];
    spec.main.source =
        Some("touch $HOME/a $TMPDIR/b && echo ${#TMPDIR}; pwd -P | grep -cF $HOME".into());
    let end = run(&machine.runner(), spec).await;
    let result = end.result.expect("it is taken");
    let (length, in_home) = result.split_once('\n').expect("two lines");
    assert!(length.parse::<u32>().expect("a number") < 40, "{length}");
    assert_eq!(in_home, "1");
}

in_both! {
    async fn side_containers_are_refused(machine) {
        let mut spec = machine.script("true");
        spec.side.push(spec.main.clone());
        let end = run(&machine.runner(), spec).await;
        assert!(failure(&end).contains("not supported yet"));
    }
}

fn write_program(path: &std::path::Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text).expect("it is written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}
