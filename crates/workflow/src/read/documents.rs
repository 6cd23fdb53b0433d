//! From trees to typed documents: which kind it is, which fields it has, what they hold.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::{Limits, Node, NodeValue, SourceFile, Tree, trees};
use crate::diagnostic::{Diagnostic, Severity};
use crate::document::{Document, Metadata, WorkflowSpec};
use crate::fields;
use crate::nearest::nearest;

/// The kinds of documents that are read here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A workflow to run.
    Workflow,
    /// A workflow on a schedule.
    CronWorkflow,
    /// A stored workflow.
    WorkflowTemplate,
    /// A stored workflow of cluster scope.
    ClusterWorkflowTemplate,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 4] = [
        Kind::Workflow,
        Kind::CronWorkflow,
        Kind::WorkflowTemplate,
        Kind::ClusterWorkflowTemplate,
    ];

    /// The word that a document's `kind` says.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Workflow => "Workflow",
            Kind::CronWorkflow => "CronWorkflow",
            Kind::WorkflowTemplate => "WorkflowTemplate",
            Kind::ClusterWorkflowTemplate => "ClusterWorkflowTemplate",
        }
    }

    /// The kind of this word.
    pub fn from_word(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Where the workflow's specification stands in a document of this kind.
    pub fn spec_path(self) -> &'static str {
        match self {
            Kind::CronWorkflow => "spec.workflowSpec",
            Kind::Workflow | Kind::WorkflowTemplate | Kind::ClusterWorkflowTemplate => "spec",
        }
    }

    fn owner(self) -> &'static str {
        match self {
            Kind::Workflow => "argo.Workflow",
            Kind::CronWorkflow => "argo.CronWorkflow",
            Kind::WorkflowTemplate => "argo.WorkflowTemplate",
            Kind::ClusterWorkflowTemplate => "argo.ClusterWorkflowTemplate",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A document as it was read: typed, and with the tree that says where everything stands.
#[derive(Clone, Debug)]
pub struct ReadDocument {
    /// The file's name.
    pub file: String,
    /// Its kind.
    pub kind: Kind,
    /// What it says, as far as it is supported here.
    pub document: Document,
    /// Everything that it says, with places.
    pub root: Node,
    /// The text of the whole file, which places count in.
    pub source: Arc<str>,
    /// Whether it was read to its end; a syntax error cuts it off.
    pub complete: bool,
    /// A notice for each field in use that this machine refuses.
    pub refused: Vec<Diagnostic>,
}

impl ReadDocument {
    /// What names the document.
    pub fn metadata(&self) -> &Metadata {
        match &self.document {
            Document::Workflow(workflow) => &workflow.metadata,
            Document::CronWorkflow(cron) => &cron.metadata,
            Document::WorkflowTemplate(template) | Document::ClusterWorkflowTemplate(template) => {
                &template.metadata
            }
        }
    }

    /// What its workflow does.
    pub fn spec(&self) -> &WorkflowSpec {
        match &self.document {
            Document::Workflow(workflow) => &workflow.spec,
            Document::CronWorkflow(cron) => &cron.spec.workflow_spec,
            Document::WorkflowTemplate(template) | Document::ClusterWorkflowTemplate(template) => {
                &template.spec
            }
        }
    }
}

/// What a file holds.
#[derive(Clone, Debug, Default)]
pub struct ReadFile {
    /// Its documents of the kinds that are read here, in order.
    pub documents: Vec<ReadDocument>,
    /// Everything wrong with notation and fields, and notices of what is ignored or refused.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads every document of a file. Documents of other kinds get a notice.
pub fn read(file: &SourceFile) -> ReadFile {
    read_as(file, None)
}

/// The same, taking the last document for one of the given kind whatever it says itself.
pub fn read_as(file: &SourceFile, last: Option<Kind>) -> ReadFile {
    let (trees, diagnostics) = trees(file, Limits::default());
    let mut read = ReadFile {
        documents: Vec::new(),
        diagnostics,
    };
    let count = trees.len();
    let source: Arc<str> = String::from_utf8_lossy(&file.bytes).into();
    for (index, tree) in trees.into_iter().enumerate() {
        let forced = last.filter(|_| index + 1 == count);
        match forced.map_or_else(|| kind_of(&file.name, &tree), Ok) {
            Ok(kind) => one(&source, file, kind, tree, &mut read),
            Err(diagnostic) => read.diagnostics.push(*diagnostic),
        }
    }
    read
}

fn one(source: &Arc<str>, file: &SourceFile, kind: Kind, tree: Tree, read: &mut ReadFile) {
    let Tree { root, complete } = tree;
    let checked = fields::check(&file.name, &root, kind.owner());
    read.diagnostics.extend(checked.diagnostics);
    read.diagnostics.extend(checked.ignored);
    read.diagnostics.extend(checked.refused.iter().cloned());
    let document = match kind {
        Kind::Workflow => decode(checked.value).map(Document::Workflow),
        Kind::CronWorkflow => decode(checked.value).map(Document::CronWorkflow),
        Kind::WorkflowTemplate => decode(checked.value).map(Document::WorkflowTemplate),
        Kind::ClusterWorkflowTemplate => {
            decode(checked.value).map(Document::ClusterWorkflowTemplate)
        }
    };
    match document {
        Ok(document) => read.documents.push(ReadDocument {
            file: file.name.clone(),
            kind,
            document,
            root,
            source: Arc::clone(source),
            complete,
            refused: checked.refused,
        }),
        Err(message) => read.diagnostics.push(Diagnostic {
            code: "unreadable-document".to_owned(),
            severity: Severity::Error,
            message: format!("the {kind} cannot be decoded: {message}"),
            file: file.name.clone(),
            position: Some(root.position),
            path: String::new(),
            hint: None,
        }),
    }
}

fn decode<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

/// The kind that a document says it is, or why it is not read.
fn kind_of(file: &str, tree: &Tree) -> Result<Kind, Box<Diagnostic>> {
    let root = &tree.root;
    let say = |code: &str, severity, message: String, node: &Node, path: &str, hint| {
        Box::new(Diagnostic {
            code: code.to_owned(),
            severity,
            message,
            file: file.to_owned(),
            position: Some(node.position),
            path: path.to_owned(),
            hint,
        })
    };
    if !matches!(root.value, NodeValue::Map(_)) {
        return Err(say(
            "not-a-document",
            Severity::Error,
            format!("the document is {}, not a map", root.describe()),
            root,
            "",
            Some("a Workflow begins with `apiVersion: argoproj.io/v1alpha1`".to_owned()),
        ));
    }
    let Some(kind) = root.get("kind") else {
        return Err(say(
            "missing-kind",
            Severity::Error,
            "the document does not say its `kind`".to_owned(),
            root,
            "",
            Some("add `kind: Workflow`".to_owned()),
        ));
    };
    let word = kind.text().unwrap_or_default();
    if let Some(known) = Kind::from_word(word) {
        return Ok(known);
    }
    let near = nearest(word, Kind::ALL.map(Kind::as_str));
    let argo = root
        .text_at("apiVersion")
        .is_none_or(|version| version.starts_with("argoproj.io/"));
    Err(match near.filter(|_| argo) {
        Some(near) => say(
            "unknown-kind",
            Severity::Error,
            format!("`{word}` is no kind of document"),
            kind,
            "kind",
            Some(format!("did you mean `{near}`?")),
        ),
        None => say(
            "other-kind",
            Severity::Notice,
            format!("a document of kind `{word}` is not read here"),
            kind,
            "kind",
            None,
        ),
    })
}
