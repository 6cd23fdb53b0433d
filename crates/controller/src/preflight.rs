//! What must be known of a workflow before anything of it starts: pure.

use std::collections::{BTreeMap, BTreeSet};

use groundplan_ports::secrets::{SecretRef, SecretSourceKind};
use groundplan_workflow::{
    document::{AnyString, Container, Template, Volume},
    resolve::ResolvedWorkflow,
};

/// A reference to a secret or config map and what needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeededReference {
    /// What is needed.
    pub reference: SecretRef,
    /// The template that needs it.
    pub template: String,
    /// Whether its absence is tolerated.
    pub optional: bool,
}

/// Every secret and config map that the workflow's templates refer to, each reference once.
pub fn needed_references(workflow: &ResolvedWorkflow) -> Vec<NeededReference> {
    let mut needed: BTreeMap<SecretRef, NeededReference> = BTreeMap::new();
    for (name, template) in &workflow.templates {
        for (reference, optional) in template_references(template, &workflow.spec.volumes) {
            let entry = needed
                .entry(reference.clone())
                .or_insert_with(|| NeededReference {
                    reference,
                    template: name.clone(),
                    optional,
                });
            if entry.optional && !optional {
                name.clone_into(&mut entry.template);
                entry.optional = false;
            }
        }
    }
    needed.into_values().collect()
}

fn containers(template: &Template) -> impl Iterator<Item = &Container> {
    template
        .container
        .iter()
        .chain(template.script.iter().map(|script| &script.container))
}

fn template_references(template: &Template, volumes: &[Volume]) -> Vec<(SecretRef, bool)> {
    let mut references = Vec::new();
    for container in containers(template) {
        variable_references(container, &mut references);
        for mount in &container.volume_mounts {
            let volume = template
                .volumes
                .iter()
                .chain(volumes)
                .find(|volume| volume.name == mount.name);
            references.extend(volume.and_then(volume_reference));
        }
    }
    references
}

fn variable_references(container: &Container, references: &mut Vec<(SecretRef, bool)>) {
    for from in container
        .env
        .iter()
        .filter_map(|variable| variable.value_from.as_ref())
    {
        let selectors = [
            (SecretSourceKind::Secret, &from.secret_key_ref),
            (SecretSourceKind::ConfigMap, &from.config_map_key_ref),
        ];
        for (kind, selector) in selectors {
            references.extend(selector.as_ref().map(|selector| {
                let key = Some(selector.key.clone());
                (
                    SecretRef {
                        kind,
                        name: selector.name.clone(),
                        key,
                    },
                    selector.optional == Some(true),
                )
            }));
        }
    }
    for from in &container.env_from {
        let objects = [
            (SecretSourceKind::Secret, &from.secret_ref),
            (SecretSourceKind::ConfigMap, &from.config_map_ref),
        ];
        for (kind, object) in objects {
            references.extend(object.as_ref().map(|object| {
                (
                    SecretRef {
                        kind,
                        name: object.name.clone(),
                        key: None,
                    },
                    object.optional == Some(true),
                )
            }));
        }
    }
}

fn volume_reference(volume: &Volume) -> Option<(SecretRef, bool)> {
    if let Some(source) = &volume.secret {
        let reference = SecretRef {
            kind: SecretSourceKind::Secret,
            name: source.secret_name.clone(),
            key: None,
        };
        return Some((reference, source.optional == Some(true)));
    }
    volume.config_map.as_ref().map(|source| {
        let reference = SecretRef {
            kind: SecretSourceKind::ConfigMap,
            name: source.name.clone(),
            key: None,
        };
        (reference, source.optional == Some(true))
    })
}

/// A place of a document that needs a sandbox.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NeedsSandbox {
    /// A volume is mounted at a fixed path.
    #[error("template `{template}` mounts volume `{volume}` at the fixed path `{path}`")]
    FixedMount {
        /// The template.
        template: String,
        /// The volume.
        volume: String,
        /// The path.
        path: String,
    },
    /// An output is taken from an absolute path outside every volume.
    #[error("template `{template}` takes output `{output}` from the fixed path `{path}`")]
    FixedOutput {
        /// The template.
        template: String,
        /// The output parameter.
        output: String,
        /// The path.
        path: String,
    },
    /// A program starts in a fixed directory.
    #[error("template `{template}` starts in the fixed directory `{path}`")]
    FixedDirectory {
        /// The template.
        template: String,
        /// The directory.
        path: String,
    },
    /// Two volumes take their path from one parameter.
    #[error(
        "parameter `{parameter}` is the mount path of both volume `{first}` and volume `{second}`"
    )]
    SharedPath {
        /// The workflow parameter.
        parameter: String,
        /// One volume.
        first: String,
        /// Another volume.
        second: String,
    },
}

/// For a run without a sandbox: which workflow parameters are mount paths, and of which volume, so
/// that each gets the volume's real folder. Answers every place that cannot do without a sandbox.
pub fn mount_parameters(
    workflow: &ResolvedWorkflow,
) -> Result<BTreeMap<String, String>, Vec<NeedsSandbox>> {
    let mut parameters: BTreeMap<String, String> = BTreeMap::new();
    let mut faults = Vec::new();
    for (name, template) in &workflow.templates {
        for container in containers(template) {
            for mount in &container.volume_mounts {
                let sources = workflow_parameters_behind(
                    &mount.mount_path,
                    name,
                    workflow,
                    &mut BTreeSet::new(),
                );
                if sources.is_empty() {
                    faults.push(NeedsSandbox::FixedMount {
                        template: name.clone(),
                        volume: mount.name.clone(),
                        path: mount.mount_path.clone(),
                    });
                }
                for parameter in sources {
                    match parameters.get(&parameter) {
                        Some(first) if *first != mount.name => {
                            faults.push(NeedsSandbox::SharedPath {
                                parameter,
                                first: first.clone(),
                                second: mount.name.clone(),
                            })
                        }
                        Some(_) => {}
                        None => {
                            parameters.insert(parameter, mount.name.clone());
                        }
                    }
                }
            }
            if container.working_dir.starts_with('/') {
                faults.push(NeedsSandbox::FixedDirectory {
                    template: name.clone(),
                    path: container.working_dir.clone(),
                });
            }
        }
        faults.extend(fixed_outputs(name, template));
    }
    if faults.is_empty() {
        Ok(parameters)
    } else {
        Err(faults)
    }
}

fn fixed_outputs(name: &str, template: &Template) -> Vec<NeedsSandbox> {
    let paths = template.outputs.parameters.iter().filter_map(|output| {
        let path = output.value_from.as_ref()?.path.as_ref()?;
        path.starts_with('/')
            .then(|| (output.name.clone(), path.clone()))
    });
    paths
        .map(|(output, path)| NeedsSandbox::FixedOutput {
            template: name.to_owned(),
            output,
            path,
        })
        .collect()
}

/// The workflow parameters whose value alone decides a text of a template; empty where the text is
/// anything else.
fn workflow_parameters_behind(
    text: &str,
    template: &str,
    workflow: &ResolvedWorkflow,
    seen: &mut BTreeSet<(String, String)>,
) -> BTreeSet<String> {
    let Some(tag) = sole_tag(text) else {
        return BTreeSet::new();
    };
    if let Some(parameter) = tag.strip_prefix("workflow.parameters.") {
        return BTreeSet::from([parameter.to_owned()]);
    }
    let Some(input) = tag.strip_prefix("inputs.parameters.") else {
        return BTreeSet::new();
    };
    if !seen.insert((template.to_owned(), input.to_owned())) {
        return BTreeSet::new();
    }
    let mut found = BTreeSet::new();
    for (caller, value) in values_handed_over(workflow, template, input) {
        found.extend(workflow_parameters_behind(
            value.as_str(),
            caller,
            workflow,
            seen,
        ));
    }
    if workflow.spec.entrypoint == template
        && workflow
            .spec
            .arguments
            .parameters
            .iter()
            .any(|parameter| parameter.name == input)
    {
        found.insert(input.to_owned());
    }
    let default = workflow.templates.get(template).and_then(|template| {
        let parameter = template
            .inputs
            .parameters
            .iter()
            .find(|parameter| parameter.name == input)?;
        parameter.value.as_ref().or(parameter.default.as_ref())
    });
    if let Some(default) = default
        && found.is_empty()
    {
        found.extend(workflow_parameters_behind(
            default.as_str(),
            template,
            workflow,
            seen,
        ));
    }
    found
}

fn sole_tag(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim();
    (!inner.contains(['{', '}']) && !inner.starts_with('=')).then_some(inner)
}

/// What callers hand to an input of a template: the caller's name and the value as written.
fn values_handed_over<'a>(
    workflow: &'a ResolvedWorkflow,
    template: &str,
    input: &str,
) -> Vec<(&'a str, &'a AnyString)> {
    let mut values = Vec::new();
    for (caller, body) in &workflow.templates {
        let tasks = body
            .dag
            .iter()
            .flat_map(|dag| &dag.tasks)
            .map(|task| (&task.template, &task.arguments));
        let steps = body
            .steps
            .iter()
            .flatten()
            .flatten()
            .map(|step| (&step.template, &step.arguments));
        for (called, arguments) in tasks.chain(steps) {
            if called == template {
                let value = arguments
                    .parameters
                    .iter()
                    .find(|parameter| parameter.name == input);
                values.extend(
                    value.and_then(|parameter| Some((caller.as_str(), parameter.value.as_ref()?))),
                );
            }
        }
    }
    values
}

#[cfg(test)]
mod tests;
