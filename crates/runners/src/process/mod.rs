//! The runner of process steps, as whoever drives a run sees it.

mod follow;
mod known;
mod options;
mod probe;

use std::{
    collections::BTreeMap,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use base64::{Engine, engine::general_purpose::STANDARD};
use groundplan_engine::{
    action::StopReason,
    id::{RunId, StepId},
    report::{StepEnd, StepOutcome, StepReport},
};
use groundplan_ports::{
    error::{ErrorKind, PortError, PortResult},
    logs::LogSource,
    runner::{Capabilities, Observation, Runner, StepSpec},
    secrets::SecretValue,
};

pub use self::options::Options;
use self::{follow::FollowedLog, known::Known};
use crate::{
    processes, remove,
    step_dir::{FORMAT, Report, StepDir, StopRequest, name},
    supervisor::sealing_context,
    watch::Watcher,
};

/// Starts steps as processes of this machine, each under a supervisor that outlives us.
#[derive(Debug)]
pub struct ProcessRunner {
    options: Arc<Options>,
    known: Mutex<BTreeMap<StepId, Arc<Mutex<Known>>>>,
    watcher: Watcher,
}

impl ProcessRunner {
    /// A runner; nothing is started or checked yet.
    pub fn new(options: Options) -> Self {
        ProcessRunner {
            options: Arc::new(options),
            known: Mutex::default(),
            watcher: Watcher::default(),
        }
    }

    fn dir(&self, step: &StepId) -> PortResult<StepDir> {
        StepDir::of(&self.options.data_dir, step).ok_or_else(|| {
            let message = format!("`{step}` cannot be the name of a directory");
            PortError::new(ErrorKind::Invalid, message)
        })
    }

    fn known(&self, step: &StepId) -> Option<Arc<Mutex<Known>>> {
        lock(&self.known).get(step).cloned()
    }

    /// Remembers how a step is supervised, unless we know already, and sees to it that it is.
    async fn take_up(&self, step: &StepId, known: Known) -> PortResult<()> {
        let known = lock(&self.known)
            .entry(step.clone())
            .or_insert_with(|| Arc::new(Mutex::new(known)))
            .clone();
        let (dir, options) = (self.dir(step)?, self.options.clone());
        blocking(step, move || {
            lock(&known).supervise(&dir, &options).map(drop)
        })
        .await
    }

    fn newest(&self, step: &StepId, dir: &StepDir) -> PortResult<Observation> {
        let failed = |error| broken(step, error);
        if let Some(report) = dir.report().map_err(failed)? {
            return self.opened(step, dir, report);
        }
        let status = dir.status().map_err(failed)?;
        Ok(Observation {
            report: status.begun.map(|at| StepReport::Started { at }),
            sensitive: BTreeMap::new(),
        })
    }

    fn opened(&self, step: &StepId, dir: &StepDir, report: Report) -> PortResult<Observation> {
        let mut sensitive = BTreeMap::new();
        if !report.sealed.is_empty() {
            let facts = dir.facts().map_err(|error| broken(step, error))?;
            let facts = facts.ok_or_else(|| broken(step, io::ErrorKind::NotFound.into()))?;
            for (output, sealed) in report.sealed {
                let context = sealing_context(&facts, &output);
                let value = STANDARD
                    .decode(sealed)
                    .map_err(|error| broken(step, io::Error::other(error)))
                    .and_then(|sealed| {
                        groundplan_sealing::open(&self.options.key, &context, &sealed).map_err(
                            |error| {
                                let message = format!("output `{output}` of step `{step}` is lost");
                                PortError::new(ErrorKind::Broken, message).caused_by(error)
                            },
                        )
                    })?;
                sensitive.insert(output, SecretValue::new(value));
            }
        }
        Ok(Observation {
            report: Some(report.report),
            sensitive,
        })
    }

    async fn request_stop(&self, step: &StepId, request: StopRequest) -> PortResult<()> {
        let dir = self.dir(step)?;
        let failed = |error| broken(step, error);
        if !dir.path().is_dir() {
            return Err(not_found(step));
        }
        if dir.report().map_err(failed)?.is_some() {
            return Ok(());
        }
        let earlier = dir.stop().map_err(failed)?;
        if earlier.is_none_or(|earlier| request.kill && !earlier.kill) {
            let request = StopRequest {
                reason: earlier.map_or(request.reason, |earlier| earlier.reason),
                ..request
            };
            dir.write_json("stop", &request).map_err(failed)?;
        }
        if let Some(known) = self.known(step) {
            let (dir, options) = (dir.clone(), self.options.clone());
            blocking(step, move || {
                lock(&known).supervise(&dir, &options).map(drop)
            })
            .await?;
        }
        known::wake_supervisor(&dir);
        Ok(())
    }
}

#[async_trait]
impl Runner for ProcessRunner {
    async fn capabilities(&self) -> PortResult<Capabilities> {
        let options = self.options.clone();
        tokio::task::spawn_blocking(move || probe::capabilities(&options))
            .await
            .map_err(|error| {
                PortError::new(ErrorKind::Broken, "the sandbox cannot be probed").caused_by(error)
            })
    }

    async fn start(&self, spec: StepSpec) -> PortResult<()> {
        let step = spec.step.clone();
        is_known_format(&step, &self.dir(&step)?)?;
        self.take_up(&step, Known::started(spec)).await
    }

    async fn attach(&self, step: &StepId, needles: Vec<(String, SecretValue)>) -> PortResult<()> {
        let dir = self.dir(step)?;
        let failed = |error| broken(step, error);
        if !dir.path().is_dir() {
            return Ok(());
        }
        is_known_format(step, &dir)?;
        if dir.report().map_err(failed)?.is_some() {
            return Ok(());
        }
        if let Some(facts) = dir.facts().map_err(failed)? {
            let given = |name: &String| needles.iter().any(|(given, _)| given == name);
            if let Some(missing) = facts.needles.iter().find(|name| !given(name)) {
                let message = format!(
                    "secret `{missing}` is missing, and the output of step `{}` must be masked \
                     with it",
                    facts.node_name
                );
                return Err(PortError::new(ErrorKind::Invalid, message)
                    .with_hint("give the same secrets as when the run was started"));
            }
        }
        self.take_up(step, Known::attached(needles)).await
    }

    async fn observe(&self, step: &StepId, seen: Option<&StepReport>) -> PortResult<Observation> {
        let dir = self.dir(step)?;
        let failed = |error| broken(step, error);
        if !dir.path().is_dir() {
            return Ok(lost());
        }
        let watch = self.watcher.watch(dir.path()).map_err(failed)?;
        loop {
            let newest = self.newest(step, &dir)?;
            let over = matches!(seen, Some(StepReport::Ended(_)));
            if over || newest.report.is_some() && newest.report.as_ref() != seen {
                return Ok(newest);
            }
            let Some(known) = self.known(step) else {
                let message = format!("nobody here attends to step `{step}`");
                return Err(PortError::new(ErrorKind::NotFound, message)
                    .with_hint("start it or attach to it first"));
            };
            let (at, options) = (dir.clone(), self.options.clone());
            let end = blocking(step, move || lock(&known).supervise(&at, &options)).await?;
            let Some(end) = end else {
                // It ended since we looked, or there never was anything to attach to.
                let newest = self.newest(step, &dir)?;
                return Ok(match newest.report {
                    Some(_) => newest,
                    None => lost(),
                });
            };
            tokio::select! {
                () = watch.changed() => {}
                ended = end.ended() => ended.map_err(failed)?,
            }
        }
    }

    async fn peek(&self, step: &StepId) -> PortResult<Observation> {
        let dir = self.dir(step)?;
        self.newest(step, &dir)
    }

    async fn stop(&self, step: &StepId, reason: StopReason) -> PortResult<()> {
        let request = StopRequest {
            reason,
            at: processes::now(),
            kill: false,
        };
        self.request_stop(step, request).await
    }

    async fn kill(&self, step: &StepId) -> PortResult<()> {
        let request = StopRequest {
            reason: StopReason::Requested,
            at: processes::now(),
            kill: true,
        };
        self.request_stop(step, request).await
    }

    async fn log(&self, step: &StepId) -> PortResult<Box<dyn LogSource>> {
        let dir = self.dir(step)?;
        if !dir.path().is_dir() {
            return Err(not_found(step));
        }
        let watch = self.watcher.watch(dir.path());
        let watch = watch.map_err(|error| broken(step, error))?;
        Ok(Box::new(FollowedLog::new(step.clone(), dir, watch)))
    }

    async fn clean_up(&self, step: &StepId) -> PortResult<()> {
        let dir = self.dir(step)?;
        lock(&self.known).remove(step);
        blocking(step, move || {
            if !dir.path().exists() {
                return Ok(());
            }
            if dir.report()?.is_none() && dir.status()?.begun.is_some() {
                return Err(io::Error::other("it has not ended"));
            }
            if let Some(facts) = dir.facts()? {
                for scratch in &facts.scratch {
                    remove::remove_tree(scratch)?;
                }
            }
            let gone = dir.path().with_extension("gone");
            std::fs::rename(dir.path(), &gone)?;
            remove::remove_tree(&gone)?;
            if let Some(run) = dir.path().parent() {
                // It is left where other steps of the run are there.
                let _ = std::fs::remove_dir(run);
            }
            Ok(())
        })
        .await
    }

    fn claim_directory(&self, run: &RunId, claim: &str) -> PathBuf {
        self.options.claim_directory(run, claim)
    }

    async fn delete_claims(&self, run: &RunId) -> PortResult<()> {
        let Some(run) = name(&run.0) else {
            return Ok(());
        };
        let path = self.options.data_dir.join("claims").join(run);
        let said = run.to_owned();
        tokio::task::spawn_blocking(move || remove::remove_tree(&path))
            .await
            .map_err(io::Error::other)
            .flatten()
            .map_err(|error| {
                let message = format!("the claims of run `{said}` cannot be deleted");
                PortError::new(ErrorKind::Broken, message).caused_by(error)
            })
    }
}

/// Refuses what a later version wrote.
fn is_known_format(step: &StepId, dir: &StepDir) -> PortResult<()> {
    match dir.format().map_err(|error| broken(step, error))? {
        Some(format) if format > FORMAT => {
            let message = format!("step `{step}` was started by a later version: format {format}");
            Err(
                PortError::new(ErrorKind::Invalid, message).with_hint(format!(
                    "this version knows formats up to {FORMAT}; use the later one"
                )),
            )
        }
        _ => Ok(()),
    }
}

/// The step of which nothing is left.
fn lost() -> Observation {
    Observation {
        report: Some(StepReport::Ended(StepEnd {
            at: processes::now(),
            outcome: StepOutcome::Lost,
            asked_to_stop: false,
            exit_code: None,
            result: None,
            parameters: BTreeMap::new(),
        })),
        sensitive: BTreeMap::new(),
    }
}

fn not_found(step: &StepId) -> PortError {
    PortError::new(
        ErrorKind::NotFound,
        format!("step `{step}` was not started here"),
    )
}

fn broken(step: &StepId, error: io::Error) -> PortError {
    let message = format!("step `{step}` cannot be attended to");
    let kind = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::Denied,
        io::ErrorKind::StorageFull | io::ErrorKind::WouldBlock => {
            ErrorKind::Transient { retry_after: None }
        }
        _ => ErrorKind::Broken,
    };
    PortError::new(kind, message).caused_by(error)
}

/// Runs what waits for the disk or for a new process.
async fn blocking<T: Send + 'static>(
    step: &StepId,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> PortResult<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(io::Error::other)
        .flatten()
        .map_err(|error| broken(step, error))
}

/// Locks; what a panicking holder left is whole, since every change of it is one assignment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
