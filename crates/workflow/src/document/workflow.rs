//! Whole documents.

use serde::{Deserialize, Serialize};

use super::{Arguments, Metadata, Synchronization, Template, Volume, VolumeClaimTemplate};

/// A document of any kind that is read here.
#[expect(
    clippy::large_enum_variant,
    reason = "a file holds a handful of them, and a box would be in every reader's way"
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub enum Document {
    /// A workflow to run.
    Workflow(Workflow),
    /// A workflow on a schedule.
    CronWorkflow(CronWorkflow),
    /// A stored workflow.
    WorkflowTemplate(WorkflowTemplate),
    /// A stored workflow of cluster scope.
    ClusterWorkflowTemplate(WorkflowTemplate),
}

/// `kind: Workflow`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Workflow {
    /// What names it.
    pub metadata: Metadata,
    /// What it does.
    pub spec: WorkflowSpec,
}

/// `kind: WorkflowTemplate` and `kind: ClusterWorkflowTemplate`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkflowTemplate {
    /// What names it.
    pub metadata: Metadata,
    /// What it does.
    pub spec: WorkflowSpec,
}

/// `kind: CronWorkflow`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CronWorkflow {
    /// What names it.
    pub metadata: Metadata,
    /// When, and what.
    pub spec: CronWorkflowSpec,
}

/// When a workflow runs, and the workflow. The singular `schedule` that Argo 4 removed is folded
/// into `schedules` by the reader, with a warning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CronWorkflowSpec {
    /// Five-field cron lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schedules: Vec<String>,
    /// Time zone name of the schedules.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub timezone: String,
    /// `Allow`, `Forbid` or `Replace`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub concurrency_policy: String,
    /// Seconds within which a missed run is made up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starting_deadline_seconds: Option<i64>,
    /// Whether the schedule is paused.
    pub suspend: bool,
    /// Successful runs kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub successful_jobs_history_limit: Option<i64>,
    /// Failed runs kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_jobs_history_limit: Option<i64>,
    /// The workflow.
    pub workflow_spec: WorkflowSpec,
    /// Labels and annotations of each run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_metadata: Option<Metadata>,
}

/// What a workflow does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkflowSpec {
    /// Template that the run starts with.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub entrypoint: String,
    /// Values for the whole workflow.
    #[serde(skip_serializing_if = "Arguments::is_empty")]
    pub arguments: Arguments,
    /// Templates in the order written.
    pub templates: Vec<Template>,
    /// Seconds the whole run may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_deadline_seconds: Option<i64>,
    /// Locks that the run holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synchronization: Option<Synchronization>,
    /// Volumes for every template.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<Volume>,
    /// Claims that every run gets anew.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volume_claim_templates: Vec<VolumeClaimTemplate>,
    /// Order in lock queues: higher first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// Value of `workflow.serviceAccountName`; without other meaning on one machine.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub service_account_name: String,
}
