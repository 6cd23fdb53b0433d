//! What starts steps.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use async_trait::async_trait;
use groundplan_engine::{
    action::StopReason,
    id::{RunId, StepId},
    report::StepReport,
    time::Timestamp,
};

use crate::{error::PortResult, logs::LogSource, secrets::SecretValue};

/// Everything needed to run one step: a group of containers that share volumes. Complete: a runner
/// asks nobody for more. Secrets are inside, so it is never written to disk as it is.
#[derive(Clone, Debug)]
pub struct StepSpec {
    /// Which execution.
    pub step: StepId,
    /// Full node name, for messages.
    pub node_name: String,
    /// Containers that run one after the other before the main one.
    pub init: Vec<ContainerSpec>,
    /// The main container.
    pub main: ContainerSpec,
    /// Containers that run beside the main one.
    pub side: Vec<ContainerSpec>,
    /// Volumes by name.
    pub volumes: BTreeMap<String, VolumeSource>,
    /// What to take when the main container ended.
    pub take: Vec<Take>,
    /// Whether standard output of the main container is wanted as the result, and how.
    pub capture_result: CaptureResult,
    /// When everything must have ended; the supervisor enforces it while nobody drives the run.
    pub deadline: Option<Timestamp>,
    /// How long a step that was asked to stop may take before it is killed; `None` means for ever.
    pub grace: Option<Duration>,
    /// Values to mask in every output, beside those in `env` and `files` marked secret: name and value.
    pub needles: Vec<(String, SecretValue)>,
    /// Whether the network may be reached.
    pub network: Network,
    /// How the step is kept apart from the machine.
    pub isolation: Isolation,
}

/// What becomes of the main container's standard output, beside the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureResult {
    /// It is only logged.
    No,
    /// It is taken as `outputs.result`.
    Plain,
    /// It is taken, may hold a secret, and is sealed.
    Sensitive,
}

/// Whether a step may reach the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// As the machine does.
    Host,
    /// Not at all.
    None,
}

/// How a step is kept apart from the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// In a sandbox.
    Sandbox,
    /// As an ordinary process of this user (`--no-sandbox`).
    None,
}

/// One container.
#[derive(Clone, Debug)]
pub struct ContainerSpec {
    /// Name; `main` for the main one.
    pub name: String,
    /// Image reference; a process runner maps it by its configuration.
    pub image: String,
    /// Program and arguments; empty means the image's own.
    pub command: Vec<String>,
    /// Arguments after `command`.
    pub args: Vec<String>,
    /// Text of a script, handed to the program as a file whose path is the last argument.
    pub source: Option<String>,
    /// Absolute directory; empty means the image's own.
    pub working_dir: String,
    /// Variables in order.
    pub env: Vec<EnvValue>,
    /// Where volumes appear.
    pub mounts: Vec<MountSpec>,
    /// Memory in bytes that may not be exceeded.
    pub memory_limit: Option<u64>,
    /// Thousandths of a processor that may not be exceeded.
    pub cpu_limit_millis: Option<u64>,
}

/// A variable with its value.
#[derive(Clone, Debug)]
pub struct EnvValue {
    /// Name.
    pub name: String,
    /// Value.
    pub value: SecretValue,
    /// Whether it came from a secret, and so is a needle of the masker.
    pub secret: bool,
}

/// Where a volume appears in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountSpec {
    /// The volume.
    pub volume: String,
    /// Absolute path.
    pub path: String,
    /// Path below the volume's root; empty means the root.
    pub sub_path: String,
    /// Whether writing is refused.
    pub read_only: bool,
}

/// What is behind a volume.
#[derive(Clone, Debug)]
pub enum VolumeSource {
    /// A directory of this machine that outlives the step.
    Directory(PathBuf),
    /// The directory that the run has for this claim (`volumeClaimTemplates`); made at first use,
    /// shared by the steps of the run.
    Claim(String),
    /// A fresh directory that is gone after the step.
    Empty,
    /// Files by relative path.
    Files(Vec<FileSpec>),
}

/// A file to place.
#[derive(Clone, Debug)]
pub struct FileSpec {
    /// Path below the volume's root.
    pub path: String,
    /// Content.
    pub content: SecretValue,
    /// Whether it came from a secret, and so is a needle of the masker.
    pub secret: bool,
    /// Permission bits.
    pub mode: u32,
}

/// A file to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Take {
    /// Output parameter's name.
    pub name: String,
    /// Absolute path in the main container.
    pub path: String,
    /// Whether a missing file is no fault (a default exists).
    pub optional: bool,
    /// Whether the value may hold a secret and is sealed.
    pub sensitive: bool,
}

/// What a step has to say since a cursor.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The newest report. `None`: started but nothing is known yet.
    pub report: Option<StepReport>,
    /// Values of sensitive outputs by name (`result` for standard output), beside the report.
    pub sensitive: BTreeMap<String, SecretValue>,
}

/// What a runner can do on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Isolations that work, best first.
    pub isolations: Vec<Isolation>,
    /// What does not work here, each with the way out; shown once per run.
    pub notices: Vec<String>,
}

/// Starts steps, finds them again, stops them.
#[async_trait]
pub trait Runner: Send + Sync {
    /// What works on this machine.
    async fn capabilities(&self) -> PortResult<Capabilities>;

    /// Starts a step. Starting the same id again attaches to what is there, whether it runs or has
    /// ended; cancelled, the step may or may not have been started. Failures to start are reports,
    /// not errors.
    async fn start(&self, spec: StepSpec) -> PortResult<()>;

    /// Takes up a step that an earlier process started; `needles` are the secrets that its output
    /// must be masked with. A step of which nothing is left ends with the outcome *lost*: a report,
    /// not an error.
    async fn attach(&self, step: &StepId, needles: Vec<(String, SecretValue)>) -> PortResult<()>;

    /// Waits for the next report after `seen` (`None`: anything). Repeating it answers the same.
    async fn observe(&self, step: &StepId, seen: Option<&StepReport>) -> PortResult<Observation>;

    /// The newest report of a step without taking it up: for commands that only record what ended.
    async fn peek(&self, step: &StepId) -> PortResult<Observation>;

    /// Asks a step to stop: SIGINT to the tool, never to a shell that would go on to its next line;
    /// after the grace the whole tree is killed. Repeating it changes nothing.
    async fn stop(&self, step: &StepId, reason: StopReason) -> PortResult<()>;

    /// Kills the whole tree of a step now. Repeating it changes nothing.
    async fn kill(&self, step: &StepId) -> PortResult<()>;

    /// The masked log so far, from its first byte; follows a running step until it has ended.
    async fn log(&self, step: &StepId) -> PortResult<Box<dyn LogSource>>;

    /// Forgets an ended step: its directory and root are deleted. Repeating it changes nothing.
    async fn clean_up(&self, step: &StepId) -> PortResult<()>;

    /// The directory that a run has for a claim, whether or not it exists yet.
    fn claim_directory(&self, run: &RunId, claim: &str) -> PathBuf;

    /// Deletes the directories that a run has for its claims. Repeating it changes nothing.
    async fn delete_claims(&self, run: &RunId) -> PortResult<()>;
}
