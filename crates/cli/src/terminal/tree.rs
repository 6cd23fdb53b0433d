//! A run as a tree of lines: what a person sees while it runs and afterwards.

use std::collections::{BTreeMap, BTreeSet};

use groundplan_engine::{
    explain::{self, Obstacle},
    id::NodeId,
    node::{Node, NodeKind, NodePhase, WaitingForLock},
    run::Run,
    sync::LockKey,
    time::Timestamp,
};

use super::{
    plain::NO_SLOT,
    style::{Paint, Style, cut, duration, first_line, harmless, width},
};

/// What the tree is drawn from beside the run.
#[derive(Debug, Default)]
pub(crate) struct Around {
    /// Now.
    pub now: Timestamp,
    /// Leaves that are ready and have no slot.
    pub waiting_for_slot: BTreeSet<NodeId>,
    /// The last line that each running leaf printed.
    pub last_lines: BTreeMap<NodeId, String>,
    /// Whether messages are shown in full.
    pub details: bool,
}

/// Draws the tree, a line per node, groups of one folded away.
pub(crate) fn draw(run: &Run, around: &Around, paint: Paint, columns: usize) -> Vec<String> {
    let mut below: BTreeMap<Option<&NodeId>, Vec<&Node>> = BTreeMap::new();
    for node in run.nodes() {
        below.entry(node.parent.as_ref()).or_default().push(node);
    }
    let mut lines = Vec::new();
    if run.root().is_none() && run.is_created() {
        let waits = explain::run(run)
            .map(|obstacle| obstacle_text(&obstacle))
            .unwrap_or_default();
        lines.push(format!(
            "{} {}  {}",
            paint.with(Style::Faint, "○"),
            harmless(run.name()),
            paint.with(Style::Warn, waits)
        ));
    }
    for root in below.get(&None).into_iter().flatten() {
        let drawing = Drawing {
            run,
            around,
            paint,
            columns,
            below: &below,
        };
        drawing.node(root, "", "", &mut lines);
    }
    lines
}

/// Which lock stands in the way, who holds it, and how many go first.
pub(super) fn lock_text(waiting: &WaitingForLock) -> String {
    lock_text_of(&waiting.blocked_by, &waiting.holder, waiting.place)
}

fn lock_text_of(key: &LockKey, holder: &str, place: u32) -> String {
    let key = key.0.rsplit('/').next().unwrap_or(&key.0);
    let holder = holder_text(holder);
    format!("waits for mutex {key}, place {place}, held by {holder}")
}

/// The run that holds a lock, and its node where that is another; a name such as
/// `namespace/run/node`.
fn holder_text(name: &str) -> String {
    let parts: Vec<&str> = name.split('/').collect();
    match parts[..] {
        [_, run] => run.to_owned(),
        [_, run, node] if run == node => run.to_owned(),
        [_, run, ref node @ ..] => format!("{run}, node {}", node.join("/")),
        _ => name.to_owned(),
    }
}

/// What stands in the way, as a person reads it.
fn obstacle_text(obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::LockSpace { .. } => "asks for its locks".to_owned(),
        Obstacle::Lock { key, holder, place } => lock_text_of(key, holder, *place),
        Obstacle::Runner { .. } => "is being started".to_owned(),
        Obstacle::Tool { .. } | Obstacle::Nodes { .. } => String::new(),
        Obstacle::Stopping { .. } => "was asked to stop".to_owned(),
        Obstacle::Tasks { names } => match names.as_slice() {
            [first, second, third, _, ..] => {
                format!(
                    "waits for {first}, {second}, {third} and {} more",
                    names.len() - 3
                )
            }
            few => format!("waits for {}", few.join(", ")),
        },
    }
}

struct Drawing<'a> {
    run: &'a Run,
    around: &'a Around,
    paint: Paint,
    columns: usize,
    below: &'a BTreeMap<Option<&'a NodeId>, Vec<&'a Node>>,
}

impl<'a> Drawing<'a> {
    fn node(&self, node: &Node, head: &str, tail: &str, lines: &mut Vec<String>) {
        lines.push(self.line(node, head));
        if self.around.details && node.phase.is_failure() && !node.message.is_empty() {
            let mut text = node.message.lines().map(harmless).peekable();
            if let Some(first) = text.peek()
                && !self.message_is_cut(node, head, first)
            {
                text.next();
            }
            lines.extend(text.map(|text| {
                format!(
                    "{}    {}",
                    self.paint.with(Style::Faint, tail),
                    self.paint.with(Style::Bad, text)
                )
            }));
        }
        let children = self.children(node);
        let to_come = self.to_come(node);
        let last = (children.len() + to_come.len()).saturating_sub(1);
        let branches = |place: usize| {
            if place == last {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            }
        };
        let many = children.len();
        for (place, child) in children.into_iter().enumerate() {
            let (branch, trunk) = branches(place);
            self.node(
                child,
                &format!("{tail}{branch}"),
                &format!("{tail}{trunk}"),
                lines,
            );
        }
        for (place, (task, obstacle)) in to_come.iter().enumerate() {
            let head = format!("{tail}{}", branches(many + place).0);
            lines.push(self.task_to_come(&head, task, obstacle));
        }
    }

    /// Tasks without a node yet, in the order of the document.
    fn to_come(&self, node: &Node) -> Vec<(String, Obstacle)> {
        let mut tasks = explain::tasks_to_come(self.run, &node.id);
        let workflow = self.run.created().map(|new| &new.workflow);
        let template = workflow.and_then(|workflow| workflow.templates.get(&node.template_name));
        if let Some(dag) = template.and_then(|template| template.dag.as_ref()) {
            tasks.sort_by_key(|(name, _)| dag.tasks.iter().position(|task| task.name == *name));
        }
        tasks
    }

    fn task_to_come(&self, head: &str, task: &str, obstacle: &Obstacle) -> String {
        let name = harmless(task);
        let used = head.chars().count() + 2 + width(&name);
        let gap = " ".repeat(NAME_COLUMNS.saturating_sub(used).max(1) + 7);
        let room = self.columns.saturating_sub(used + gap.len());
        let text = cut(&harmless(&obstacle_text(obstacle)), room.max(8));
        self.paint
            .with(Style::Faint, format!("{head}○ {name}{gap}{text}"))
    }

    /// Children in order of creation; a group of steps is replaced by its steps.
    fn children(&self, node: &Node) -> Vec<&'a Node> {
        let direct = self.below.get(&Some(&node.id)).into_iter().flatten();
        direct
            .flat_map(|child| {
                if child.kind == NodeKind::StepGroup {
                    self.children(child)
                } else {
                    vec![*child]
                }
            })
            .collect()
    }

    fn line(&self, node: &Node, head: &str) -> String {
        let (glyph, style) = self.glyph(node);
        let name = harmless(&node.display_name);
        let time = self.time(node);
        let left = format!(
            "{}{} {}",
            self.paint.with(Style::Faint, head),
            self.paint.with(style, glyph),
            name
        );
        let used = head.chars().count() + 2 + width(&name);
        let gap = " ".repeat(NAME_COLUMNS.saturating_sub(used).max(1));
        let room = self.columns.saturating_sub(used + gap.len() + 8);
        let (text, text_style) = self.text(node);
        let text = if room < 8 {
            String::new()
        } else {
            self.paint.with(text_style, cut(&text, room))
        };
        format!(
            "{left}{gap}{} {text}",
            self.paint.with(Style::Faint, format!("{time:>6}"))
        )
        .trim_end()
        .to_owned()
    }

    fn message_is_cut(&self, node: &Node, head: &str, text: &str) -> bool {
        let used = head.chars().count() + 2 + width(&node.display_name);
        width(text) + used.max(NAME_COLUMNS) + 9 > self.columns
    }

    fn glyph(&self, node: &Node) -> (&'static str, Style) {
        match node.phase {
            NodePhase::Pending => ("○", Style::Faint),
            NodePhase::Running => ("●", Style::Busy),
            NodePhase::Succeeded => ("✔", Style::Good),
            NodePhase::Failed | NodePhase::Error => ("✖", Style::Bad),
            NodePhase::Skipped | NodePhase::Omitted => ("·", Style::Faint),
        }
    }

    fn time(&self, node: &Node) -> String {
        match node.phase {
            NodePhase::Pending | NodePhase::Skipped | NodePhase::Omitted => String::new(),
            NodePhase::Running | NodePhase::Succeeded | NodePhase::Failed | NodePhase::Error => {
                let end = node.finished_at.unwrap_or(self.around.now);
                duration(end.0 - node.started_at.0)
            }
        }
    }

    /// What stands beside a node: why it waits, what it prints, why it failed.
    fn text(&self, node: &Node) -> (String, Style) {
        if self.around.waiting_for_slot.contains(&node.id) {
            return (NO_SLOT.to_owned(), Style::Faint);
        }
        if let Some(obstacle @ (Obstacle::Lock { .. } | Obstacle::Stopping { .. })) =
            explain::node(self.run, &node.id)
        {
            return (harmless(&obstacle_text(&obstacle)), Style::Warn);
        }
        match node.phase {
            NodePhase::Failed | NodePhase::Error => {
                (harmless(first_line(&node.message)), Style::Bad)
            }
            NodePhase::Running if node.kind == NodeKind::Pod => {
                let line = self
                    .around
                    .last_lines
                    .get(&node.id)
                    .map(|line| harmless(line))
                    .unwrap_or_default();
                (line, Style::Faint)
            }
            NodePhase::Running => (self.progress(node), Style::Faint),
            NodePhase::Pending | NodePhase::Succeeded | NodePhase::Skipped | NodePhase::Omitted => {
                (harmless(first_line(&node.message)), Style::Faint)
            }
        }
    }

    fn progress(&self, node: &Node) -> String {
        let children = self.children(node);
        let done = children
            .iter()
            .filter(|child| child.phase.is_fulfilled())
            .count();
        match node.kind {
            NodeKind::TaskGroup => format!("{done} of {} done", children.len()),
            NodeKind::Pod
            | NodeKind::Steps
            | NodeKind::StepGroup
            | NodeKind::Dag
            | NodeKind::Skipped
            | NodeKind::Retry
            | NodeKind::Suspend => {
                if self.run.stop_requested_at().is_some() {
                    "stopping".to_owned()
                } else {
                    String::new()
                }
            }
        }
    }
}

/// Columns kept for tree and names before times begin.
const NAME_COLUMNS: usize = 44;
