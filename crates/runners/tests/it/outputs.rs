//! What a step prints and leaves, and what must not come out of it.

use std::{collections::BTreeSet, fs, path::Path};

use groundplan_engine::report::StepOutcome;
use groundplan_ports::{
    logs::Stream,
    runner::{CaptureResult, Isolation, Runner, StepSpec, Take},
    secrets::SecretValue,
};

use crate::machine::{Machine, end, in_both, printed, run, secret_env, until, until_printed};

fn take(name: &str, path: &str) -> Take {
    Take {
        name: name.into(),
        path: path.into(),
        optional: false,
        sensitive: false,
    }
}

fn with_take(machine: &Machine, script: &str, path: &str) -> StepSpec {
    let mut spec = machine.script(script);
    spec.take = vec![take("out", path)];
    spec
}

fn output_failure(outcome: &StepOutcome) -> &str {
    match outcome {
        StepOutcome::OutputFailure { message } => message,
        other => panic!("it is an output failure: {other:?}"),
    }
}

#[tokio::test]
async fn taking_outputs_is_no_way_out() {
    let machine = Machine::new(Isolation::Sandbox);
    let runner = machine.runner();
    for (script, path, why) in [
        ("ln -s /etc/shadow /tmp/o", "/tmp/o", "does not exist"),
        (
            "ln -s ../../../../../../../../etc/shadow /tmp/o",
            "/tmp/o",
            "does not exist",
        ),
        ("mkfifo /tmp/o", "/tmp/o", "FIFO"),
        ("mkdir /tmp/o", "/tmp/o", "directory"),
        ("ln -s o /tmp/o", "/tmp/o", "loop"),
        ("true", "/proc/self/environ", "does not exist"),
        ("ln -s /proc/1/environ /tmp/o", "/tmp/o", "does not exist"),
        ("true", "/dev/zero", "does not exist"),
        ("ln -s /dev/zero /tmp/o", "/tmp/o", "does not exist"),
        (
            "perl -e 'use Socket; socket(S, PF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un(q(/tmp/o)))'",
            "/tmp/o",
            "socket",
        ),
        (
            "truncate -s 1048577 /tmp/o",
            "/tmp/o",
            "longer than 1024 KB",
        ),
        ("truncate -s 100G /tmp/o", "/tmp/o", "longer than 1024 KB"),
        ("true", "/usr/bin/env", "does not exist"),
    ] {
        let end = run(&runner, with_take(&machine, script, path)).await;
        let message = output_failure(&end.outcome);
        assert!(message.contains(why), "{script}, {path}: {message}");
        assert!(
            message.contains("`out`") && message.contains(path),
            "{message}"
        );
    }
    let spec = with_take(
        &machine,
        "echo own > /etc/shadow; ln -s /etc/shadow /tmp/o",
        "/tmp/o",
    );
    assert_eq!(run(&runner, spec).await.parameters["out"], "own");
    let spec = with_take(&machine, "truncate -s 1048576 /tmp/o", "/tmp/o");
    assert_eq!(run(&runner, spec).await.parameters["out"].len(), 1 << 20);
}

#[tokio::test]
async fn a_file_that_grows_while_it_is_taken_is_cut_off_by_its_limit() {
    let machine = Machine::new(Isolation::Sandbox);
    let shared = machine.data_dir().join("shared");
    fs::create_dir_all(&shared).expect("it is made");
    let mut grower = std::process::Command::new("sh")
        .args(["-c", "while :; do printf '%01000d' 0; done > out"])
        .current_dir(&shared)
        .spawn()
        .expect("it starts");
    until("it grows", || {
        fs::metadata(shared.join("out")).is_ok_and(|found| found.len() > 0)
    })
    .await;
    let mut spec = with_take(
        &machine,
        "while [ $(stat -c %s /s/out) -lt 1100000 ]; do :; done",
        "/s/out",
    );
    spec.main.mounts.push(crate::machine::mount("s", "/s"));
    let source = groundplan_ports::runner::VolumeSource::Directory(shared);
    spec.volumes.insert("s".into(), source);
    let end = run(&machine.runner(), spec).await;
    grower.kill().expect("it is ours");
    grower.wait().expect("it is ours");
    assert!(output_failure(&end.outcome).contains("longer than"));
}

in_both! {
    async fn an_output_with_a_secret_is_refused_and_both_are_named(machine) {
        let runner = machine.runner();
        for script in ["echo got $TOKEN", "printf %s $TOKEN | base64"] {
            let mut spec = machine.script(script);
            spec.main.env.push(secret_env("TOKEN", "hunter2-hunter2"));
            let step = spec.step.clone();
            let end = run(&runner, spec).await;
            let message = output_failure(&end.outcome);
            assert!(message.contains("`result`") && message.contains("`TOKEN`"), "{message}");
            assert_eq!(end.result, None);
            assert_eq!(nowhere_in(machine.data_dir(), b"hunter2-hunter2"), BTreeSet::new());
            assert!(printed(&runner, &step, Stream::Stdout).await.contains("***"));
        }
        let mut spec = machine.script("echo got $TOKEN");
        spec.capture_result = CaptureResult::Sensitive;
        spec.main.env.push(secret_env("TOKEN", "hunter2-hunter2"));
        let step = spec.step.clone();
        let end = run(&runner, spec).await;
        assert_eq!((end.outcome, end.result), (StepOutcome::Exited, None));
        let observed = runner.peek(&step).await.expect("it is there");
        assert_eq!(observed.sensitive["result"].expose(), b"got hunter2-hunter2");
        assert_eq!(nowhere_in(machine.data_dir(), b"hunter2-hunter2"), BTreeSet::new());
    }

    async fn secrets_are_masked_across_writes_and_streams(machine) {
        let runner = machine.runner();
        let mut spec = machine.script(
            "printf hunter2; sleep 0.05; printf -- '-hunter2 and\\n'; echo $GIVEN >&2; \
             echo $MULTI",
        );
        spec.capture_result = CaptureResult::No;
        spec.main.env.push(secret_env("TOKEN", "hunter2-hunter2"));
        spec.main.env.push(secret_env("SHORT", "abcd"));
        spec.needles.push(("GIVEN".into(), SecretValue::new("given-value")));
        spec.main.env.push(groundplan_ports::runner::EnvValue {
            name: "GIVEN".into(),
            value: SecretValue::new("given-value"),
            secret: false,
        });
        spec.main.env.push(secret_env("MULTI", "first-line\nsecond-line"));
        let step = spec.step.clone();
        let end = run(&runner, spec).await;
        assert_eq!(end.exit_code, Some(0));
        assert_eq!(printed(&runner, &step, Stream::Stdout).await, "*** and\n*** ***\n");
        assert_eq!(printed(&runner, &step, Stream::Stderr).await, "***\n");
        let notices = printed(&runner, &step, Stream::Notice).await;
        assert!(notices.contains("`SHORT` is too short"), "{notices}");
    }

    async fn a_marker_is_in_no_process_outside_and_in_no_file(machine) {
        let runner = machine.runner();
        let marker = format!("marker-{:?}-{}", machine.isolation, std::process::id());
        let mut spec = machine.script("printf '%s\\n' \"$A\" > \"$HOME/.seen\"; rm \"$HOME/.seen\"; \
                                       echo ready; read x < \"$2/on\"; echo $A");
        spec.main.env.push(secret_env("A", &marker));
        let gate = machine.data_dir().join("gate");
        fs::create_dir_all(&gate).expect("it is made");
        let made = std::process::Command::new("mkfifo").arg(gate.join("on")).status();
        assert!(made.is_ok_and(|made| made.success()));
        let at = match machine.isolation {
            Isolation::Sandbox => "/gate".to_owned(),
            Isolation::None => gate.display().to_string(),
        };
        spec.main.mounts.push(crate::machine::mount("gate", &at));
        let source = groundplan_ports::runner::VolumeSource::Directory(gate.clone());
        spec.volumes.insert("gate".into(), source);
        spec.main.args.extend(["sh".into(), marker.clone(), at]);
        spec.needles.push(("argument".into(), SecretValue::new(marker.as_str())));
        spec.capture_result = CaptureResult::Sensitive;
        let step = spec.step.clone();
        runner.start(spec).await.expect("it is started");
        until_printed(&runner, &step, "ready").await;
        let with_it = processes_with(marker.as_bytes());
        assert!(!with_it.is_empty(), "the tool itself has it");
        let inside = inside(&machine, &step);
        let hits: Vec<i32> = with_it
            .into_iter()
            .filter(|pid| !inside.contains(pid))
            .collect();
        assert_eq!(hits, [0; 0], "inside are {inside:?}");
        assert_eq!(nowhere_in(machine.data_dir(), marker.as_bytes()), BTreeSet::new());
        fs::write(gate.join("on"), "\n").expect("it is written");
        end(&runner, &step).await;
        assert_eq!(nowhere_in(machine.data_dir(), marker.as_bytes()), BTreeSet::new());
        assert_eq!(nowhere_in(Path::new("/dev/shm"), marker.as_bytes()), BTreeSet::new());
    }

    async fn lines_of_any_length_and_bytes_of_any_kind_come_through(machine) {
        let runner = machine.runner();
        let mut spec = machine.script(
            "printf 'a\\rb\\r\\n'; printf '\\377\\376\\000\\n'; \
             head -c 3000000 /dev/zero | tr '\\0' x; printf '\\nend'",
        );
        spec.capture_result = CaptureResult::No;
        let step = spec.step.clone();
        let end = run(&runner, spec).await;
        assert_eq!(end.exit_code, Some(0));
        let bytes = raw(&*runner, &step).await;
        let mut expected = b"a\rb\r\n\xff\xfe\0\n".to_vec();
        expected.extend(vec![b'x'; 3_000_000]);
        expected.extend(b"\nend");
        assert!(bytes == expected, "{} bytes", bytes.len());
    }

    async fn a_result_is_the_end_of_what_was_printed(machine) {
        let runner = machine.runner();
        let spec = machine.script("i=0; while [ $i -lt 30000 ]; do echo 123456789; i=$((i+1)); done; echo end");
        let end = run(&runner, spec).await;
        let result = end.result.expect("it is taken");
        assert_eq!(result.len(), (256 << 10) - 1);
        assert!(result.ends_with("\nend"));
    }

    async fn a_hundred_megabytes_neither_block_nor_take_much_memory(machine) {
        let runner = machine.runner();
        let mut spec = machine.script(
            "head -c 100000000 /dev/zero | tr '\\0' y; echo; echo \"done\"; sleep 60 & wait",
        );
        spec.main.env.push(secret_env("TOKEN", "hunter2-hunter2"));
        spec.capture_result = CaptureResult::Plain;
        let step = spec.step.clone();
        runner.start(spec).await.expect("it is started");
        let supervisor = {
            let mut log = runner.log(&step).await.expect("there is a log");
            let (mut total, mut last) = (0, Vec::new());
            while !last.ends_with(b"done\n") {
                let frames = crate::machine::within(log.next()).await.expect("it reads");
                for frame in frames.expect("it goes on") {
                    total += frame.bytes.len();
                    last = frame.bytes;
                }
            }
            assert_eq!(total, 100_000_000 + 6);
            machine.supervisor(&step).expect("it lives")
        };
        let status = fs::read_to_string(format!("/proc/{supervisor}/status")).expect("it lives");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak: u64 = peak
            .and_then(|peak| peak.split_ascii_whitespace().next()?.parse().ok())
            .expect("a number of kB");
        let in_memory: u64 = memory_files(supervisor);
        assert!(peak * 1024 + in_memory < 64 << 20, "{peak} kB and {in_memory} bytes");
        runner.kill(&step).await.expect("it is killed");
        end(&runner, &step).await;
    }
}

#[tokio::test]
async fn a_proxys_password_is_masked() {
    let mut machine = Machine::new(Isolation::Sandbox);
    let proxy = "http://user:pass-1234@proxy.test:3128/";
    machine.options.env = vec![("HTTPS_PROXY".into(), proxy.into())];
    let spec = {
        let mut spec = machine.script("echo $HTTPS_PROXY");
        spec.capture_result = CaptureResult::No;
        spec
    };
    let step = spec.step.clone();
    let runner = machine.runner();
    run(&runner, spec).await;
    let text = printed(&runner, &step, Stream::Stdout).await;
    assert_eq!(text, "http://user:***@proxy.test:3128/\n");
}

#[tokio::test]
async fn a_full_disk_makes_the_tool_wait_and_loses_nothing() {
    let machine = Machine::new(Isolation::Sandbox);
    let mount = |options: &str| {
        let status = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(machine.data_dir())
            .status();
        status.is_ok_and(|status| status.success())
    };
    if !rustix::process::geteuid().is_root() || !mount("size=1m,mode=700") {
        eprintln!("not run: a full disk, since only root may mount a small one");
        return;
    }
    let runner = machine.runner();
    let mut spec = machine.script("head -c 5000000 /dev/zero | tr '\\0' z; echo; echo end");
    spec.capture_result = CaptureResult::No;
    let step = spec.step.clone();
    runner.start(spec).await.expect("it is started");
    let log = machine.step_dir(&step).join("log");
    until("the disk is full", || {
        fs::metadata(&log).is_ok_and(|log| log.len() > 400_000)
            && rustix::fs::statvfs(machine.data_dir()).is_ok_and(|disk| disk.f_bavail < 24)
    })
    .await;
    assert!(machine.supervisor(&step).is_some());
    assert!(mount("remount,size=20m,mode=700"));
    let ended = end(&runner, &step).await;
    let bytes = raw(&*runner, &step).await;
    let unmounted = std::process::Command::new("umount")
        .arg("--lazy")
        .arg(machine.data_dir())
        .status();
    assert!(unmounted.is_ok_and(|status| status.success()));
    assert_eq!(ended.exit_code, Some(0));
    assert_eq!(bytes.len(), 5_000_000 + 5);
    assert!(bytes.ends_with(b"z\nend\n"));
}

/// Bytes that a supervisor's files in memory take.
fn memory_files(pid: i32) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).expect("it lives");
    entries
        .flatten()
        .filter(|entry| {
            fs::read_link(entry.path())
                .is_ok_and(|link| link.to_string_lossy().starts_with("/memfd:"))
        })
        .map(|entry| fs::metadata(entry.path()).expect("it is open").blocks() * 512)
        .sum()
}

async fn raw(runner: &dyn Runner, step: &groundplan_engine::id::StepId) -> Vec<u8> {
    let mut log = runner.log(step).await.expect("there is a log");
    let mut bytes = Vec::new();
    while let Some(frames) = crate::machine::within(log.next()).await.expect("it reads") {
        bytes.extend(frames.into_iter().flat_map(|frame| frame.bytes));
    }
    bytes
}

/// Processes of a step: those that hold its lock, save bubblewrap's outer one, which closes it.
fn inside(machine: &Machine, step: &groundplan_engine::id::StepId) -> Vec<i32> {
    let lock = machine.step_dir(step).join("lock");
    crate::machine::processes()
        .into_iter()
        .map(|(pid, _)| pid)
        .filter(|pid| {
            let entries = fs::read_dir(format!("/proc/{pid}/fd"));
            entries
                .into_iter()
                .flatten()
                .flatten()
                .any(|entry| fs::read_link(entry.path()).is_ok_and(|link| link == lock))
        })
        .collect()
}

/// Processes with these bytes in their arguments or environment.
fn processes_with(marker: &[u8]) -> Vec<i32> {
    crate::machine::processes()
        .into_iter()
        .map(|(pid, _)| pid)
        .filter(|pid| {
            ["cmdline", "environ"].iter().any(|name| {
                fs::read(format!("/proc/{pid}/{name}")).is_ok_and(|bytes| holds(&bytes, marker))
            })
        })
        .collect()
}

fn holds(bytes: &[u8], marker: &[u8]) -> bool {
    bytes.windows(marker.len()).any(|window| window == marker)
}

/// Files below a directory that hold these bytes.
fn nowhere_in(directory: &Path, marker: &[u8]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            found.extend(nowhere_in(&entry.path(), marker));
        } else if kind.is_file() && fs::read(entry.path()).is_ok_and(|bytes| holds(&bytes, marker))
        {
            found.insert(entry.path().display().to_string());
        }
    }
    found
}
