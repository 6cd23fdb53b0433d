//! Driving a run before a person's eyes, and obeying their signals.

use std::{collections::BTreeSet, sync::Arc};

use groundplan_controller::{Control, Ending, TurnView, Watcher};
use groundplan_engine::{
    id::{NodeId, RunId, StepId},
    node::{Node, NodeKind, RunPhase},
    run::Run,
};
use groundplan_ports::runner::Runner;
use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
    sync::mpsc::{UnboundedSender, unbounded_channel},
};

use crate::{
    clock,
    compose::Composition,
    exit::Exit,
    failure::Failure,
    terminal::{
        self, JsonLines, Live, LiveHandle, Plain,
        style::{Paint, Style, duration, harmless},
    },
};

/// How a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// A tree, repainted.
    Live,
    /// Lines.
    Plain,
    /// A line for each step that ended.
    Brief,
    /// JSON lines.
    Json,
}

/// Drives a run to its end and says how it went.
pub(crate) fn drive(
    runtime: &Runtime,
    composition: &Composition,
    run: &RunId,
    look: Look,
) -> Result<Exit, Failure> {
    let exit = watch(runtime, composition, run, look)?;
    if exit == Exit::Detached {
        terminal::note(format!("run {run} goes on without this process"));
        terminal::note(format!("go on with it: groundplan run --resume {run}"));
    } else if look != Look::Json {
        let history = runtime.block_on(composition.controller.history(&run.0))?;
        runtime.block_on(conclude(composition, run, &history.run))?;
    }
    Ok(exit)
}

/// Drives a run to its end before a person's eyes.
pub(crate) fn watch(
    runtime: &Runtime,
    composition: &Composition,
    run: &RunId,
    look: Look,
) -> Result<Exit, Failure> {
    let stopped = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let ending = runtime.block_on(async {
        let live = (look == Look::Live).then(|| Live::begin(clock::now));
        let handle = live.as_ref().map(Live::handle);
        let (controls, control) = unbounded_channel();
        let signals = tokio::spawn(obey_signals(
            controls,
            stopped.clone(),
            handle.clone(),
            run.clone(),
        ));
        let mut watcher = Watching {
            live,
            other: match look {
                Look::Live => None,
                Look::Plain => Some(Box::new(Plain::begin(
                    Paint::for_stream(&std::io::stdout()),
                ))),
                Look::Brief => Some(Box::new(Plain::brief(
                    Paint::for_stream(&std::io::stdout()),
                ))),
                Look::Json => Some(Box::new(JsonLines)),
            },
            runner: composition.runner.clone(),
            followed: BTreeSet::new(),
            handle,
            look,
        };
        let ending = composition
            .controller
            .drive(run, control, &mut watcher)
            .await;
        signals.abort();
        ending
    })?;
    if ending == Ending::Detached {
        return Ok(Exit::Detached);
    }
    let history = runtime.block_on(composition.controller.history(&run.0))?;
    Ok(
        match (
            history.run.phase(),
            stopped.load(std::sync::atomic::Ordering::Relaxed),
        ) {
            (RunPhase::Succeeded, _) => Exit::Done,
            (_, true) => Exit::Interrupted,
            (RunPhase::Pending | RunPhase::Running | RunPhase::Failed | RunPhase::Error, false) => {
                Exit::Failed
            }
        },
    )
}

/// Passes every turn on to what shows it, and follows the output of running steps.
struct Watching {
    live: Option<Live>,
    other: Option<Box<dyn Watcher>>,
    runner: Arc<groundplan_runners::ProcessRunner>,
    followed: BTreeSet<StepId>,
    handle: Option<LiveHandle>,
    look: Look,
}

impl Watcher for Watching {
    fn turn(&mut self, view: &TurnView<'_>) {
        for step in view.running() {
            let follows = matches!(self.look, Look::Live | Look::Plain);
            if follows && self.followed.insert(step.clone()) {
                let name = view
                    .run
                    .node(&step.node)
                    .map(|node| terminal::path_of(view.run, node))
                    .unwrap_or_default();
                let runner = self.runner.clone();
                tokio::spawn(follow(runner, step.clone(), name, self.handle.clone()));
            }
        }
        if let Some(live) = &mut self.live {
            live.turn(view);
        }
        if let Some(other) = &mut self.other {
            other.turn(view);
        }
    }
}

/// Shows what a step prints: the last line in the tree, or every line with the step's name.
async fn follow(
    runner: Arc<groundplan_runners::ProcessRunner>,
    step: StepId,
    name: String,
    handle: Option<LiveHandle>,
) {
    let Ok(mut log) = runner.log(&step).await else {
        return;
    };
    let mut lines = Lines::default();
    while let Ok(Some(frames)) = log.next().await {
        for line in frames
            .iter()
            .flat_map(|frame| lines.push(&frame.bytes))
            .collect::<Vec<_>>()
        {
            show(&step.node, &name, &line, handle.as_ref());
        }
    }
    if let Some(line) = lines.rest() {
        show(&step.node, &name, &line, handle.as_ref());
    }
}

fn show(node: &NodeId, name: &str, line: &str, handle: Option<&LiveHandle>) {
    let line = harmless(line);
    match handle {
        Some(_) if line.trim().is_empty() => {}
        Some(handle) => handle.last_line(node, line),
        None => terminal::line(format!("{name} | {line}")),
    }
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

async fn obey_signals(
    controls: UnboundedSender<Control>,
    stopped: Arc<std::sync::atomic::AtomicBool>,
    handle: Option<LiveHandle>,
    run: RunId,
) {
    let kinds = (
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    );
    let (Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)) =
        (signal(kinds.0), signal(kinds.1), signal(kinds.2))
    else {
        return;
    };
    let say = |text: String| match &handle {
        Some(handle) => handle.notice(text),
        None => terminal::note(text),
    };
    loop {
        let control = tokio::select! {
            _ = interrupt.recv() => {
                if stopped.swap(true, std::sync::atomic::Ordering::Relaxed) {
                    say("killed; a state lock may remain: `tofu force-unlock` shows its id, and so does the next plan".to_owned());
                    Control::Kill
                } else {
                    say(format!("stopping gracefully; Ctrl-C again kills (run {run})"));
                    Control::Stop
                }
            }
            _ = terminate.recv() => Control::Detach,
            _ = hangup.recv() => Control::Detach,
        };
        if controls.send(control).is_err() {
            return;
        }
    }
}

/// What a person reads when a run is over.
async fn conclude(composition: &Composition, id: &RunId, run: &Run) -> Result<(), Failure> {
    let paint = Paint::for_stream(&std::io::stdout());
    failures(composition, id, run, TAIL).await?;
    let style = if run.phase() == RunPhase::Succeeded {
        Style::Good
    } else {
        Style::Bad
    };
    let time = match (run.started_at(), run.finished_at()) {
        (Some(start), Some(end)) => format!(" in {}", duration(end.0 - start.0)),
        _ => String::new(),
    };
    let message = if run.message().is_empty() {
        String::new()
    } else {
        format!(": {}", harmless(run.message()))
    };
    terminal::line("");
    terminal::line(format!(
        "{} {}{time}{message}",
        paint.with(style, run.phase().as_str()),
        harmless(run.name())
    ));
    terminal::line(paint.with(
        Style::Faint,
        format!(
            "groundplan logs {0}  ·  groundplan runs show {0}",
            run.name()
        ),
    ));
    Ok(())
}

/// Shows the steps that went wrong, each with so many last lines of its log.
pub(crate) async fn failures(
    composition: &Composition,
    id: &RunId,
    run: &Run,
    lines: usize,
) -> Result<(), Failure> {
    let paint = Paint::for_stream(&std::io::stdout());
    for node in run
        .nodes()
        .filter(|node| node.kind == NodeKind::Pod && node.phase.is_failure())
    {
        terminal::line("");
        terminal::line(format!(
            "{} {}",
            paint.with(Style::Bad, "✖"),
            paint.with(Style::Strong, harmless(&node.name))
        ));
        terminal::line(format!("  {}", harmless(&node.message)));
        for line in last_lines(composition, id, node, lines).await? {
            terminal::line(paint.with(Style::Faint, format!("  │ {}", harmless(&line))));
        }
    }
    Ok(())
}

/// Lines shown of a failed step.
const TAIL: usize = 20;

/// The last lines of what a leaf printed when it was started last.
pub(crate) async fn last_lines(
    composition: &Composition,
    run: &RunId,
    node: &Node,
    most: usize,
) -> Result<Vec<String>, Failure> {
    let Some(execution) = node.executions.last() else {
        return Ok(Vec::new());
    };
    let step = StepId {
        run: run.clone(),
        node: node.id.clone(),
        execution: execution.number,
    };
    let logs = &composition.controller.ports().logs;
    if logs.record(&step).await?.is_none() {
        return Ok(Vec::new());
    }
    let mut source = logs.read(&step, 0).await?;
    let mut lines = Lines::default();
    let mut tail = std::collections::VecDeque::new();
    let mut keep = |line: String| {
        tail.push_back(line);
        if tail.len() > most {
            tail.pop_front();
        }
    };
    while let Some(frames) = source.next().await? {
        frames
            .iter()
            .flat_map(|frame| lines.push(&frame.bytes))
            .for_each(&mut keep);
    }
    lines.rest().into_iter().for_each(&mut keep);
    Ok(tail.into())
}
