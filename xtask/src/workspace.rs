//! The repository: its root, its files, its crates.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    failure::{Failure, Outcome},
    process,
};

/// The repository that xtask was built from.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
}

/// A crate of the workspace with what it depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Package name.
    pub(crate) name: String,
    /// Whether the manifest takes its licence from the workspace or names it.
    pub(crate) license: Option<String>,
    /// Direct dependencies.
    pub(crate) dependencies: Vec<Dependency>,
    /// Names of its benches.
    pub(crate) benches: Vec<String>,
}

/// One line of a manifest's dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// Package name.
    pub(crate) name: String,
    /// What for.
    pub(crate) kind: DependencyKind,
}

/// What a dependency is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DependencyKind {
    /// The crate itself.
    Normal,
    /// Its build script.
    Build,
    /// Its tests, benches and examples.
    Dev,
}

impl Workspace {
    /// The workspace around xtask's own manifest, or, once moved, around the current folder.
    pub(crate) fn here() -> Outcome<Self> {
        let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let root = match built_from.join("Cargo.toml").is_file() {
            true => built_from.canonicalize(),
            false => std::env::current_dir(),
        };
        let root =
            root.map_err(|error| Failure::new(format!("cannot find the workspace: {error}")))?;
        Ok(Workspace { root })
    }

    /// Its root folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The text of a file; the path is relative to the root.
    pub(crate) fn read(&self, path: &str) -> Outcome<String> {
        fs::read_to_string(self.root.join(path))
            .map_err(|error| Failure::new(format!("cannot read `{path}`: {error}")))
    }

    /// Every file that is or would be committed, relative to the root, in order.
    pub(crate) fn files(&self) -> Outcome<Vec<String>> {
        let listing = process::output(process::program("git", &self.root).args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]))?;
        let mut files: Vec<String> = String::from_utf8_lossy(&listing)
            .split_terminator('\0')
            .map(str::to_owned)
            .filter(|path| self.root.join(path).is_file())
            .collect();
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// The crates of the workspace.
    pub(crate) fn members(&self) -> Outcome<Vec<Member>> {
        let json = process::output(process::cargo(&self.root).args([
            "metadata",
            "--format-version=1",
            "--no-deps",
            "--offline",
        ]))?;
        let metadata: Value = serde_json::from_slice(&json)
            .map_err(|error| Failure::new(format!("cannot read `cargo metadata`: {error}")))?;
        Ok(list(&metadata, "packages").iter().map(member).collect())
    }
}

fn member(package: &Value) -> Member {
    Member {
        name: text(package, "name"),
        license: package["license"].as_str().map(str::to_owned),
        dependencies: list(package, "dependencies")
            .iter()
            .map(dependency)
            .collect(),
        benches: list(package, "targets")
            .iter()
            .filter(|target| list(target, "kind").iter().any(|kind| kind == "bench"))
            .map(|target| text(target, "name"))
            .collect(),
    }
}

fn dependency(entry: &Value) -> Dependency {
    Dependency {
        name: text(entry, "name"),
        kind: match entry["kind"].as_str() {
            Some("dev") => DependencyKind::Dev,
            Some("build") => DependencyKind::Build,
            _ => DependencyKind::Normal,
        },
    }
}

fn list<'value>(value: &'value Value, key: &str) -> &'value [Value] {
    value[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_members_are_read_with_their_dependencies() {
        let members = Workspace::here()
            .and_then(|here| here.members())
            .expect("metadata");
        let store = members
            .iter()
            .find(|member| member.name == "groundplan-store");
        let store = store.expect("store is a member");
        assert!(store.dependencies.contains(&Dependency {
            name: "rusqlite".to_owned(),
            kind: DependencyKind::Normal
        }));
        assert_eq!(store.license.as_deref(), Some("Apache-2.0"));
    }

    #[test]
    fn the_files_are_those_of_the_repository() {
        let files = Workspace::here()
            .and_then(|here| here.files())
            .expect("git lists");
        assert!(files.iter().any(|path| path == "Cargo.lock"));
        assert!(!files.iter().any(|path| path.starts_with("target/")));
    }
}
