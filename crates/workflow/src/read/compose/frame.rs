//! What is open while a document is read.

use std::collections::BTreeSet;

use crate::diagnostic::Position;
use crate::read::tree::{Entry, Node, NodeValue};

/// A list or map that is not closed yet.
pub(super) enum Open {
    List {
        items: Vec<Node>,
    },
    Map {
        entries: Vec<Entry>,
        seen: BTreeSet<String>,
        key: Option<PendingKey>,
        merges: Vec<(Node, Position)>,
    },
}

/// A key whose value comes next.
pub(super) enum PendingKey {
    /// An ordinary key.
    Named(String, Position),
    /// `<<`.
    Merge(Position),
    /// A key that cannot be one; its value is read and dropped.
    Dropped,
}

pub(super) struct Frame {
    pub(super) open: Open,
    pub(super) position: Position,
    pub(super) anchor: usize,
}

/// A node that aliases may repeat, with its size.
pub(super) struct Anchored {
    pub(super) node: Node,
    pub(super) nodes: usize,
    pub(super) depth: usize,
}

pub(super) fn null(position: Position) -> Node {
    Node {
        value: NodeValue::Null,
        position,
    }
}

/// Number of values in a node, and levels of nesting.
pub(super) fn measure(node: &Node) -> (usize, usize) {
    let mut nodes = 1;
    let mut depth = 0;
    let children: Vec<&Node> = match &node.value {
        NodeValue::List(items) => items.iter().collect(),
        NodeValue::Map(entries) => entries.iter().map(|entry| &entry.value).collect(),
        _ => return (1, 0),
    };
    for child in children {
        let (more, deep) = measure(child);
        nodes += more;
        depth = depth.max(deep);
    }
    (nodes, depth + 1)
}
