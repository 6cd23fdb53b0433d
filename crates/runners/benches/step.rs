//! What a step costs beside its tool: from asking for it to knowing its end, against starting and
//! awaiting the same program by hand.

#![expect(clippy::print_stdout, reason = "a bench reports on standard output")]

use std::{
    collections::BTreeMap,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use groundplan_engine::{
    id::{NodeId, RunId, StepId},
    report::StepReport,
};
use groundplan_ports::runner::{
    CaptureResult, ContainerSpec, Isolation, Network, Runner, StepSpec,
};
use groundplan_runners::{
    Options, ProcessRunner,
    image::{ImageMapping, Images},
};
use groundplan_sealing::Key;

/// How many steps of a kind are measured, one after the other.
const ROUNDS: u32 = 200;

fn main() {
    let folder = tempfile::tempdir().expect("a directory");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let runner = ProcessRunner::new(options(folder.path()));
    let mut execution = 0;
    let mut step = |isolation| {
        execution += 1;
        runtime.block_on(run(&runner, spec(execution, isolation)));
    };
    for (bench, baseline, over, isolation, mut command) in [
        (
            "step without sandbox",
            "spawn and wait",
            3_000_000,
            Isolation::None,
            Command::new("/bin/true"),
        ),
        (
            "step in a sandbox",
            "bare bubblewrap",
            4_000_000,
            Isolation::Sandbox,
            bare_bubblewrap(),
        ),
    ] {
        // They take turns, so that both see the same machine.
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            theirs.push(time_of(|| {
                let status = command.stdin(Stdio::null()).status();
                assert!(status.is_ok_and(|status| status.success()));
            }));
            ours.push(time_of(|| step(isolation)));
        }
        println!(
            "{{\"bench\": \"{bench}\", \"baseline\": \"{baseline}\", \"nanoseconds\": {}, \
             \"baseline_nanoseconds\": {}, \"most\": {{\"over\": {over}}}}}",
            median(ours).as_nanos(),
            median(theirs).as_nanos()
        );
    }
}

fn time_of(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// The namespaces and mounts of a step, by hand.
fn bare_bubblewrap() -> Command {
    let mut command = Command::new("bwrap");
    command
        .args([
            "--unshare-user",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
        ])
        .args([
            "--cap-drop",
            "ALL",
            "--new-session",
            "--as-pid-1",
            "--clearenv",
        ])
        .args(["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin"])
        .args([
            "--symlink",
            "usr/lib",
            "/lib",
            "--symlink",
            "usr/lib64",
            "/lib64",
        ])
        .args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"])
        .arg("/bin/true");
    command
}

fn options(data_dir: &Path) -> Options {
    let mut images = Images::default();
    images.insert("debian", ImageMapping::default());
    Options {
        data_dir: data_dir.to_owned(),
        executable: env!("CARGO_BIN_EXE_groundplan-step").into(),
        images,
        bubblewrap: "/usr/bin/bwrap".into(),
        busybox: None,
        ca_bundle: None,
        env: Vec::new(),
        path: "/usr/bin:/bin".into(),
        shown: Vec::new(),
        key: Key::from_bytes([7; 32]),
        memory_dir: "/dev/shm".into(),
    }
}

fn spec(execution: u32, isolation: Isolation) -> StepSpec {
    StepSpec {
        step: StepId {
            run: RunId("bench".into()),
            node: NodeId("node".into()),
            execution,
        },
        node_name: "bench.node".into(),
        init: Vec::new(),
        main: ContainerSpec {
            name: "main".into(),
            image: "debian".into(),
            command: vec!["/bin/true".into()],
            args: Vec::new(),
            source: None,
            working_dir: String::new(),
            env: Vec::new(),
            mounts: Vec::new(),
            memory_limit: None,
            cpu_limit_millis: None,
        },
        side: Vec::new(),
        volumes: BTreeMap::new(),
        take: Vec::new(),
        capture_result: CaptureResult::No,
        deadline: None,
        grace: None,
        needles: Vec::new(),
        network: Network::Host,
        isolation,
    }
}

async fn run(runner: &ProcessRunner, spec: StepSpec) {
    let step = spec.step.clone();
    runner.start(spec).await.expect("it is started");
    let mut seen = None;
    loop {
        let observed = runner.observe(&step, seen.as_ref()).await;
        match observed.expect("it is observed").report {
            Some(StepReport::Ended(end)) => {
                assert_eq!(end.exit_code, Some(0));
                return;
            }
            report => seen = report,
        }
    }
}
