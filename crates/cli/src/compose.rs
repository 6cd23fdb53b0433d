//! How the parts are put together: one function per subsystem.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use groundplan_controller::{Controller, Options, Ports};
use groundplan_ports::{runner::Runner, secrets::SecretValue};
use groundplan_runners::{
    ProcessRunner,
    image::{ImageMapping, Images, Shell, ToolDir},
    tools::{Tool, locate},
};
use groundplan_store::{
    BlobStore, DataDirectory, Database, FileSecrets, LogArchive, Sqlite, owner,
};

use crate::{
    clock::SystemClock,
    config::{ImageSetting, Machine, absolute},
    failure::Failure,
};

/// How long a lease lasts without being renewed.
const LEASE: Duration = Duration::from_secs(15);
/// Longest time between two looks for what other processes left.
const POLL: Duration = Duration::from_millis(500);

/// Whether a command may start steps: only then are the tools of images looked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Starts {
    /// It only looks.
    #[default]
    Nothing,
    /// It drives runs.
    Steps,
}

/// What a command may choose about the loop.
#[derive(Debug, Default)]
pub(crate) struct Choices {
    /// Whether steps may be started.
    pub(crate) starts: Starts,
    /// Steps that may run at once.
    pub(crate) slots: Option<usize>,
    /// The file of secrets.
    pub(crate) secrets_file: Option<PathBuf>,
    /// Variables handed to every step.
    pub(crate) passed_variables: BTreeMap<String, SecretValue>,
}

/// Everything that commands about runs need.
pub(crate) struct Composition {
    /// The loop.
    pub(crate) controller: Controller,
    /// The process runner, for what is beside its port.
    pub(crate) runner: Arc<ProcessRunner>,
}

/// Puts everything together over the data directory.
pub(crate) async fn compose(machine: &Machine, choices: Choices) -> Result<Composition, Failure> {
    let directory = DataDirectory::open(&machine.data_dir.value)?;
    let database = Database::open(&directory)?;
    let key =
        groundplan_store::installation_key(&directory, &database, machine.key_file.as_deref())?;
    let blobs = Arc::new(BlobStore::open(&directory)?);
    let files: Vec<PathBuf> = choices.secrets_file.into_iter().collect();
    let secrets = Arc::new(FileSecrets::read(&files, database.clone(), key.clone())?);
    let runner = Arc::new(runner(machine, &directory, key, choices.starts)?);
    let ports = Ports {
        store: Arc::new(Sqlite::new(database.clone())),
        runner: runner.clone(),
        logs: Arc::new(LogArchive::open(&directory, database)?),
        blobs,
        secrets,
        clock: Arc::new(SystemClock),
    };
    let options = Options {
        owner: owner::current()?,
        lease: LEASE,
        slots: choices.slots.unwrap_or(machine.slots.value),
        passed_variables: choices.passed_variables,
        poll: POLL,
    };
    Ok(Composition {
        controller: Controller::new(ports, options),
        runner,
    })
}

fn runner(
    machine: &Machine,
    directory: &DataDirectory,
    key: groundplan_sealing::Key,
    starts: Starts,
) -> Result<ProcessRunner, Failure> {
    let executable = std::env::current_exe()
        .map_err(|error| Failure::user("cannot find the program that runs").because(error))?;
    let options = groundplan_runners::Options {
        data_dir: directory.path().to_owned(),
        bubblewrap: bubblewrap(machine),
        busybox: machine.program("busybox"),
        images: match starts {
            Starts::Steps => images(machine, &executable),
            Starts::Nothing => Images::builtin(),
        },
        ca_bundle: machine.ca_bundle.value.clone(),
        env: machine.proxy.clone().into_iter().collect(),
        path: machine.search_path.to_string_lossy().into_owned(),
        shown: Vec::new(),
        memory_dir: PathBuf::from("/dev/shm"),
        executable,
        key,
    };
    Ok(ProcessRunner::new(options))
}

/// Where bubblewrap is. A program that is not there or does not answer makes the sandbox unusable,
/// and the runner says so: no other takes the place of the one that the configuration names.
fn bubblewrap(machine: &Machine) -> PathBuf {
    let mut search = machine.search();
    match locate(Tool::Bwrap, &search) {
        Ok(found) => found.path,
        Err(_) => (search.configured.remove(&Tool::Bwrap)).unwrap_or_else(|| "bwrap".into()),
    }
}

/// The images as a process runner takes them, tools looked up.
pub(crate) fn images(machine: &Machine, executable: &Path) -> Images {
    let mut images = Images::builtin();
    for (pattern, setting) in &machine.images {
        images.insert(pattern.clone(), image(&setting.value, machine, executable));
    }
    images
}

fn image(setting: &ImageSetting, machine: &Machine, executable: &Path) -> ImageMapping {
    let search = machine.search();
    let folder = |path: &Path| path.parent().unwrap_or(Path::new("/")).to_owned();
    let mut tools = Vec::new();
    for name in &setting.tools {
        if name == "groundplan" {
            tools.push(ToolDir {
                path: folder(executable),
                show: vec![executable.to_owned()],
            });
        } else if let Some(tool) = Tool::from_name(name) {
            // A tool that is not there makes the step that calls it fail, and says so there.
            let found = locate(tool, &search);
            if let Ok(dir) = found.and_then(|found| found.command_dir(&machine.cache)) {
                tools.push(ToolDir {
                    path: dir.path,
                    show: dir.needs,
                });
            }
        } else {
            tools.push(ToolDir {
                path: PathBuf::from(name),
                show: Vec::new(),
            });
        }
    }
    ImageMapping {
        tools,
        files: setting.files.clone(),
        env: setting.env_vars.clone(),
        user: setting.user,
        shell: if setting.busybox {
            Shell::BusyBox
        } else {
            Shell::System
        },
        working_dir: setting.working_dir.clone(),
        command: setting.command.clone(),
    }
}

/// Volumes as `--volume name=DIR` gives them; each directory must be there.
pub(crate) fn volumes(given: &[String]) -> Result<BTreeMap<String, PathBuf>, Failure> {
    let mut volumes = BTreeMap::new();
    for text in given {
        let Some((name, directory)) = text.split_once('=') else {
            return Err(
                Failure::user(format!("`--volume {text}` names no directory"))
                    .with_hint("write `--volume NAME=DIR`"),
            );
        };
        if name.is_empty() {
            return Err(Failure::user(format!("`--volume {text}` names no volume"))
                .with_hint("write `--volume NAME=DIR`"));
        }
        let directory = absolute(Path::new(directory))?;
        if directory.exists() && !directory.is_dir() {
            return Err(Failure::user(format!(
                "`{}` of volume `{name}` is no directory",
                directory.display()
            ))
            .with_hint("give a directory"));
        }
        if !directory.is_dir() {
            return Err(Failure::user(format!(
                "the directory `{}` of volume `{name}` is not there",
                directory.display()
            ))
            .with_hint(format!("make it with `mkdir -p {}`", directory.display())));
        }
        if volumes.insert(name.to_owned(), directory).is_some() {
            return Err(
                Failure::user(format!("volume `{name}` is given twice")).with_hint("give it once")
            );
        }
    }
    Ok(volumes)
}

/// The runtime that commands wait on.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::user("cannot start the runtime").because(error))
}

/// The runner's port.
impl Composition {
    /// The runner as the loop sees it.
    pub(crate) fn runner_port(&self) -> &dyn Runner {
        self.runner.as_ref()
    }
}
