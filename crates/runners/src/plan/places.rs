//! What is behind the mounts of a step.

use std::path::PathBuf;

use groundplan_engine::report::StepOutcome;
use groundplan_ports::runner::{FileSpec, MountSpec, StepSpec, VolumeSource};

use super::refused;
use crate::{order::PlacedFile, process::Options, step_dir::StepDir};

/// What is really behind a mount.
pub(super) enum Place {
    /// A directory, and the path below it.
    Folder(PathBuf, String),
    Files(Vec<PlacedFile>),
    File(PlacedFile),
}

/// Every mount of the main container with what is behind it, parents before children.
pub(super) fn places<'a>(
    spec: &'a StepSpec,
    dir: &StepDir,
    options: &Options,
) -> Result<Vec<(&'a MountSpec, Place)>, StepOutcome> {
    let mut places = Vec::new();
    for mount in &spec.main.mounts {
        places.push((mount, place(spec, mount, dir, options)?));
    }
    places.sort_by_key(|(mount, _)| components(&mount.path).count());
    Ok(places)
}

fn place(
    spec: &StepSpec,
    mount: &MountSpec,
    dir: &StepDir,
    options: &Options,
) -> Result<Place, StepOutcome> {
    if !is_absolute_and_plain(&mount.path) {
        return Err(refused(
            format!("mount path `{}` is not absolute or holds `..`", mount.path),
            "give the whole path from `/` on",
        ));
    }
    if covers_the_sandbox(&mount.path) {
        return Err(refused(
            format!(
                "nothing can be mounted at `{}`, which every step needs",
                mount.path
            ),
            "choose another mount path",
        ));
    }
    if components(&mount.sub_path).any(|part| part == "..") || mount.sub_path.starts_with('/') {
        return Err(refused(
            format!("`subPath: {}` leaves its volume", mount.sub_path),
            "name a path below the volume's root",
        ));
    }
    let source = spec.volumes.get(&mount.volume).ok_or_else(|| {
        refused(
            format!("volume `{}` is mounted and nowhere defined", mount.volume),
            "add it under `volumes`",
        )
    })?;
    let folder = match source {
        VolumeSource::Directory(path) => path.clone(),
        VolumeSource::Claim(claim) => options.claim_directory(&spec.step.run, claim),
        VolumeSource::Empty => dir.file("volumes").join(&mount.volume),
        VolumeSource::Files(files) => return files_place(files, mount),
    };
    Ok(Place::Folder(folder, mount.sub_path.clone()))
}

fn files_place(files: &[FileSpec], mount: &MountSpec) -> Result<Place, StepOutcome> {
    let placed = |path: &str, file: &FileSpec| PlacedFile {
        path: path.to_owned(),
        mode: file.mode,
        content: file.content.clone(),
    };
    if let Some(bad) = files
        .iter()
        .find(|file| file.path.starts_with('/') || components(&file.path).any(|part| part == ".."))
    {
        return Err(refused(
            format!("file `{}` leaves its volume", bad.path),
            "name a path below the volume's root",
        ));
    }
    if mount.sub_path.is_empty() {
        let files = files.iter().map(|file| placed(&file.path, file)).collect();
        return Ok(Place::Files(files));
    }
    if let Some(file) = files.iter().find(|file| file.path == mount.sub_path) {
        return Ok(Place::File(placed(&file.path, file)));
    }
    let below = format!("{}/", mount.sub_path.trim_end_matches('/'));
    let files: Vec<PlacedFile> = files
        .iter()
        .filter_map(|file| Some(placed(file.path.strip_prefix(&below)?, file)))
        .collect();
    if files.is_empty() {
        return Err(refused(
            format!("volume `{}` has no `{}`", mount.volume, mount.sub_path),
            "check `subPath` and the keys of the secret or config map",
        ));
    }
    Ok(Place::Files(files))
}

fn components(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty())
}

/// Whether a mount there would hide what makes the sandbox; its own folders would then be made
/// within the volume.
fn covers_the_sandbox(path: &str) -> bool {
    let parts: Vec<&str> = components(path).filter(|part| *part != ".").collect();
    matches!(
        parts[..],
        [] | ["usr" | "dev" | "run"] | ["proc", ..] | ["run", "groundplan", ..]
    )
}

fn is_absolute_and_plain(path: &str) -> bool {
    path.starts_with('/') && components(path).all(|part| part != "..") && !path.contains('\0')
}
