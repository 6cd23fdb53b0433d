//! A data directory, a runner on it, and steps to give it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use groundplan_engine::{
    id::{NodeId, RunId, StepId},
    report::{StepEnd, StepReport},
};
use groundplan_ports::{
    logs::Stream,
    runner::{
        CaptureResult, ContainerSpec, EnvValue, Isolation, MountSpec, Network, Runner, StepSpec,
    },
    secrets::SecretValue,
};
use groundplan_runners::{
    Options, ProcessRunner,
    image::{ImageMapping, Images},
};
use groundplan_sealing::Key;
use tempfile::TempDir;

/// A machine with nothing on it but a data directory.
pub(crate) struct Machine {
    pub(crate) isolation: Isolation,
    pub(crate) options: Options,
    data_dir: TempDir,
    steps: AtomicU32,
}

impl Machine {
    pub(crate) fn new(isolation: Isolation) -> Self {
        let data_dir = tempfile::tempdir().expect("a directory");
        let mut images = Images::builtin();
        images.insert("debian", ImageMapping::default());
        let options = Options {
            data_dir: data_dir.path().to_owned(),
            executable: std::env::var_os(crate::unprivileged::STEP_PROGRAM).map_or_else(
                || env!("CARGO_BIN_EXE_groundplan-step").into(),
                PathBuf::from,
            ),
            images,
            bubblewrap: "/usr/bin/bwrap".into(),
            busybox: Some("/usr/bin/busybox".into()),
            ca_bundle: None,
            env: Vec::new(),
            path: "/usr/local/bin:/usr/bin:/bin".into(),
            shown: Vec::new(),
            key: Key::from_bytes([7; 32]),
            memory_dir: "/dev/shm".into(),
        };
        Machine {
            isolation,
            options,
            data_dir,
            steps: AtomicU32::new(0),
        }
    }

    /// Another process' view of the machine.
    pub(crate) fn runner(&self) -> Arc<ProcessRunner> {
        Arc::new(ProcessRunner::new(self.options.clone()))
    }

    pub(crate) fn data_dir(&self) -> &Path {
        self.data_dir.path()
    }

    /// Where a step's files are.
    pub(crate) fn step_dir(&self, step: &StepId) -> PathBuf {
        let leaf = format!("{}-{}", step.node, step.execution);
        self.data_dir().join("steps").join(&step.run.0).join(leaf)
    }

    /// A step of its own that runs a shell script.
    pub(crate) fn script(&self, script: &str) -> StepSpec {
        let execution = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
        StepSpec {
            step: StepId {
                run: RunId("run".into()),
                node: NodeId("node".into()),
                execution,
            },
            node_name: "story.node".into(),
            init: Vec::new(),
            main: ContainerSpec {
                name: "main".into(),
                image: "debian:12".into(),
                command: vec!["sh".into(), "-c".into(), script.into()],
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
            capture_result: CaptureResult::Plain,
            deadline: None,
            grace: Some(Duration::from_secs(300)),
            needles: Vec::new(),
            network: Network::Host,
            isolation: self.isolation,
        }
    }
}

/// Waits for the end of a step.
pub(crate) async fn end(runner: &ProcessRunner, step: &StepId) -> StepEnd {
    let mut seen = None;
    loop {
        let observed = within(runner.observe(step, seen.as_ref()))
            .await
            .expect("it can be observed");
        match observed.report {
            Some(StepReport::Ended(end)) => return end,
            report => seen = report,
        }
    }
}

/// Starts a step and waits for its end.
pub(crate) async fn run(runner: &ProcessRunner, spec: StepSpec) -> StepEnd {
    let step = spec.step.clone();
    runner.start(spec).await.expect("it is started");
    end(runner, &step).await
}

/// What a step printed to a stream.
pub(crate) async fn printed(runner: &ProcessRunner, step: &StepId, stream: Stream) -> String {
    let mut log = runner.log(step).await.expect("there is a log");
    let mut bytes = Vec::new();
    while let Some(frames) = within(log.next()).await.expect("it can be read") {
        for frame in frames.into_iter().filter(|frame| frame.stream == stream) {
            bytes.extend(frame.bytes);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Fails a test that waits for what never comes.
pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), work)
        .await
        .expect("it takes less than a minute")
}

pub(crate) fn secret_env(name: &str, value: &str) -> EnvValue {
    EnvValue {
        name: name.into(),
        value: SecretValue::new(value),
        secret: true,
    }
}

pub(crate) fn mount(volume: &str, path: &str) -> MountSpec {
    MountSpec {
        volume: volume.into(),
        path: path.into(),
        sub_path: String::new(),
        read_only: false,
    }
}

/// Makes a test of every case, with a sandbox and without.
macro_rules! in_both {
    ($($(#[doc = $doc:literal])* async fn $name:ident($machine:ident) $body:block)+) => {
        mod plain {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::machine::Machine::new(
                    groundplan_ports::runner::Isolation::None,
                ))
                .await;
            })+
        }
        mod sandboxed {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::machine::Machine::new(
                    groundplan_ports::runner::Isolation::Sandbox,
                ))
                .await;
            })+
        }
        $($(#[doc = $doc])* async fn $name($machine: $crate::machine::Machine) $body)+
    };
}
pub(crate) use in_both;

/// Waits until a condition holds.
pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let waited = async {
        while !condition() {
            // sleep: between two looks, and bounded
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waited)
        .await
        .unwrap_or_else(|_| panic!("within a minute: {what}"));
}

/// Waits until a step has printed a text to standard output.
pub(crate) async fn until_printed(runner: &ProcessRunner, step: &StepId, text: &str) {
    let mut log = runner.log(step).await.expect("there is a log");
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains(text) {
        let frames = within(log.next()).await.expect("it can be read");
        for frame in frames.expect("it prints it before it ends") {
            seen.extend(frame.bytes);
        }
    }
}

/// A process by its number, killed without warning.
pub(crate) fn kill_9(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).expect("a process has a positive number");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it lives");
}

impl Machine {
    /// The number of a step's living supervisor.
    pub(crate) fn supervisor(&self, step: &StepId) -> Option<i32> {
        let text = std::fs::read_to_string(self.step_dir(step).join("supervisor")).ok()?;
        let pid: i32 = text.split(' ').next()?.parse().ok()?;
        is_alive(pid).then_some(pid)
    }

    /// What process 1 of a step wrote.
    pub(crate) fn status(&self, step: &StepId) -> String {
        std::fs::read_to_string(self.step_dir(step).join("status")).unwrap_or_default()
    }
}

/// Whether a process lives and is no zombie.
pub(crate) fn is_alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
}

/// Numbers and command lines of living processes, arguments separated by blanks.
pub(crate) fn processes() -> Vec<(i32, String)> {
    let entries = std::fs::read_dir("/proc").expect("there is /proc");
    entries
        .flatten()
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let line = std::fs::read(entry.path().join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            (is_alive(pid) && !line.is_empty()).then_some((pid, line))
        })
        .collect()
}

/// Processes below another one.
pub(crate) fn children(parent: i32) -> Vec<i32> {
    processes()
        .into_iter()
        .map(|(pid, _)| pid)
        .filter(|pid| {
            std::fs::read_to_string(format!("/proc/{pid}/stat"))
                .ok()
                .and_then(|stat| {
                    let (_, rest) = stat.rsplit_once(')')?;
                    rest.split_ascii_whitespace().nth(1)?.parse().ok()
                })
                .is_some_and(|found: i32| found == parent)
        })
        .collect()
}

/// The clock of this machine.
pub(crate) fn now() -> groundplan_engine::time::Timestamp {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("it is after 1970");
    groundplan_engine::time::Timestamp(i64::try_from(since.as_millis()).expect("not for long"))
}
