//! Showing a driven run: what happens and what its steps print, in an order that a reader can trust.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use groundplan_controller::{TurnView, Watcher};
use groundplan_engine::{
    event::Event,
    id::{NodeId, StepId},
};
use groundplan_ports::{
    error::PortResult,
    logs::{LogSource, Logs},
    runner::Runner,
};
use groundplan_runners::ProcessRunner;
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinHandle,
};

use super::drive::Look;
use crate::{
    clock,
    compose::Composition,
    terminal::{
        self, JsonLines, Live, LiveHandle, Plain,
        plain::Line,
        style::{Paint, harmless},
    },
};

/// Where the output of a step is read, while it runs and afterwards.
#[derive(Clone)]
struct Outputs {
    runner: Arc<ProcessRunner>,
    logs: Arc<dyn Logs>,
}

/// Passes every turn on to what shows it, and follows the output of steps.
pub(super) struct Shown {
    look: ShownAs,
    /// Whether what steps print is shown.
    follows: bool,
    /// Whether anything of the run ever waited for a lock.
    waiting: Arc<AtomicBool>,
    /// Turns so far.
    turns: u64,
    outputs: Outputs,
    followed: BTreeSet<StepId>,
}

enum ShownAs {
    Tree {
        live: Live,
        followers: Vec<JoinHandle<()>>,
    },
    Lines {
        plain: Plain,
        told: UnboundedSender<Told>,
        teller: JoinHandle<()>,
    },
    Json(JsonLines),
}

/// Something to print, in order.
enum Told {
    /// A line.
    Line(String),
    /// The output of a step, as it comes.
    Output(StepId, String),
    /// A line that comes after all output of a step.
    After(StepId, String),
}

impl Shown {
    /// Begins to show a run in this way.
    pub(super) fn begin(composition: &Composition, look: Look) -> Self {
        let outputs = Outputs {
            runner: composition.runner.clone(),
            logs: composition.controller.ports().logs.clone(),
        };
        let follows = look != Look::Brief && look != Look::Json;
        let look = match look {
            Look::Live => ShownAs::Tree {
                live: Live::begin(clock::now),
                followers: Vec::new(),
            },
            Look::Plain | Look::Brief => {
                let paint = Paint::for_stream(&std::io::stdout());
                let (told, heard) = unbounded_channel();
                ShownAs::Lines {
                    plain: match look {
                        Look::Brief => Plain::brief(paint),
                        Look::Plain | Look::Live | Look::Json => Plain::begin(paint),
                    },
                    told,
                    teller: tokio::spawn(tell(outputs.clone(), heard)),
                }
            }
            Look::Json => ShownAs::Json(JsonLines),
        };
        Shown {
            look,
            follows,
            waiting: Arc::default(),
            turns: 0,
            outputs,
            followed: BTreeSet::new(),
        }
    }

    /// A handle for notices within the tree, where there is one.
    pub(super) fn handle(&self) -> Option<LiveHandle> {
        match &self.look {
            ShownAs::Tree { live, .. } => Some(live.handle()),
            ShownAs::Lines { .. } | ShownAs::Json(_) => None,
        }
    }

    /// Whether anything of the run ever waited for a lock.
    pub(super) fn waiting(&self) -> Arc<AtomicBool> {
        self.waiting.clone()
    }

    /// Ends showing. Of a run that goes on, output that did not come yet is left.
    pub(super) async fn end(self, finished: bool) {
        match self.look {
            ShownAs::Tree { live, followers } => {
                followers.iter().for_each(JoinHandle::abort);
                drop(live);
            }
            ShownAs::Lines { told, teller, .. } => {
                drop(told);
                if !finished {
                    teller.abort();
                }
                // It was told to end, or has nothing more to tell.
                let _ = teller.await;
            }
            ShownAs::Json(_) => {}
        }
    }
}

impl Watcher for Shown {
    fn turn(&mut self, view: &TurnView<'_>) {
        if waits_for_lock(view, self.turns == 0) {
            self.waiting.store(true, Ordering::Relaxed);
        }
        self.turns += 1;
        let begun: Vec<(StepId, String)> = steps_of(view)
            .into_iter()
            .filter(|_| self.follows)
            .filter(|(step, _)| self.followed.insert(step.clone()))
            .collect();
        match &mut self.look {
            ShownAs::Json(json) => json.turn(view),
            ShownAs::Tree { live, followers } => {
                live.turn(view);
                for (step, _) in begun {
                    let (outputs, handle) = (self.outputs.clone(), live.handle());
                    followers.push(tokio::spawn(async move {
                        let node = step.node.clone();
                        let show = |line: &str| last_line(&handle, &node, line);
                        // What cannot be read is not shown; the log says why when it is asked for.
                        let _ = outputs.follow(&step, show).await;
                    }));
                }
            }
            ShownAs::Lines { plain, told, .. } => {
                let mut begun: BTreeMap<StepId, String> = begun.into_iter().collect();
                let tell = |what| {
                    // Nobody hears it only where the teller panicked.
                    let _ = told.send(what);
                };
                for Line { text, after } in plain.lines(view) {
                    match after {
                        None => tell(Told::Line(text)),
                        Some(step) => {
                            if let Some(name) = begun.remove(&step) {
                                tell(Told::Output(step.clone(), name));
                            }
                            tell(Told::After(step, text));
                        }
                    }
                }
                for (step, name) in begun {
                    tell(Told::Output(step, name));
                }
            }
        }
    }
}

fn waits_for_lock(view: &TurnView<'_>, first: bool) -> bool {
    let is_waiting = |event: &Event| {
        matches!(
            event,
            Event::RunLocksWaiting { .. } | Event::NodeLocksWaiting { .. }
        )
    };
    let waited = || view.run.nodes().any(|node| node.locks.waiting().is_some());
    view.run.locks().waiting().is_some() || view.events.iter().any(is_waiting) || first && waited()
}

/// Every step that runs or that something happened to, with its node's name.
fn steps_of(view: &TurnView<'_>) -> BTreeMap<StepId, String> {
    let Some(created) = view.run.created() else {
        return BTreeMap::new();
    };
    let touched = view.events.iter().filter_map(|event| event.node());
    let running = view.running().map(|step| &step.node);
    touched
        .chain(running)
        .filter_map(|id| view.run.node(id))
        .filter_map(|node| {
            let execution = node.executions.last()?;
            let step = StepId {
                run: created.id.clone(),
                node: node.id.clone(),
                execution: execution.number,
            };
            let begun = execution.started_at.is_some() || execution.ended_at.is_some();
            begun.then(|| (step, node.display_name.clone()))
        })
        .collect()
}

/// Prints what it is told, in order.
async fn tell(outputs: Outputs, mut heard: UnboundedReceiver<Told>) {
    let mut following = Following::default();
    while let Some(told) = heard.recv().await {
        match told {
            Told::Line(text) => terminal::line(text),
            Told::Output(step, name) => {
                let (outputs, of) = (outputs.clone(), step.clone());
                let task = tokio::spawn(async move {
                    let name = harmless(&name);
                    let show = |line: &str| terminal::line(format!("{name} | {}", harmless(line)));
                    if let Err(error) = outputs.follow(&of, show).await {
                        terminal::note(format!(
                            "warning: the output of `{name}` cannot be shown: {error}"
                        ));
                    }
                });
                following.0.insert(step, task);
            }
            Told::After(step, text) => {
                if let Some(task) = following.0.remove(&step) {
                    // One that panicked has nothing more to show.
                    let _ = task.await;
                }
                terminal::line(text);
            }
        }
    }
}

/// Tasks that end with the one that began them.
#[derive(Default)]
struct Following(BTreeMap<StepId, JoinHandle<()>>);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.values().for_each(JoinHandle::abort);
    }
}

fn last_line(handle: &LiveHandle, node: &NodeId, line: &str) {
    let line = harmless(line);
    if !line.trim().is_empty() {
        handle.last_line(node, line);
    }
}

impl Outputs {
    /// Shows every line that a step prints, from its first byte to its last, wherever the log is by
    /// now.
    async fn follow(&self, step: &StepId, mut show: impl FnMut(&str)) -> PortResult<()> {
        let mut lines = Lines::default();
        let mut length = 0;
        let mut pour = |bytes: &[u8]| {
            length += bytes.len() as u64;
            lines.push(bytes).iter().for_each(|line| show(line));
        };
        // A step that was archived meanwhile is no longer with the runner.
        let live = self.runner.log(step).await;
        if let Ok(mut source) = live {
            pour_all(source.as_mut(), &mut pour).await?;
        }
        if let Some(record) = self.logs.record(step).await?
            && record.length > length
        {
            let mut source = self.logs.read(step, length).await?;
            let mut pour = |bytes: &[u8]| lines.push(bytes).iter().for_each(|line| show(line));
            pour_all(source.as_mut(), &mut pour).await?;
        }
        if let Some(line) = lines.rest() {
            show(&line);
        }
        Ok(())
    }
}

async fn pour_all(source: &mut dyn LogSource, pour: &mut impl FnMut(&[u8])) -> PortResult<()> {
    while let Some(frames) = source.next().await? {
        frames.iter().for_each(|frame| pour(&frame.bytes));
    }
    Ok(())
}

/// Bytes to lines, whatever their encoding and however they are cut.
#[derive(Default)]
pub(crate) struct Lines(Vec<u8>);

/// A line longer than this is shown in pieces.
const LONGEST: usize = 16 * 1024;

impl Lines {
    /// Takes bytes and answers the lines that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for byte in bytes {
            if *byte == b'\n' || self.0.len() >= LONGEST {
                lines.push(String::from_utf8_lossy(&std::mem::take(&mut self.0)).into_owned());
            }
            if *byte != b'\n' {
                self.0.push(*byte);
            }
        }
        lines
    }

    /// A last line without an end.
    pub(crate) fn rest(&mut self) -> Option<String> {
        let rest = std::mem::take(&mut self.0);
        (!rest.is_empty()).then(|| String::from_utf8_lossy(&rest).into_owned())
    }
}
