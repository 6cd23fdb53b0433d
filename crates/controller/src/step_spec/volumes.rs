//! What is behind the volumes that a container mounts.

use std::path::{Component, Path, PathBuf};

use groundplan_engine::action::StepRequest;
use groundplan_ports::{
    runner::{FileSpec, VolumeSource},
    secrets::{ResolvedSecret, SecretRef, SecretSourceKind},
};
use groundplan_workflow::document::{SelectorItem, Volume};

use super::{SecretSet, StepContext, Unspecifiable, kind_name};

pub(super) fn volume_source(
    name: &str,
    request: &StepRequest,
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
    let declared = request
        .template
        .volumes
        .iter()
        .chain(&request.volumes)
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
        let path = PathBuf::from(&host.path);
        let allowed = context
            .settings
            .allowed_host_paths
            .iter()
            .any(|allowed| path.starts_with(allowed));
        let plain = !path
            .components()
            .any(|part| matches!(part, Component::ParentDir));
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

/// Name of the volume behind a path that every step may read.
pub(super) fn read_only_volume(path: &Path) -> String {
    format!("bind-ro:{}", path.display())
}
