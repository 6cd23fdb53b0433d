//! Calls of templates: steps and DAG tasks.

use serde::{Deserialize, Serialize};

use super::{Item, Parameter};

/// Values handed to a template or a workflow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Arguments {
    /// Parameters by position; names are unique.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
}

/// Failures that the caller forgives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContinueOn {
    /// Go on after phase `Error`.
    pub error: bool,
    /// Go on after phase `Failed`.
    pub failed: bool,
}

/// One step of a group of steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkflowStep {
    /// Name, unique within the template.
    pub name: String,
    /// Template that is called.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub template: String,
    /// Values handed to it.
    #[serde(skip_serializing_if = "Arguments::is_empty")]
    pub arguments: Arguments,
    /// Fan-out over literal items.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub with_items: Vec<Item>,
    /// Fan-out over a JSON list, usually a tag.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub with_param: String,
    /// Condition (govaluate) after its tags are replaced.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub when: String,
    /// Failures that do not fail the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continue_on: Option<ContinueOn>,
}

/// A template of tasks with dependencies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DagTemplate {
    /// Space-separated names of tasks; empty means every leaf.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// Tasks in the order written.
    pub tasks: Vec<DagTask>,
    /// Whether a failed target ends the DAG before unreached targets exist; `None` means true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_fast: Option<bool>,
}

/// One task of a DAG.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DagTask {
    /// Name, unique within the template.
    pub name: String,
    /// Template that is called.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub template: String,
    /// Values handed to it.
    #[serde(skip_serializing_if = "Arguments::is_empty")]
    pub arguments: Arguments,
    /// Names of tasks that must have gone well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<String>,
    /// Logic over task results, such as `a && b.Failed`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub depends: String,
    /// Fan-out over literal items.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub with_items: Vec<Item>,
    /// Fan-out over a JSON list, usually a tag.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub with_param: String,
    /// Condition (govaluate) after its tags are replaced.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub when: String,
    /// Failures that do not fail the DAG.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continue_on: Option<ContinueOn>,
}

impl Arguments {
    /// Whether nothing is handed over.
    pub fn is_empty(&self) -> bool {
        self.parameters.is_empty()
    }
}
