//! Templates: what a node does.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Container, DagTemplate, IntOrString, Metadata, Parameter, Script, Synchronization, Volume,
    WorkflowStep,
};

/// A template. Exactly one of `container`, `script`, `steps` and `dag` is set in a document that
/// was resolved; [`Template::kind`] answers which.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Template {
    /// Name, unique within the workflow.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What it takes.
    pub inputs: Inputs,
    /// What it gives.
    pub outputs: Outputs,
    /// Labels and annotations, such as `groundplan/sensitive-outputs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// Annotations of the node itself: `workflows.argoproj.io/display-name` is its shown name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Runs a container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<Container>,
    /// Runs a container with a source file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<Script>,
    /// Groups of steps, one group after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<Vec<WorkflowStep>>>,
    /// Tasks with dependencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dag: Option<DagTemplate>,
    /// Seconds a leaf may take, as an integer or text with tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_deadline_seconds: Option<IntOrString>,
    /// For steps and DAG: no new leaf starts after a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_fast: Option<bool>,
    /// Locks that the node holds while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synchronization: Option<Synchronization>,
    /// Volumes of this template, beside those of the workflow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<Volume>,
}

/// What a template takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Inputs {
    /// Parameters in the order written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
}

/// What a template gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Outputs {
    /// Parameters in the order written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
}

/// Which kind of template this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TemplateKind {
    /// A container.
    Container,
    /// A container with a source file.
    Script,
    /// Groups of steps.
    Steps,
    /// Tasks with dependencies.
    Dag,
}

impl Template {
    /// The kind, or `None` where none or several are set.
    pub fn kind(&self) -> Option<TemplateKind> {
        let set = [
            self.container.as_ref().map(|_| TemplateKind::Container),
            self.script.as_ref().map(|_| TemplateKind::Script),
            self.steps.as_ref().map(|_| TemplateKind::Steps),
            self.dag.as_ref().map(|_| TemplateKind::Dag),
        ];
        let mut kinds = set.into_iter().flatten();
        match (kinds.next(), kinds.next()) {
            (Some(kind), None) => Some(kind),
            (None | Some(_), _) => None,
        }
    }
}
