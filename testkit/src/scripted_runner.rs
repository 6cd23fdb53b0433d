//! A runner that plays outcomes on the virtual clock. What it "runs" outlives the crash of a driver,
//! as real steps do, and it counts how often each execution was begun.

use std::{
    collections::{BTreeMap, VecDeque},
    path::PathBuf,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use groundplan_engine::{
    action::StopReason,
    id::{RunId, StepId},
    report::{StepEnd, StepOutcome, StepReport},
    time::Timestamp,
};
use groundplan_ports::{
    clock::Clock,
    error::PortResult,
    logs::{LogFrame, LogSource, Stream},
    runner::{Capabilities, Isolation, Observation, Runner, StepSpec},
    secrets::SecretValue,
};
use tokio::sync::Notify;

use crate::memory::{MemoryLog, locked};

/// How a scripted step goes.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Virtual milliseconds it takes.
    pub millis: i64,
    /// Its exit code.
    pub exit_code: i32,
    /// Output parameters by name.
    pub parameters: BTreeMap<String, String>,
    /// Standard output.
    pub stdout: String,
}

/// Chooses the outcome of a step from what it was given.
pub type Script = Box<dyn Fn(&StepSpec) -> Outcome + Send + Sync>;

#[derive(Debug)]
struct Played {
    started_at: Timestamp,
    ends_at: Timestamp,
    end: StepEnd,
    stdout: String,
}

/// The scripted runner.
pub struct ScriptedRunner {
    clock: Arc<dyn Clock>,
    script: Script,
    steps: Mutex<BTreeMap<StepId, Played>>,
    begun: Mutex<BTreeMap<StepId, u32>>,
    intervals: Mutex<BTreeMap<StepId, (Timestamp, Timestamp)>>,
    changed: Notify,
}

impl std::fmt::Debug for ScriptedRunner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptedRunner")
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}

impl ScriptedRunner {
    /// A runner that asks `script` how each step goes.
    pub fn new(clock: Arc<dyn Clock>, script: Script) -> Self {
        ScriptedRunner {
            clock,
            script,
            steps: Mutex::default(),
            begun: Mutex::default(),
            intervals: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// How often each execution was begun. More than once is a fault of the loop.
    pub fn begun(&self) -> BTreeMap<StepId, u32> {
        locked(&self.begun).clone()
    }

    /// When each execution began and ended.
    pub fn intervals(&self) -> BTreeMap<StepId, (Timestamp, Timestamp)> {
        locked(&self.intervals).clone()
    }

    fn report(&self, step: &StepId) -> Option<StepReport> {
        let now = self.clock.now();
        let steps = locked(&self.steps);
        let Some(played) = steps.get(step) else {
            return Some(lost(now));
        };
        Some(if played.ends_at <= now {
            StepReport::Ended(played.end.clone())
        } else {
            StepReport::Started {
                at: played.started_at,
            }
        })
    }

    fn end_now(&self, step: &StepId, exit_code: i32, after_millis: i64) {
        let now = self.clock.now();
        if let Some(played) = locked(&self.steps).get_mut(step)
            && played.ends_at > now
        {
            played.ends_at = played.ends_at.min(now.plus_millis(after_millis));
            played.end.at = played.ends_at;
            played.end.exit_code = Some(exit_code);
            played.end.asked_to_stop = true;
            locked(&self.intervals).insert(step.clone(), (played.started_at, played.ends_at));
        }
        self.changed.notify_waiters();
    }
}

fn lost(at: Timestamp) -> StepReport {
    StepReport::Ended(StepEnd {
        at,
        outcome: StepOutcome::Lost,
        asked_to_stop: false,
        exit_code: None,
        result: None,
        parameters: BTreeMap::new(),
    })
}

#[async_trait]
impl Runner for ScriptedRunner {
    async fn capabilities(&self) -> PortResult<Capabilities> {
        Ok(Capabilities {
            isolations: vec![Isolation::Sandbox, Isolation::None],
            notices: Vec::new(),
        })
    }

    async fn start(&self, spec: StepSpec) -> PortResult<()> {
        let now = self.clock.now();
        let mut steps = locked(&self.steps);
        if steps.contains_key(&spec.step) {
            return Ok(());
        }
        let outcome = (self.script)(&spec);
        let ends_at = now.plus_millis(outcome.millis);
        let end = StepEnd {
            at: ends_at,
            outcome: StepOutcome::Exited,
            asked_to_stop: false,
            exit_code: Some(outcome.exit_code),
            result: Some(outcome.stdout.clone()),
            parameters: outcome.parameters,
        };
        let played = Played {
            started_at: now,
            ends_at,
            end,
            stdout: outcome.stdout,
        };
        *locked(&self.begun).entry(spec.step.clone()).or_default() += 1;
        locked(&self.intervals).insert(spec.step.clone(), (now, ends_at));
        steps.insert(spec.step, played);
        Ok(())
    }

    async fn attach(&self, _step: &StepId, _needles: Vec<(String, SecretValue)>) -> PortResult<()> {
        Ok(())
    }

    async fn observe(&self, step: &StepId, seen: Option<&StepReport>) -> PortResult<Observation> {
        loop {
            let report = self.report(step);
            if report.as_ref() != seen {
                return Ok(Observation {
                    report,
                    sensitive: BTreeMap::new(),
                });
            }
            let ends_at = locked(&self.steps)
                .get(step)
                .map_or(self.clock.now(), |played| played.ends_at);
            tokio::select! {
                () = self.clock.sleep_until(ends_at) => {}
                () = self.changed.notified() => {}
            }
        }
    }

    async fn peek(&self, step: &StepId) -> PortResult<Observation> {
        Ok(Observation {
            report: self.report(step),
            sensitive: BTreeMap::new(),
        })
    }

    async fn stop(&self, step: &StepId, _reason: StopReason) -> PortResult<()> {
        self.end_now(step, 130, 50);
        Ok(())
    }

    async fn kill(&self, step: &StepId) -> PortResult<()> {
        self.end_now(step, 137, 0);
        Ok(())
    }

    async fn log(&self, step: &StepId) -> PortResult<Box<dyn LogSource>> {
        let frames = locked(&self.steps).get(step).map(|played| {
            let bytes = played.stdout.clone().into_bytes();
            vec![LogFrame {
                at: played.started_at,
                stream: Stream::Stdout,
                bytes,
            }]
        });
        Ok(Box::new(MemoryLog(VecDeque::from_iter(frames))))
    }

    async fn clean_up(&self, step: &StepId) -> PortResult<()> {
        locked(&self.steps).remove(step);
        Ok(())
    }

    fn claim_directory(&self, run: &RunId, claim: &str) -> PathBuf {
        PathBuf::from(format!("claims/{run}/{claim}"))
    }

    async fn delete_claims(&self, _run: &RunId) -> PortResult<()> {
        Ok(())
    }
}
