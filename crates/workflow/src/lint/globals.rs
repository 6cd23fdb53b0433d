//! Variables of the whole workflow: what `workflow.…` may name.

use std::collections::BTreeSet;

use super::library::Library;
use super::model::{At, Home, is_dynamic};
use crate::read::Kind;

/// Which names below `workflow.` exist for a document.
#[derive(Debug)]
pub(super) struct Globals {
    names: BTreeSet<String>,
    /// A stored workflow's parameters may come from the workflow that uses it.
    any_parameter: bool,
    /// An output's global name is made while the workflow runs.
    any_output: bool,
    /// Templates that run before anything can have failed.
    before_exit: BTreeSet<String>,
    has_exit: bool,
}

impl Globals {
    pub(super) fn of(home: &Home<'_>, library: &Library<'_>) -> Self {
        let base = home
            .spec
            .get("workflowTemplateRef")
            .and_then(|reference| library.stored(&reference));
        let mut globals = Globals {
            names: [
                "name",
                "namespace",
                "mainEntrypoint",
                "serviceAccountName",
                "uid",
                "status",
                "labels",
                "labels.json",
                "annotations",
                "annotations.json",
            ]
            .iter()
            .map(|name| format!("workflow.{name}"))
            .collect(),
            any_parameter: home.is_stored(),
            any_output: false,
            before_exit: BTreeSet::new(),
            has_exit: false,
        };
        if home.spec.get("priority").is_some() {
            globals.names.insert("workflow.priority".to_owned());
        }
        globals.labels(home);
        for spec in std::iter::once(&home.spec).chain(base.map(|base| &base.spec)) {
            globals.metadata(spec.get("workflowMetadata"));
            globals.parameters(spec);
            globals.has_exit |= spec.text("onExit").is_some() || spec.get("hooks").is_some();
        }
        globals.outputs(home, library);
        let start = base.unwrap_or(home);
        let entry = home
            .spec
            .text("entrypoint")
            .or(start.spec.text("entrypoint"));
        globals.before_exit = entry.map(|name| reachable(start, name)).unwrap_or_default();
        globals
    }

    /// Whether the name exists in a template.
    pub(super) fn contains(&self, name: &str, template: &str) -> bool {
        if self.names.contains(name) {
            return true;
        }
        if name == "workflow.failures" {
            return self.has_exit && !self.before_exit.contains(template);
        }
        if name.starts_with("workflow.parameters") {
            return self.any_parameter;
        }
        if name.starts_with("workflow.outputs.") {
            return self.any_output;
        }
        [
            "workflow.creationTimestamp",
            "workflow.scheduledTime",
            "workflow.duration",
        ]
        .iter()
        .any(|prefix| name.starts_with(prefix))
    }

    /// Every certain name, for hints.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Labels and annotations of a run of the document.
    fn labels(&mut self, home: &Home<'_>) {
        match home.read.kind {
            Kind::CronWorkflow => {
                self.metadata(home.root.find(&["spec", "workflowMetadata"]));
            }
            Kind::Workflow | Kind::WorkflowTemplate | Kind::ClusterWorkflowTemplate => {
                self.metadata(home.root.get("metadata"));
            }
        }
    }

    fn metadata(&mut self, metadata: Option<At<'_>>) {
        let Some(metadata) = metadata else { return };
        for (field, kind) in [
            ("labels", "labels"),
            ("labelsFrom", "labels"),
            ("annotations", "annotations"),
        ] {
            if let Some(map) = metadata.get(field) {
                let names = map.node.entries().iter();
                self.names
                    .extend(names.map(|entry| format!("workflow.{kind}.{}", entry.key)));
            }
        }
    }

    fn parameters(&mut self, spec: &At<'_>) {
        let parameters = spec.list(&["arguments", "parameters"]);
        if !parameters.is_empty() {
            self.names.insert("workflow.parameters".to_owned());
            self.names.insert("workflow.parameters.json".to_owned());
        }
        self.names.extend(
            parameters
                .iter()
                .map(|parameter| format!("workflow.parameters.{}", parameter.name())),
        );
    }

    /// Global names of outputs, of this document and of those that it may call.
    fn outputs(&mut self, home: &Home<'_>, library: &Library<'_>) {
        for home in library.homes().chain(std::iter::once(home)) {
            for template in home.all_templates() {
                for output in template.outputs() {
                    self.output("parameters", &output);
                }
                for output in template.output_artifacts() {
                    self.output("artifacts", &output);
                }
            }
        }
    }

    fn output(&mut self, kind: &str, output: &At<'_>) {
        let Some(name) = output.text("globalName") else {
            return;
        };
        if is_dynamic(name) {
            self.any_output = true;
        } else {
            self.names.insert(format!("workflow.outputs.{kind}.{name}"));
        }
    }
}

/// Names of the templates that a template leads to, itself included.
fn reachable(home: &Home<'_>, from: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(name) = open.pop() {
        if !reached.insert(name.to_owned()) {
            continue;
        }
        let Some(template) = home.template(name) else {
            continue;
        };
        open.extend(
            template
                .calls
                .iter()
                .filter_map(|call| call.at.text("template")),
        );
    }
    reached
}
