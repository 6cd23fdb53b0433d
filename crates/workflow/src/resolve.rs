//! From a document to what the engine runs: every template present, arguments merged.

mod parameters;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::diagnostic::{Diagnostic, Severity};
use crate::document::{Document, Metadata, Template, TemplateKind, WorkflowSpec};
use crate::lint::{Options, Purpose, judge};
use crate::nearest::nearest;
use crate::read::{Part, ReadDocument};

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

/// Makes a run's workflow from a document and the values given for it, in the order given. A value
/// may name an argument of the document or an input of its entrypoint.
///
/// # Errors
/// Everything that keeps the document from running: what Argo rejects, fields that this machine
/// refuses, and values that are unknown, given twice, missing or not allowed.
pub fn resolve(
    read: &ReadDocument,
    given: &[(String, String)],
    run_name: &str,
) -> Result<ResolvedWorkflow, Vec<Diagnostic>> {
    let mut faults = Faults::new(read);
    for refused in &read.refused {
        faults.found.push(Diagnostic {
            severity: Severity::Error,
            ..refused.clone()
        });
    }
    let mut spec = read.spec().clone();
    let templates = templates(&mut spec, &mut faults);
    match entrypoint(&spec, &templates, &mut faults) {
        Some(entry) => {
            spec.arguments.parameters =
                parameters::merge(&spec.arguments.parameters, entry, given, &mut faults);
        }
        // Without an entrypoint nothing can be said of the values.
        None => debug_assert!(!faults.found.is_empty()),
    }
    rejected(read, given, &mut faults);
    if faults.found.is_empty() {
        Ok(ResolvedWorkflow {
            metadata: metadata(read, run_name),
            spec,
            templates,
        })
    } else {
        Err(faults.found)
    }
}

/// Adds what Argo rejects. Values of the workflow's own arguments were looked at with those given.
fn rejected(read: &ReadDocument, given: &[(String, String)], faults: &mut Faults<'_>) {
    if !read.complete {
        faults.error(
            "invalid-yaml",
            "the document was not read to its end".to_owned(),
            "",
            Some("mend its notation first".to_owned()),
        );
        return;
    }
    let options = Options {
        purpose: Purpose::Start,
        given: given.iter().map(|(name, _)| name.clone()).collect(),
    };
    let arguments = format!("{}.arguments.parameters[", read.kind.spec_path());
    let entrypoint = format!("{}.entrypoint", read.kind.spec_path());
    for found in judge(&[read], &[read], &options) {
        let looked_at = match found.code.as_str() {
            "missing-value" | "invalid-choice" => found.path.starts_with(&arguments),
            "missing-argument" => found.path == entrypoint,
            _ => false,
        };
        let said = faults
            .found
            .iter()
            .any(|other| other.code == found.code && other.path == found.path);
        if found.severity == Severity::Error && !looked_at && !said {
            faults.found.push(found);
        }
    }
}

/// What was found so far, and the document that places are looked up in.
struct Faults<'a> {
    read: &'a ReadDocument,
    found: Vec<Diagnostic>,
}

impl<'a> Faults<'a> {
    fn new(read: &'a ReadDocument) -> Self {
        Faults {
            read,
            found: Vec::new(),
        }
    }

    /// Reports an error at a path below the workflow's specification.
    fn error(&mut self, code: &str, message: String, path: &str, hint: Option<String>) {
        let base = self.read.kind.spec_path();
        let path = match path {
            "" => base.to_owned(),
            _ => format!("{base}.{path}"),
        };
        self.found.push(Diagnostic {
            code: code.to_owned(),
            severity: Severity::Error,
            message,
            file: self.read.file.clone(),
            position: self.read.root.position_of(&path, Part::Value),
            path,
            hint,
        });
    }
}

/// Takes the templates out of the specification, checking that each is one and can be found.
fn templates(spec: &mut WorkflowSpec, faults: &mut Faults<'_>) -> BTreeMap<String, Template> {
    let list = std::mem::take(&mut spec.templates);
    let mut templates = BTreeMap::new();
    let mut calls = Vec::new();
    for (index, template) in list.into_iter().enumerate() {
        let path = format!("templates[{index}]");
        if template.name.is_empty() {
            faults.error(
                "missing-name",
                "a template has no name".to_owned(),
                &path,
                Some("add `name:`".to_owned()),
            );
            continue;
        }
        if template.kind().is_none() && faults.read.refused.is_empty() {
            faults.error(
                "missing-template-type",
                format!("template `{}` must be of one type", template.name),
                &path,
                Some("set one of `container`, `script`, `steps` and `dag`".to_owned()),
            );
        }
        calls.extend(calls_of(&template, &path));
        let name = template.name.clone();
        if templates.insert(name.clone(), template).is_some() {
            faults.error(
                "duplicate-name",
                format!("two templates are named `{name}`"),
                &format!("{path}.name"),
                None,
            );
        }
    }
    for (path, name) in calls {
        if !templates.contains_key(&name) {
            let hint = nearest(&name, templates.keys().map(String::as_str))
                .map(|near| format!("did you mean `{near}`?"));
            faults.error(
                "undefined-template",
                format!("template `{name}` is called here and defined nowhere"),
                &path,
                hint,
            );
        }
    }
    templates
}

/// Path and name of every template that a template calls.
fn calls_of(template: &Template, path: &str) -> Vec<(String, String)> {
    let steps = template.steps.iter().flatten().enumerate();
    let steps = steps.flat_map(|(group, steps)| {
        steps.iter().enumerate().map(move |(index, step)| {
            (
                format!("{path}.steps[{group}][{index}].template"),
                step.template.clone(),
            )
        })
    });
    let tasks = template.dag.iter().flat_map(|dag| &dag.tasks).enumerate();
    let tasks = tasks.map(|(index, task)| {
        (
            format!("{path}.dag.tasks[{index}].template"),
            task.template.clone(),
        )
    });
    // A call without a name uses a field that is refused already, or is said by lint.
    steps
        .chain(tasks)
        .filter(|(_, name)| !name.is_empty() && !name.contains("{{"))
        .collect()
}

fn entrypoint<'t>(
    spec: &WorkflowSpec,
    templates: &'t BTreeMap<String, Template>,
    faults: &mut Faults<'_>,
) -> Option<&'t Template> {
    if spec.entrypoint.is_empty() {
        faults.error(
            "missing-entrypoint",
            "the workflow has no `entrypoint`".to_owned(),
            "",
            match templates.keys().next() {
                Some(name) => Some(format!("add `entrypoint: {name}`")),
                None => Some("name the template that the run starts with".to_owned()),
            },
        );
        return None;
    }
    let entry = templates.get(&spec.entrypoint);
    if entry.is_none() {
        let hint = nearest(&spec.entrypoint, templates.keys().map(String::as_str))
            .map(|near| format!("did you mean `{near}`?"));
        faults.error(
            "undefined-template",
            format!("the entrypoint `{}` is defined nowhere", spec.entrypoint),
            "entrypoint",
            hint,
        );
    }
    entry
}

/// What names the run. A stored workflow gives its runs no labels of its own, only its name.
fn metadata(read: &ReadDocument, run_name: &str) -> Metadata {
    let own = read.metadata();
    let origin = |label: &str| {
        BTreeMap::from([(format!("workflows.argoproj.io/{label}"), own.name.clone())])
    };
    let (labels, annotations) = match &read.document {
        Document::Workflow(workflow) => (
            workflow.metadata.labels.clone(),
            workflow.metadata.annotations.clone(),
        ),
        Document::CronWorkflow(cron) => {
            let given = cron.spec.workflow_metadata.clone().unwrap_or_default();
            let mut labels = given.labels;
            labels.extend(origin("cron-workflow"));
            (labels, given.annotations)
        }
        Document::WorkflowTemplate(_) => (origin("workflow-template"), BTreeMap::new()),
        Document::ClusterWorkflowTemplate(_) => {
            (origin("cluster-workflow-template"), BTreeMap::new())
        }
    };
    Metadata {
        name: run_name.to_owned(),
        generate_name: String::new(),
        namespace: own.namespace.clone(),
        labels,
        annotations,
    }
}

impl ResolvedWorkflow {
    /// The template that the run starts with.
    pub fn entrypoint(&self) -> Option<&Template> {
        self.templates.get(&self.spec.entrypoint)
    }

    /// Whether any template is of this kind.
    pub fn uses(&self, kind: TemplateKind) -> bool {
        self.templates
            .values()
            .any(|template| template.kind() == Some(kind))
    }
}

#[cfg(test)]
mod tests;
