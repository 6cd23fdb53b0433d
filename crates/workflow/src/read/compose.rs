//! From parser events to positioned trees, going on after faults and within limits.

mod frame;
mod keys;

use std::collections::{BTreeMap, BTreeSet};

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use serde_json::Value;

use self::frame::{Anchored, Frame, Open, PendingKey, measure, null};
use super::limits::Limits;
use super::scalar::{self, Unreadable};
use super::tree::{Entry, Node, NodeValue};
use crate::diagnostic::{Diagnostic, Position, Severity};

/// One document of a file as a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// The root; a map in every document that is read here.
    pub root: Node,
    /// Whether the whole document could be read. After a syntax error the tree holds what came
    /// before it.
    pub complete: bool,
}

/// Reads every document of a text. Empty documents are left out.
pub(crate) fn compose(file: &str, text: &str, limits: Limits) -> (Vec<Tree>, Vec<Diagnostic>) {
    let options = granit_parser::options! {
        emit_unresolved_aliases: true,
        emit_comments: false,
        block_scalar_eof_without_line_feed: true,
        flow_nesting_limit: limits.depth,
        block_nesting_limit: limits.depth,
    };
    let mut parser = Parser::new_from_str_with_options(text, options);
    let mut composer = Composer::new(file, limits);
    loop {
        match parser.next_event() {
            None | Some(Ok((Event::StreamEnd, _))) => break,
            Some(Ok((event, span))) => composer.event(event, &span),
            Some(Err(error)) => {
                composer.syntax_error(&error);
                composer.end_document(false);
                if !go_on(&mut parser, &mut composer) {
                    break;
                }
            }
        }
        if composer.exhausted {
            composer.end_document(false);
            break;
        }
    }
    (composer.trees, composer.diagnostics)
}

/// Moves to the next document after a fault; whether there is one.
fn go_on<'text>(parser: &mut Parser<'text, StrInput<'text>>, composer: &mut Composer<'_>) -> bool {
    match parser.proceed_next_document() {
        Ok(more) => more,
        Err(error) => {
            composer.syntax_error(&error);
            false
        }
    }
}

struct Composer<'a> {
    file: &'a str,
    limits: Limits,
    trees: Vec<Tree>,
    diagnostics: Vec<Diagnostic>,
    stack: Vec<Frame>,
    root: Option<Node>,
    anchors: BTreeMap<usize, Anchored>,
    nodes: usize,
    repeated: usize,
    kept: usize,
    exhausted: bool,
}

impl<'a> Composer<'a> {
    fn new(file: &'a str, limits: Limits) -> Self {
        Composer {
            file,
            limits,
            trees: Vec::new(),
            diagnostics: Vec::new(),
            stack: Vec::new(),
            root: None,
            anchors: BTreeMap::new(),
            nodes: 0,
            repeated: 0,
            kept: 0,
            exhausted: false,
        }
    }

    fn event(&mut self, event: Event<'_>, span: &Span) {
        let position = place(span);
        match event {
            Event::DocumentStart(..) => self.anchors.clear(),
            Event::DocumentEnd => self.end_document(true),
            Event::Scalar(text, style, anchor, tag) => {
                let node = self.scalar(&text, style, tag.as_deref(), position);
                if style == ScalarStyle::Plain && text == "<<" && self.awaits_key() {
                    self.set_key(PendingKey::Merge(position));
                } else {
                    self.finish(node, anchor);
                }
            }
            Event::SequenceStart(_, anchor, _) => {
                self.open(Open::List { items: Vec::new() }, position, anchor)
            }
            Event::MappingStart(_, anchor, _) => self.open(
                Open::Map {
                    entries: Vec::new(),
                    seen: BTreeSet::new(),
                    key: None,
                    merges: Vec::new(),
                },
                position,
                anchor,
            ),
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(id) => self.repeat(id, position),
            Event::UnresolvedAlias(name) => {
                self.report(
                    "unknown-anchor",
                    format!("alias `*{name}` refers to no anchor before it"),
                    position,
                    Some(format!("mark the value that it repeats with `&{name}`")),
                );
                self.finish(null(position), 0);
            }
            _ => {}
        }
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        position: Position,
    ) -> Node {
        let value = match tag.map(|tag| tag.core_suffix()) {
            Some(Some(core)) => scalar::resolve_tagged(core, text),
            Some(None) => Ok(Value::String(text.to_owned())),
            None if style == ScalarStyle::Plain => scalar::resolve_plain(text),
            None => Ok(Value::String(text.to_owned())),
        };
        let value = value.unwrap_or_else(|fault| {
            let (message, hint) = match fault {
                Unreadable::NotFinite => (
                    format!("`{text}` is a number that JSON cannot hold"),
                    "quote it if text is meant".to_owned(),
                ),
                Unreadable::TagMismatch { wanted } => (
                    format!("`{text}` is no `{wanted}`, as its tag says"),
                    format!("remove the tag `!!{wanted}`"),
                ),
            };
            self.report("unreadable-scalar", message, position, Some(hint));
            Value::Null
        });
        Node {
            value: match value {
                Value::Null => NodeValue::Null,
                Value::Bool(value) => NodeValue::Bool(value),
                Value::Number(number) => NodeValue::Number(number),
                Value::String(text) => NodeValue::Text(text),
                Value::Array(_) | Value::Object(_) => unreachable!("a scalar is no collection"),
            },
            position,
        }
    }

    fn open(&mut self, open: Open, position: Position, anchor: usize) {
        let position = Position {
            length: 0,
            ..position
        };
        self.stack.push(Frame {
            open,
            position,
            anchor,
        });
    }

    fn close(&mut self) {
        let Some(frame) = self.stack.pop() else {
            return;
        };
        let value = match frame.open {
            Open::List { items } => NodeValue::List(items),
            Open::Map {
                mut entries,
                mut seen,
                merges,
                ..
            } => {
                for (merged, position) in merges {
                    self.merge(&mut entries, &mut seen, merged, position);
                }
                NodeValue::Map(entries)
            }
        };
        self.finish(
            Node {
                value,
                position: frame.position,
            },
            frame.anchor,
        );
    }

    /// Puts a finished node where it belongs.
    fn finish(&mut self, node: Node, anchor: usize) {
        self.nodes += 1;
        if self.nodes > self.limits.nodes {
            self.exceed(
                format!("the file holds more than {} values", self.limits.nodes),
                node.position,
            );
            return;
        }
        if anchor != 0 {
            let (nodes, depth) = measure(&node);
            self.kept += nodes;
            if self.kept > self.limits.repeated {
                let limit = self.limits.repeated;
                self.exceed(
                    format!("anchors mark more than {limit} values"),
                    node.position,
                );
                return;
            }
            self.anchors.insert(
                anchor,
                Anchored {
                    node: node.clone(),
                    nodes,
                    depth,
                },
            );
        }
        if self.awaits_key() {
            self.key(&node);
            return;
        }
        match self.stack.last_mut() {
            None => self.root = Some(node),
            Some(Frame { open, .. }) => match open {
                Open::List { items } => items.push(node),
                Open::Map {
                    entries,
                    seen,
                    key,
                    merges,
                } => match key.take() {
                    Some(PendingKey::Named(name, key_position)) => {
                        let entry = Entry {
                            key: name,
                            key_position,
                            value: node,
                        };
                        if seen.insert(entry.key.clone()) {
                            entries.push(entry);
                        } else {
                            self.duplicate(entry);
                        }
                    }
                    Some(PendingKey::Merge(position)) => merges.push((node, position)),
                    Some(PendingKey::Dropped) | None => {}
                },
            },
        }
    }

    fn awaits_key(&self) -> bool {
        matches!(
            self.stack.last(),
            Some(Frame {
                open: Open::Map { key: None, .. },
                ..
            })
        )
    }

    fn set_key(&mut self, pending: PendingKey) {
        if let Some(Frame {
            open: Open::Map { key, .. },
            ..
        }) = self.stack.last_mut()
        {
            *key = Some(pending);
        }
    }

    fn repeat(&mut self, id: usize, position: Position) {
        let Some(anchored) = self.anchors.get(&id) else {
            // An alias within the very value that its anchor marks.
            self.report(
                "unknown-anchor",
                "an alias stands within the value that it repeats".to_owned(),
                position,
                None,
            );
            self.finish(null(position), 0);
            return;
        };
        self.repeated += anchored.nodes;
        if self.repeated > self.limits.repeated {
            let limit = self.limits.repeated;
            self.exceed(format!("aliases repeat more than {limit} values"), position);
        } else if self.stack.len() + anchored.depth > self.limits.depth {
            let limit = self.limits.depth;
            self.exceed(format!("values nest deeper than {limit} levels"), position);
        } else {
            let node = anchored.node.clone();
            self.finish(node, 0);
        }
    }

    /// Ends the document: what is still open is closed as it stands.
    fn end_document(&mut self, complete: bool) {
        while !self.stack.is_empty() {
            self.close();
        }
        self.anchors.clear();
        if let Some(root) = self
            .root
            .take()
            .filter(|root| root.value != NodeValue::Null)
        {
            self.trees.push(Tree { root, complete });
        }
    }

    fn exceed(&mut self, message: String, position: Position) {
        if !self.exhausted {
            self.exhausted = true;
            self.report(
                "document-too-large",
                message,
                position,
                Some("the rest of the file was not read".to_owned()),
            );
        }
    }

    fn syntax_error(&mut self, error: &ScanError) {
        let marker = error.marker();
        let position = Position {
            line: narrow(marker.line()),
            column: narrow(marker.col() + 1),
            offset: narrow(marker.byte_offset().unwrap_or_default()),
            length: 0,
        };
        let (message, hint) = super::syntax::explain(error.kind());
        self.report("invalid-yaml", message, position, hint);
    }

    fn report(&mut self, code: &str, message: String, position: Position, hint: Option<String>) {
        self.diagnostics.push(Diagnostic {
            code: code.to_owned(),
            severity: Severity::Error,
            message,
            file: self.file.to_owned(),
            position: Some(position),
            path: String::new(),
            hint,
        });
    }
}

fn place(span: &Span) -> Position {
    let range = span.byte_range().unwrap_or_default();
    Position {
        line: narrow(span.start.line()),
        column: narrow(span.start.col() + 1),
        offset: narrow(range.start),
        length: narrow(range.len()),
    }
}

/// Files are limited to far less than 4 GiB before they come here.
fn narrow(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
