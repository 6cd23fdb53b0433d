//! A run as lines: for pipes, files and programs.

use std::collections::BTreeSet;

use groundplan_controller::{TurnView, Watcher};
use groundplan_engine::{
    event::Event,
    id::{NodeId, StepId},
    node::{Node, NodeKind, NodePhase},
    run::Run,
};

use super::{
    line,
    style::{Paint, Style, duration, first_line, harmless},
    tree::lock_text,
};

/// A line of text and what it comes after.
pub(crate) struct Line {
    /// The text.
    pub(crate) text: String,
    /// All output of this step comes before it.
    pub(crate) after: Option<StepId>,
}

/// A line per change that a person cares for: what waits and for what, what runs, what ended.
pub(crate) struct Plain {
    paint: Paint,
    said: Said,
    /// Nodes that were said to run.
    running: BTreeSet<NodeId>,
    /// Nodes that were said to wait for a slot.
    without_slot: BTreeSet<NodeId>,
}

/// Which changes are said.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    /// All that a person cares for.
    All,
    /// Ends of leaves.
    Ended,
}

impl Plain {
    /// Begins with nothing said.
    pub(crate) fn begin(paint: Paint) -> Self {
        Plain::saying(paint, Said::All)
    }

    /// The same, with a line for each leaf that ended and nothing else.
    pub(crate) fn brief(paint: Paint) -> Self {
        Plain::saying(paint, Said::Ended)
    }

    fn saying(paint: Paint, said: Said) -> Self {
        Plain {
            paint,
            said,
            running: BTreeSet::new(),
            without_slot: BTreeSet::new(),
        }
    }

    /// What is to be said of a turn.
    pub(crate) fn lines(&mut self, view: &TurnView<'_>) -> Vec<Line> {
        if self.said == Said::Ended {
            let ended = |event: &Event| matches!(event, Event::NodeFinished(_));
            let ids = view
                .events
                .iter()
                .filter(|event| ended(event))
                .filter_map(Event::node);
            let leaves = ids
                .filter_map(|id| view.run.node(id))
                .filter(|node| node.kind == NodeKind::Pod && node.phase.is_completed());
            return leaves.map(|node| self.end(view.run, node)).collect();
        }
        let mut lines = Vec::new();
        for event in view.events {
            match event {
                Event::RunLocksWaiting { waiting, .. } => {
                    let text = lock_text(waiting);
                    lines.push(self.say(Style::Warn, "Pending", view.run.name(), &text));
                }
                Event::NodeLocksWaiting { node, waiting, .. } => {
                    let name = view.run.node(node).map(|node| node.name.as_str());
                    let text = lock_text(waiting);
                    lines.push(self.say(Style::Warn, "Pending", name.unwrap_or_default(), &text));
                }
                Event::ExecutionStarted { node, .. } => {
                    lines.extend(view.run.node(node).and_then(|node| self.runs(node)));
                }
                Event::NodeFinished(_) => {
                    let node = event.node().and_then(|id| view.run.node(id));
                    lines.extend(node.into_iter().flat_map(|node| self.ended(view.run, node)));
                }
                _ => {}
            }
        }
        for step in view.running() {
            let started = view.run.node(&step.node).filter(|node| has_started(node));
            lines.extend(started.and_then(|node| self.runs(node)));
        }
        for id in view.waiting_for_slot() {
            if self.without_slot.insert(id.clone())
                && let Some(node) = view.run.node(id)
            {
                lines.push(self.say(Style::Faint, "Pending", &node.name, NO_SLOT));
            }
        }
        lines
    }

    /// That a leaf runs, once.
    fn runs(&mut self, node: &Node) -> Option<Line> {
        self.running
            .insert(node.id.clone())
            .then(|| self.say(Style::Busy, "Running", &node.name, ""))
    }

    /// That a node ended. The root's end is the run's, and said at the very end.
    fn ended(&mut self, run: &Run, node: &Node) -> Vec<Line> {
        let mut lines = Vec::new();
        // A leaf may start and end between two looks at it.
        if node.outputs.exit_code.is_some() {
            lines.extend(self.runs(node));
        }
        if node.kind == NodeKind::StepGroup || node.parent.is_none() && node.kind != NodeKind::Pod {
            return lines;
        }
        lines.push(self.end(run, node));
        lines
    }

    fn end(&self, run: &Run, node: &Node) -> Line {
        let style = match node.phase {
            NodePhase::Succeeded => Style::Good,
            NodePhase::Failed | NodePhase::Error => Style::Bad,
            NodePhase::Pending | NodePhase::Running | NodePhase::Skipped | NodePhase::Omitted => {
                Style::Faint
            }
        };
        let took = node.finished_at.filter(|_| node.phase.is_completed());
        let took = took.map(|end| format!(" in {}", duration(end.0 - node.started_at.0)));
        let name = format!("{}{}", node.name, took.unwrap_or_default());
        let mut line = self.say(style, node.phase.as_str(), &name, &node.message);
        line.after = run.created().and_then(|created| {
            Some(StepId {
                run: created.id.clone(),
                node: node.id.clone(),
                execution: node.executions.last()?.number,
            })
        });
        line
    }

    fn say(&self, style: Style, phase: &str, name: &str, message: &str) -> Line {
        let message = match first_line(message) {
            "" => String::new(),
            message => format!(": {}", harmless(message)),
        };
        let phase = self.paint.with(style, format!("{phase:<9}"));
        Line {
            text: format!("{phase} {}{message}", harmless(name)),
            after: None,
        }
    }
}

/// Why a leaf waits that is ready.
pub(super) const NO_SLOT: &str = "waits for a slot (--max-parallel)";

fn has_started(node: &Node) -> bool {
    node.live_execution()
        .is_some_and(|execution| execution.started_at.is_some())
}

/// A JSON line per event: `{"at":…,"kind":…,"event":…}`.
pub(crate) struct JsonLines;

impl Watcher for JsonLines {
    fn turn(&mut self, view: &TurnView<'_>) {
        for event in view.events {
            let value = serde_json::json!({
                "at": view.at,
                "kind": event.kind(),
                "version": event.version(),
                "event": event,
            });
            line(value.to_string());
        }
    }
}
