//! The run: what [`evolve`](crate::evolve::evolve) makes of the events.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use crate::{
    id::{NodeId, RunId},
    input::NewRun,
    node::{Locks, Node, NodeKind, RunPhase},
    shape::{Shapes, TemplateShape},
    time::Timestamp,
};
use groundplan_workflow::resolve::ResolvedWorkflow;

/// One execution of a workflow document. The default value is a run before its first event.
///
/// Its JSON is its snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// What it began with; `None` before the first event.
    pub(crate) new: Option<Box<NewRun>>,
    pub(crate) phase: RunPhase,
    pub(crate) message: String,
    pub(crate) nodes: BTreeMap<NodeId, Node>,
    /// Nodes in the order of their creation.
    pub(crate) order: Vec<NodeId>,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) finished_at: Option<Timestamp>,
    pub(crate) deadline: Option<Timestamp>,
    pub(crate) deadline_passed_at: Option<Timestamp>,
    pub(crate) stop_requested_at: Option<Timestamp>,
    pub(crate) locks: Locks,
    /// Number of the last execution.
    pub(crate) executions: u32,
    /// Index: leaves with an execution that has not ended.
    pub(crate) live: BTreeSet<NodeId>,
    /// Index: nodes that wait for locks.
    pub(crate) waiting: BTreeSet<NodeId>,
    /// Index: what is known of the templates without running them.
    #[serde(skip)]
    shapes: Shapes,
}

impl Run {
    /// Whether the run has had its first event.
    pub fn is_created(&self) -> bool {
        self.new.is_some()
    }

    /// What the run began with; `None` before its first event.
    pub fn created(&self) -> Option<&NewRun> {
        self.new.as_deref()
    }

    /// Where the run stands.
    pub fn phase(&self) -> RunPhase {
        self.phase
    }

    /// Why it stands there; empty where there is nothing to say.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The run's name (`metadata.name`); empty before the first event.
    pub fn name(&self) -> &str {
        self.new
            .as_ref()
            .map_or("", |new| new.workflow.metadata.name.as_str())
    }

    /// The run's namespace.
    pub fn namespace(&self) -> &str {
        match &self.new {
            Some(new) if !new.workflow.metadata.namespace.is_empty() => {
                &new.workflow.metadata.namespace
            }
            Some(_) | None => "default",
        }
    }

    /// A node.
    pub fn node(&self, id: &NodeId) -> Option<&Node> {
        self.nodes.get(id)
    }

    /// The node with this full name.
    pub fn node_named(&self, name: &str) -> Option<&Node> {
        self.nodes.get(&NodeId::of(self.name(), name))
    }

    /// The first node, which the others are below; `None` before the run started.
    pub fn root(&self) -> Option<&Node> {
        self.order.first().and_then(|id| self.nodes.get(id))
    }

    /// All nodes in the order of their creation.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.order.iter().filter_map(|id| self.nodes.get(id))
    }

    /// Leaves whose execution has not ended, by id.
    pub fn live_leaves(&self) -> impl Iterator<Item = &Node> {
        self.live.iter().filter_map(|id| self.nodes.get(id))
    }

    /// Nodes that wait for locks, by id.
    pub fn waiting_nodes(&self) -> impl Iterator<Item = &Node> {
        self.waiting.iter().filter_map(|id| self.nodes.get(id))
    }

    /// When the run began to run.
    pub fn started_at(&self) -> Option<Timestamp> {
        self.started_at
    }

    /// When the run was over.
    pub fn finished_at(&self) -> Option<Timestamp> {
        self.finished_at
    }

    /// When the run must have ended, if ever.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.deadline
    }

    /// When a person asked the run to stop.
    pub fn stop_requested_at(&self) -> Option<Timestamp> {
        self.stop_requested_at
    }

    /// The locks of the workflow.
    pub fn locks(&self) -> &Locks {
        &self.locks
    }

    /// When the run wants to be woken even if nothing else happens.
    pub fn wake_at(&self) -> Option<Timestamp> {
        if self.phase.is_finished() || self.deadline_passed_at.is_some() {
            return None;
        }
        self.deadline
    }

    pub(crate) fn begin(&mut self, new: NewRun) {
        self.shapes = Shapes::default();
        self.new = Some(Box::new(new));
    }

    pub(crate) fn id(&self) -> &RunId {
        &self.expect_new().id
    }

    pub(crate) fn expect_new(&self) -> &NewRun {
        self.new.as_deref().expect("a created run")
    }

    pub(crate) fn workflow(&self) -> &ResolvedWorkflow {
        &self.expect_new().workflow
    }

    pub(crate) fn node_ref(&self, id: &NodeId) -> &Node {
        self.nodes
            .get(id)
            .expect("a node that an event or an index names exists")
    }

    pub(crate) fn node_mut(&mut self, id: &NodeId) -> &mut Node {
        self.nodes
            .get_mut(id)
            .expect("a node that an event or an index names exists")
    }

    /// What is known of a template without running it.
    pub(crate) fn shape(&mut self, template: &str) -> Arc<TemplateShape> {
        if let Some(shape) = self.shapes.get(template) {
            return shape;
        }
        let shape = self.shape_of(template);
        self.shapes.insert(template, shape)
    }

    /// The same for the template of a DAG node, with the targets that this node has.
    pub(crate) fn shape_of_dag(&mut self, dag: &NodeId) -> Arc<TemplateShape> {
        let node = self.node_ref(dag);
        let template = node.template_name.clone();
        let Some(target) = node.target.clone() else {
            return self.shape(&template);
        };
        let key = format!("{template}\n{target}");
        if let Some(shape) = self.shapes.get(&key) {
            return shape;
        }
        let template = self.workflow().templates.get(&template);
        let mut template = template.cloned().unwrap_or_default();
        if let Some(dag) = &mut template.dag {
            dag.target = target;
        }
        self.shapes
            .insert(&key, Arc::new(TemplateShape::of(&template)))
    }

    /// The same for those who may only look.
    pub(crate) fn shape_of(&self, template: &str) -> Arc<TemplateShape> {
        self.shapes.get(template).unwrap_or_else(|| {
            let template = self.workflow().templates.get(template);
            Arc::new(template.map(TemplateShape::of).unwrap_or_default())
        })
    }

    /// The last nodes of each of these: what comes next is linked behind them.
    pub(crate) fn ends_of(&mut self, nodes: &[NodeId]) -> BTreeSet<NodeId> {
        let mut ends = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut left: Vec<NodeId> = nodes.to_vec();
        while let Some(id) = left.pop() {
            if !seen.insert(id.clone()) {
                continue;
            }
            let below = self.last_below(&id);
            if below.is_empty() {
                ends.insert(id);
            } else {
                left.extend(below);
            }
        }
        ends
    }

    /// The nodes that a container of nodes ends with; empty for what ends with itself.
    fn last_below(&mut self, id: &NodeId) -> Vec<NodeId> {
        let node = self.node_ref(id);
        match node.kind {
            NodeKind::Pod | NodeKind::Skipped | NodeKind::Suspend => Vec::new(),
            NodeKind::TaskGroup | NodeKind::StepGroup => self.members(id),
            NodeKind::Retry => node.children.last().cloned().into_iter().collect(),
            NodeKind::Steps => node.last_group.iter().cloned().collect(),
            NodeKind::Dag => {
                let dag = node.name.clone();
                let shape = self.shape_of_dag(id);
                shape
                    .targets()
                    .map(|target| self.id_of(&format!("{dag}.{target}")))
                    .filter(|id| self.nodes.contains_key(id))
                    .collect()
            }
        }
    }

    /// The children of a group that it waits for, in order.
    pub(crate) fn members(&self, group: &NodeId) -> Vec<NodeId> {
        self.node_ref(group)
            .children
            .iter()
            .filter(|child| self.node_ref(child).parent.as_ref() == Some(group))
            .cloned()
            .collect()
    }

    /// The id of the node with this full name.
    pub(crate) fn id_of(&self, name: &str) -> NodeId {
        NodeId::of(self.name(), name)
    }
}
