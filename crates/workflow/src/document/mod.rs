//! Argo's documents as types: only the fields with a meaning here. Every other field is answered
//! for by the catalogue in `support.rs`, which is consulted before decoding.
//!
//! Field names and shapes are those of Argo Workflows 4.0.5 (`argoproj.io/v1alpha1`). All types
//! encode and decode as Argo's JSON, so that a template can be taken to JSON, have its tags
//! replaced, and be taken back.

mod container;
mod metadata;
mod synchronization;
mod task;
mod template;
mod values;
mod workflow;

pub use container::{
    ClaimReference, ConfigMapSource, Container, EmptyDir, EnvFromSource, EnvVar, EnvVarSource,
    HostPath, KeySelector, ObjectReference, ResourceRequirements, Script, SecretSource,
    SelectorItem, Volume, VolumeClaimTemplate, VolumeMount,
};
pub use metadata::Metadata;
pub use synchronization::{MutexReference, Synchronization};
pub use task::{Arguments, ContinueOn, DagTask, DagTemplate, WorkflowStep};
pub use template::{Inputs, Outputs, Template, TemplateKind};
pub use values::{AnyString, IntOrString, Item, Parameter, ValueFrom};
pub use workflow::{
    CronWorkflow, CronWorkflowSpec, Document, Workflow, WorkflowSpec, WorkflowTemplate,
};
