//! From what the engine wants started to what a runner is given: pure, with every secret at hand.

use std::collections::BTreeMap;

use groundplan_engine::{
    action::StepRequest,
    report::{StepEnd, StepOutcome, StepReport},
    time::Timestamp,
};
use groundplan_ports::{
    runner::{
        CaptureResult, ContainerSpec, EnvValue, FileSpec, Isolation, MountSpec, Network, StepSpec,
        Take, VolumeSource,
    },
    secrets::{ResolvedSecret, SecretRef, SecretSourceKind, SecretValue},
};
use groundplan_workflow::document::{
    Container, EnvFromSource, EnvVar, KeySelector, SelectorItem, Template, Volume, WorkflowSpec,
};

use crate::{quantity, settings::RunSettings};

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
                volume_source(&mount.volume, template, context)?,
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
        deadline: request.deadline,
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

fn read_only_volume(path: &std::path::Path) -> String {
    format!("bind-ro:{}", path.display())
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

fn environment(container: &Container, secrets: &SecretSet) -> Result<Vec<EnvValue>, Unspecifiable> {
    let mut env: Vec<EnvValue> = secrets
        .passed_variables
        .iter()
        .map(|(name, value)| EnvValue {
            name: name.clone(),
            value: value.clone(),
            secret: looks_secret(name),
        })
        .collect();
    for from in &container.env_from {
        variables_from(from, secrets, &mut env)?;
    }
    for variable in &container.env {
        if let Some(value) = variable_value(variable, secrets, &env)? {
            env.retain(|known| known.name != variable.name);
            env.push(value);
        }
    }
    Ok(env)
}

fn variables_from(
    from: &EnvFromSource,
    secrets: &SecretSet,
    env: &mut Vec<EnvValue>,
) -> Result<(), Unspecifiable> {
    let sources = [
        (SecretSourceKind::Secret, from.secret_ref.as_ref()),
        (SecretSourceKind::ConfigMap, from.config_map_ref.as_ref()),
    ];
    for (kind, object) in sources {
        let Some(object) = object else { continue };
        let reference = SecretRef {
            kind,
            name: object.name.clone(),
            key: None,
        };
        match secrets.references.get(&reference) {
            Some(values) => env.extend(values.iter().map(|value| EnvValue {
                name: format!("{}{}", from.prefix, value.key),
                value: value.value.clone(),
                secret: kind == SecretSourceKind::Secret,
            })),
            None if object.optional == Some(true) => {}
            None => {
                return Err(Unspecifiable::MissingObject {
                    kind: kind_name(kind),
                    name: object.name.clone(),
                });
            }
        }
    }
    Ok(())
}

fn variable_value(
    variable: &EnvVar,
    secrets: &SecretSet,
    env: &[EnvValue],
) -> Result<Option<EnvValue>, Unspecifiable> {
    let name = variable.name.clone();
    if let Some(from) = &variable.value_from {
        let sources = [
            (SecretSourceKind::Secret, from.secret_key_ref.as_ref()),
            (
                SecretSourceKind::ConfigMap,
                from.config_map_key_ref.as_ref(),
            ),
        ];
        for (kind, selector) in sources {
            let Some(selector) = selector else { continue };
            let value = key_value(kind, selector, secrets)?;
            return Ok(value.map(|value| EnvValue {
                name,
                value,
                secret: kind == SecretSourceKind::Secret,
            }));
        }
        return Ok(None);
    }
    let text = variable.value.as_ref().map_or("", |value| value.as_str());
    let plain = expanded(text, env);
    let value = unsealed(&plain, &secrets.sealed);
    Ok(Some(EnvValue {
        name,
        secret: value != plain,
        value: SecretValue::new(value),
    }))
}

fn key_value(
    kind: SecretSourceKind,
    selector: &KeySelector,
    secrets: &SecretSet,
) -> Result<Option<SecretValue>, Unspecifiable> {
    let reference = SecretRef {
        kind,
        name: selector.name.clone(),
        key: Some(selector.key.clone()),
    };
    match secrets
        .references
        .get(&reference)
        .and_then(|values| values.first())
    {
        Some(value) => Ok(Some(value.value.clone())),
        None if selector.optional == Some(true) => Ok(None),
        None => Err(Unspecifiable::MissingKey {
            kind: kind_name(kind),
            name: selector.name.clone(),
            key: selector.key.clone(),
        }),
    }
}

fn kind_name(kind: SecretSourceKind) -> &'static str {
    match kind {
        SecretSourceKind::Secret => "secret",
        SecretSourceKind::ConfigMap => "config map",
    }
}

/// Kubernetes' `$(NAME)`: replaced where the variable is known, `$$` stands for `$`.
fn expanded(text: &str, env: &[EnvValue]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("$$(") {
            out.push_str("$(");
            rest = after;
        } else if let Some((name, after)) = rest
            .strip_prefix("$(")
            .and_then(|inner| inner.split_once(')'))
            && let Some(value) = env.iter().rev().find(|value| value.name == name)
        {
            out.push_str(&String::from_utf8_lossy(value.value.expose()));
            rest = after;
        } else {
            out.push('$');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    out
}

fn unsealed(text: &str, sealed: &[(String, SecretValue)]) -> String {
    let mut text = text.to_owned();
    for (token, value) in sealed {
        if text.contains(token.as_str()) {
            text = text.replace(token.as_str(), &String::from_utf8_lossy(value.expose()));
        }
    }
    text
}

fn volume_source(
    name: &str,
    template: &Template,
    context: &StepContext<'_>,
) -> Result<VolumeSource, Unspecifiable> {
    let settings = context.settings;
    if let Some(path) = settings
        .read_only_paths
        .iter()
        .find(|path| read_only_volume(path) == name)
    {
        return Ok(VolumeSource::Directory(path.clone()));
    }
    if let Some(directory) = settings.volumes.get(name) {
        return Ok(VolumeSource::Directory(directory.clone()));
    }
    if context
        .workflow
        .volume_claim_templates
        .iter()
        .any(|claim| claim.metadata.name == name)
    {
        return Ok(VolumeSource::Claim(name.to_owned()));
    }
    let declared = template
        .volumes
        .iter()
        .chain(&context.workflow.volumes)
        .find(|volume| volume.name == name);
    declared
        .ok_or_else(|| Unspecifiable::UnknownVolume(name.to_owned()))
        .and_then(|volume| declared_source(volume, context))
}

fn declared_source(
    volume: &Volume,
    context: &StepContext<'_>,
) -> Result<VolumeSource, Unspecifiable> {
    let secrets = context.secrets;
    if let Some(source) = &volume.secret {
        let mode = source.default_mode.unwrap_or(0o644);
        let optional = source.optional == Some(true);
        let kind = SecretSourceKind::Secret;
        return files(
            kind,
            &source.secret_name,
            &source.items,
            mode,
            optional,
            secrets,
        )
        .map(VolumeSource::Files);
    }
    if let Some(source) = &volume.config_map {
        let mode = source.default_mode.unwrap_or(0o644);
        let optional = source.optional == Some(true);
        let kind = SecretSourceKind::ConfigMap;
        return files(kind, &source.name, &source.items, mode, optional, secrets)
            .map(VolumeSource::Files);
    }
    if let Some(host) = &volume.host_path {
        let path = std::path::PathBuf::from(&host.path);
        let allowed = context
            .settings
            .allowed_host_paths
            .iter()
            .any(|allowed| path.starts_with(allowed));
        let plain = !path
            .components()
            .any(|part| matches!(part, std::path::Component::ParentDir));
        return if allowed && plain {
            Ok(VolumeSource::Directory(path))
        } else {
            Err(Unspecifiable::HostPath(host.path.clone()))
        };
    }
    if let Some(claim) = &volume.persistent_volume_claim {
        return context
            .settings
            .volumes
            .get(&claim.claim_name)
            .cloned()
            .map(VolumeSource::Directory)
            .ok_or_else(|| Unspecifiable::UnknownClaim {
                volume: volume.name.clone(),
                claim: claim.claim_name.clone(),
            });
    }
    Ok(VolumeSource::Empty)
}

fn files(
    kind: SecretSourceKind,
    name: &str,
    items: &[SelectorItem],
    mode: u32,
    optional: bool,
    secrets: &SecretSet,
) -> Result<Vec<FileSpec>, Unspecifiable> {
    let secret = kind == SecretSourceKind::Secret;
    let reference = SecretRef {
        kind,
        name: name.to_owned(),
        key: None,
    };
    let Some(values) = secrets.references.get(&reference) else {
        return if optional {
            Ok(Vec::new())
        } else {
            Err(Unspecifiable::MissingObject {
                kind: kind_name(kind),
                name: name.to_owned(),
            })
        };
    };
    let file = |path: &str, value: &ResolvedSecret, mode: u32| FileSpec {
        path: path.to_owned(),
        content: value.value.clone(),
        secret,
        mode,
    };
    if items.is_empty() {
        return Ok(values
            .iter()
            .map(|value| file(&value.key, value, mode))
            .collect());
    }
    items
        .iter()
        .map(|item| {
            let value = values
                .iter()
                .find(|value| value.key == item.key)
                .ok_or_else(|| Unspecifiable::MissingKey {
                    kind: kind_name(kind),
                    name: name.to_owned(),
                    key: item.key.clone(),
                })?;
            Ok(file(&item.path, value, item.mode.unwrap_or(mode)))
        })
        .collect()
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
