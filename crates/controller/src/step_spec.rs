//! From what the engine wants started to what a runner is given: pure, with every secret at hand.

mod environment;
mod volumes;

use std::collections::BTreeMap;

use groundplan_engine::{
    action::StepRequest,
    report::{StepEnd, StepOutcome, StepReport},
    time::Timestamp,
};
use groundplan_ports::{
    runner::{CaptureResult, ContainerSpec, Isolation, MountSpec, Network, StepSpec, Take},
    secrets::{ResolvedSecret, SecretRef, SecretSourceKind, SecretValue},
};
use groundplan_workflow::document::{Container, Template, WorkflowSpec};

use crate::{quantity, settings::RunSettings};
use environment::{environment, expanded, unsealed};
use volumes::{read_only_volume, volume_source};

/// Annotation of a template that names outputs which may hold secrets.
pub(crate) const SENSITIVE_OUTPUTS: &str = "groundplan/sensitive-outputs";

/// Everything secret that a run may use, looked up before anything starts.
#[derive(Clone, Debug, Default)]
pub(crate) struct SecretSet {
    /// Values behind references; an optional one that is missing has no entry.
    pub references: BTreeMap<SecretRef, Vec<ResolvedSecret>>,
    /// Values of the variables handed to every step.
    pub passed_variables: BTreeMap<String, SecretValue>,
    /// Values behind tokens of sealed outputs.
    pub sealed: Vec<(String, SecretValue)>,
}

/// What the specification of a step is made from, beside the request.
#[derive(Debug)]
pub(crate) struct StepContext<'a> {
    /// The workflow: its volumes and claims.
    pub workflow: &'a WorkflowSpec,
    /// What the person chose.
    pub settings: &'a RunSettings,
    /// Secret values.
    pub secrets: &'a SecretSet,
    /// When the step is started: its own time begins now.
    pub now: Timestamp,
}

/// Why a step cannot be specified; it becomes the report *start failure*.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unspecifiable {
    #[error("{kind} `{name}` has no key `{key}`; give it with `--secrets FILE`")]
    MissingKey {
        kind: &'static str,
        name: String,
        key: String,
    },
    #[error("{kind} `{name}` is not known; give it with `--secrets FILE`")]
    MissingObject { kind: &'static str, name: String },
    #[error("volume `{0}` is mounted but nowhere declared; give it with `--volume {0}=DIR`")]
    UnknownVolume(String),
    #[error(
        "claim `{claim}` of volume `{volume}` is not known here; give it with `--volume {volume}=DIR`"
    )]
    UnknownClaim { volume: String, claim: String },
    #[error(
        "host path `{0}` may not be mounted; allow it in the machine configuration under `allowed_host_paths`"
    )]
    HostPath(String),
    #[error("`{text}` is no quantity for limit `{name}`")]
    Quantity { name: String, text: String },
    #[error("template `{0}` has neither a container nor a script")]
    NoContainer(String),
}

impl Unspecifiable {
    /// The report that the engine gets in place of a start.
    pub(crate) fn report(&self, at: Timestamp) -> StepReport {
        StepReport::Ended(StepEnd {
            at,
            outcome: StepOutcome::StartFailure {
                message: self.to_string(),
            },
            asked_to_stop: false,
            exit_code: None,
            result: None,
            parameters: BTreeMap::new(),
        })
    }
}

/// Compiles the specification of a step.
pub(crate) fn step_spec(
    request: &StepRequest,
    context: &StepContext<'_>,
) -> Result<StepSpec, Unspecifiable> {
    let template = &request.template;
    let (container, source) = main_container(template)?;
    let main = container_spec(container, source, context)?;
    let mut volumes = BTreeMap::new();
    for mount in &main.mounts {
        if !volumes.contains_key(&mount.volume) {
            volumes.insert(
                mount.volume.clone(),
                volume_source(&mount.volume, request, context)?,
            );
        }
    }
    let settings = context.settings;
    Ok(StepSpec {
        step: request.step.clone(),
        node_name: request.node_name.clone(),
        init: Vec::new(),
        main,
        side: Vec::new(),
        volumes,
        take: outputs_to_take(template),
        capture_result: capture_result(request),
        deadline: deadline(request, context.now),
        grace: Some(std::time::Duration::from_millis(settings.grace_millis)),
        needles: needles(context.secrets),
        network: if settings.network {
            Network::Host
        } else {
            Network::None
        },
        isolation: if settings.sandbox {
            Isolation::Sandbox
        } else {
            Isolation::None
        },
    })
}

/// Every value that must be masked in the outputs of a run's steps, with a name to show for it.
pub(crate) fn needles(secrets: &SecretSet) -> Vec<(String, SecretValue)> {
    let mut needles = Vec::new();
    for (reference, values) in &secrets.references {
        if reference.kind == SecretSourceKind::Secret {
            for value in values {
                needles.push((
                    format!("{}/{}", reference.name, value.key),
                    value.value.clone(),
                ));
            }
        }
    }
    for (name, value) in &secrets.passed_variables {
        if looks_secret(name) {
            needles.push((name.clone(), value.clone()));
        }
    }
    needles.extend(secrets.sealed.iter().cloned());
    needles
}

/// Whether a variable handed in by a person is masked: its name says so.
pub(crate) fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["SECRET", "TOKEN", "PASSW", "KEY", "CREDENTIAL", "AUTH"]
        .iter()
        .any(|word| name.contains(word))
}

fn main_container(template: &Template) -> Result<(&Container, Option<String>), Unspecifiable> {
    if let Some(container) = &template.container {
        return Ok((container, None));
    }
    template
        .script
        .as_ref()
        .map(|script| (&script.container, Some(script.source.clone())))
        .ok_or_else(|| Unspecifiable::NoContainer(template.name.clone()))
}

fn container_spec(
    container: &Container,
    source: Option<String>,
    context: &StepContext<'_>,
) -> Result<ContainerSpec, Unspecifiable> {
    let env = environment(container, context.secrets)?;
    let unseal = |text: &str| unsealed(text, &context.secrets.sealed);
    let words = |words: &[groundplan_workflow::document::AnyString]| -> Vec<String> {
        words
            .iter()
            .map(|word| unseal(&expanded(word.as_str(), &env)))
            .collect()
    };
    let mut mounts: Vec<MountSpec> = container
        .volume_mounts
        .iter()
        .map(|mount| MountSpec {
            volume: mount.name.clone(),
            path: mount.mount_path.clone(),
            sub_path: mount.sub_path.clone(),
            read_only: mount.read_only,
        })
        .collect();
    mounts.extend(
        context
            .settings
            .read_only_paths
            .iter()
            .map(|path| MountSpec {
                volume: read_only_volume(path),
                path: path.display().to_string(),
                sub_path: String::new(),
                read_only: true,
            }),
    );
    Ok(ContainerSpec {
        name: "main".to_owned(),
        image: container.image.clone(),
        command: words(&container.command),
        args: words(&container.args),
        source: source.as_deref().map(unseal),
        working_dir: container.working_dir.clone(),
        mounts,
        memory_limit: limit(container, "memory", quantity::bytes)?,
        cpu_limit_millis: limit(container, "cpu", quantity::millis)?,
        env,
    })
}

fn limit(
    container: &Container,
    name: &str,
    read: impl Fn(&str) -> Option<u64>,
) -> Result<Option<u64>, Unspecifiable> {
    let Some(text) = container
        .resources
        .as_ref()
        .and_then(|resources| resources.limits.get(name))
    else {
        return Ok(None);
    };
    read(text.as_str())
        .map(Some)
        .ok_or_else(|| Unspecifiable::Quantity {
            name: name.to_owned(),
            text: text.0.clone(),
        })
}

fn outputs_to_take(template: &Template) -> Vec<Take> {
    let sensitive = sensitive_outputs(template);
    template
        .outputs
        .parameters
        .iter()
        .filter_map(|parameter| {
            let from = parameter.value_from.as_ref()?;
            Some(Take {
                name: parameter.name.clone(),
                path: from.path.clone()?,
                optional: from.default.is_some(),
                sensitive: sensitive.iter().any(|name| *name == parameter.name),
            })
        })
        .collect()
}

/// The earlier of the run's deadline and the end of the step's own time.
fn deadline(request: &StepRequest, now: Timestamp) -> Option<Timestamp> {
    let own = request
        .timeout_seconds
        .map(|seconds| now.plus_millis(seconds.saturating_mul(1000)));
    request.deadline.into_iter().chain(own).min()
}

fn capture_result(request: &StepRequest) -> CaptureResult {
    if !request.capture_result {
        CaptureResult::No
    } else if sensitive_outputs(&request.template).contains(&"result") {
        CaptureResult::Sensitive
    } else {
        CaptureResult::Plain
    }
}

/// Names of a template's outputs that may hold secrets (`result` for standard output).
pub(crate) fn sensitive_outputs(template: &Template) -> Vec<&str> {
    template
        .metadata
        .as_ref()
        .and_then(|metadata| metadata.annotations.get(SENSITIVE_OUTPUTS))
        .map(|names| {
            names
                .split(',')
                .map(str::trim)
                .filter(|name| !name.is_empty())
                .collect()
        })
        .unwrap_or_default()
}

fn kind_name(kind: SecretSourceKind) -> &'static str {
    match kind {
        SecretSourceKind::Secret => "secret",
        SecretSourceKind::ConfigMap => "config map",
    }
}

#[cfg(test)]
mod tests;
