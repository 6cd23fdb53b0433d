//! checkov from a Python index, in a virtual environment of its own.

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use super::{
    bounded,
    cache::{Origin, Staging},
    error::ToolError,
    locate::in_search_path,
    progress::{Progress, Tell, Way},
    release::Mirror,
    tool::Tool,
};

const REQUIREMENTS: &str = include_str!("../../../../tools/checkov/requirements.lock");

const PACKAGE: &str = "checkov==3.3.30";

/// A virtual environment is not movable: its scripts name the Python of the folder it was made in.
/// This one finds its folder by itself.
const LAUNCHER: &str = r#"#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here/../venv/bin/python" -I "$here/../venv/bin/checkov" "$@"
"#;

/// Where wheels come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wheels {
    /// The index that pip is configured for.
    Index,
    /// A folder of wheels, and nothing else.
    Folder(PathBuf),
}

impl Wheels {
    /// The source for a mirror; `None` where nothing may be fetched and there is no folder.
    pub(super) fn of(mirror: Option<&Mirror>, offline: bool) -> Option<Wheels> {
        let folder = match mirror {
            Some(Mirror::Folder(folder)) => Some(folder.join("wheels")),
            Some(Mirror::Url(_)) | None => None,
        };
        match folder.filter(|folder| folder.is_dir()) {
            Some(folder) => Some(Wheels::Folder(folder)),
            None if offline => None,
            None => Some(Wheels::Index),
        }
    }
}

/// Puts checkov together; `place` is where the folder will be in the end.
pub(super) fn obtain(
    wheels: &Wheels,
    search_path: &OsStr,
    staging: &Staging,
    place: &Path,
    tell: &mut Tell<'_>,
) -> Result<Origin, ToolError> {
    let tool = Tool::Checkov.name();
    tell(Progress::Started {
        tool,
        way: Way::PythonPackages,
        from: PACKAGE,
    });
    let base = find_python(search_path)?;
    let venv = staging.path().join("venv");
    let mut line = |line: &str| tell(Progress::Line { tool, line });
    let mut make = isolated(&base);
    make.args(["-m", "venv"]).arg(&venv);
    bounded::run_telling("python -m venv", make, &mut line)?;
    let python = venv.join("bin/python");
    let lock = staging.path().join("requirements.lock");
    fs::write(&lock, REQUIREMENTS).map_err(|source| ToolError::write(&lock, source))?;
    bounded::run_telling("pip install", install(&python, &lock, wheels), &mut line)?;
    let mut compile = isolated(&python);
    compile
        .args(["-m", "compileall", "-q", "-j", "0", "-s"])
        .arg(staging.path())
        .arg("-p")
        .arg(place)
        .arg(venv.join("lib"));
    // A file for another Python does not compile, and is never imported: no reason to stop.
    match bounded::run_telling("python -m compileall", compile, &mut |_| {}) {
        Ok(()) | Err(ToolError::Command { .. }) => {}
        Err(error) => return Err(error),
    }
    let launcher = staging.program(Tool::Checkov)?;
    let written = |source| ToolError::write(&launcher, source);
    fs::write(&launcher, LAUNCHER).map_err(written)?;
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).map_err(written)?;
    Ok(Origin::PythonPackages {
        package: PACKAGE.to_owned(),
    })
}

fn install(python: &Path, lock: &Path, wheels: &Wheels) -> Command {
    let mut command = Command::new(python);
    command
        .args(["-m", "pip", "install", "--no-input", "--no-compile"])
        .args(["--disable-pip-version-check", "--no-warn-script-location"])
        // Wheels only: building a package would run code and fetch tools that no digest pins.
        .args(["--require-hashes", "--no-deps", "--only-binary", ":all:"])
        .args(["--progress-bar", "off"])
        .arg("--requirement")
        .arg(lock)
        .env_remove("PYTHONPATH")
        .env_remove("PYTHONHOME")
        .env_remove("PIP_TARGET")
        .env_remove("PIP_USER");
    if let Wheels::Folder(folder) = wheels {
        command.arg("--no-index").arg("--find-links").arg(folder);
    }
    command
}

fn isolated(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.arg("-I");
    command
}

/// A Python that can make virtual environments; the system's own first, since every sandbox shows
/// it.
fn find_python(search_path: &OsStr) -> Result<PathBuf, ToolError> {
    [
        Some(PathBuf::from("/usr/bin/python3")),
        in_search_path("python3", search_path),
    ]
    .into_iter()
    .flatten()
    .find(|path| is_usable(path))
    .ok_or(ToolError::NoPython)
}

fn is_usable(python: &Path) -> bool {
    let mut command = isolated(python);
    command.args([
        "-c",
        "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))",
    ]);
    bounded::run(&mut command, Duration::from_secs(60))
        .is_ok_and(|finished| finished.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_file_pins_the_package_and_a_digest_of_every_other() {
        assert!(REQUIREMENTS.lines().any(|line| line.starts_with(PACKAGE)));
        assert!(PACKAGE.ends_with(Tool::Checkov.pinned().unwrap()));
        let joined = REQUIREMENTS.replace("\\\n", " ");
        for requirement in joined.lines().filter(|line| !line.trim().is_empty()) {
            assert!(requirement.contains("=="), "{requirement}");
            assert!(requirement.contains("--hash=sha256:"), "{requirement}");
        }
    }

    #[test]
    fn nothing_is_fetched_offline() {
        let folder = tempfile::tempdir().unwrap();
        let mirror = Mirror::Folder(folder.path().to_owned());
        assert_eq!(Wheels::of(Some(&mirror), true), None);
        assert_eq!(Wheels::of(None, true), None);
        assert_eq!(Wheels::of(Some(&mirror), false), Some(Wheels::Index));
        let wheels = folder.path().join("wheels");
        fs::create_dir(&wheels).unwrap();
        assert_eq!(
            Wheels::of(Some(&mirror), true),
            Some(Wheels::Folder(wheels))
        );
    }
}
