//! A run as lines: for pipes, files and programs.

use std::collections::BTreeMap;

use groundplan_controller::{TurnView, Watcher};
use groundplan_engine::{
    id::NodeId,
    node::{NodeKind, NodePhase},
};

use super::{
    line, path_of,
    style::{Paint, Style, duration, harmless},
};

/// A line per change of a node that a person cares for.
pub(crate) struct Plain {
    paint: Paint,
    shown: Shown,
    seen: BTreeMap<NodeId, NodePhase>,
}

/// Which changes are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// All.
    All,
    /// Ends of leaves.
    Ended,
}

impl Plain {
    /// Begins with nothing seen.
    pub(crate) fn begin(paint: Paint) -> Self {
        Plain::showing(paint, Shown::All)
    }

    /// The same, with a line for each leaf that ended and nothing else.
    pub(crate) fn brief(paint: Paint) -> Self {
        Plain::showing(paint, Shown::Ended)
    }

    fn showing(paint: Paint, shown: Shown) -> Self {
        Plain {
            paint,
            shown,
            seen: BTreeMap::new(),
        }
    }
}

impl Watcher for Plain {
    fn turn(&mut self, view: &TurnView<'_>) {
        let touched: Vec<&NodeId> = view
            .events
            .iter()
            .filter_map(|event| event.node())
            .collect();
        for id in touched {
            let Some(node) = view.run.node(id) else {
                continue;
            };
            let waits_briefly = node.phase == NodePhase::Pending && node.message.is_empty();
            if self.seen.get(id) == Some(&node.phase)
                || node.kind == NodeKind::StepGroup
                || waits_briefly
            {
                continue;
            }
            self.seen.insert(id.clone(), node.phase);
            let ended = node.kind == NodeKind::Pod && node.phase.is_completed();
            if self.shown == Shown::Ended && !ended {
                continue;
            }
            let style = match node.phase {
                NodePhase::Succeeded => Style::Good,
                NodePhase::Failed | NodePhase::Error => Style::Bad,
                NodePhase::Pending
                | NodePhase::Running
                | NodePhase::Skipped
                | NodePhase::Omitted => Style::Faint,
            };
            let time = node
                .finished_at
                .filter(|_| node.phase.is_completed())
                .map(|end| format!(" in {}", duration(end.0 - node.started_at.0)));
            let message = if node.message.is_empty() {
                String::new()
            } else {
                format!(": {}", harmless(&node.message))
            };
            let phase = self
                .paint
                .with(style, format!("{:<9}", node.phase.as_str()));
            line(format!(
                "{phase} {}{}{message}",
                path_of(view.run, node),
                time.unwrap_or_default()
            ));
        }
    }
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
