//! From a document to what the engine runs: every template present, arguments merged.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::document::{Metadata, Template, WorkflowSpec};

/// A workflow whose references are all resolved: what a run is made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResolvedWorkflow {
    /// What names it; `name` is already the run's own name.
    pub metadata: Metadata,
    /// The specification with arguments merged and `templates` emptied into [`Self::templates`].
    pub spec: WorkflowSpec,
    /// Templates by name.
    pub templates: BTreeMap<String, Template>,
}
