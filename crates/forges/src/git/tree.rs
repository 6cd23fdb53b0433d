//! Reading revisions: the port `SourceTree`.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Component, Path, PathBuf},
};

use async_trait::async_trait;
use groundplan_ports::{
    error::{ErrorKind, PortError, PortResult},
    source_tree::SourceTree,
};

use super::Repository;

/// Files above this size are not read.
const MOST_BYTES: u64 = 64 << 20;

#[async_trait]
impl SourceTree for Repository {
    async fn resolve(&self, revision: &str) -> PortResult<String> {
        check_revision(revision)?;
        let mut run = self
            .run(format!("look up the revision `{revision}`"))
            .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
            .arg(format!("{revision}^{{commit}}"));
        let ended = run.run().await?;
        match ended.code {
            Some(0) => Ok(String::from_utf8_lossy(&ended.output).trim().to_owned()),
            Some(1) => Err(PortError::new(
                ErrorKind::NotFound,
                format!("there is no revision `{revision}`"),
            )),
            _ => Err(run.failed(&ended)),
        }
    }

    async fn changed_paths(&self, base: &str, head: &str) -> PortResult<Vec<PathBuf>> {
        let base_id = self.resolve(base).await?;
        let head_id = self.resolve(head).await?;
        let mut run = self
            .run(format!("find where `{base}` and `{head}` part"))
            .args(["merge-base", &base_id, &head_id]);
        let ended = run.run().await?;
        let merge_base = match ended.code {
            Some(0) => String::from_utf8_lossy(&ended.output).trim().to_owned(),
            Some(1) => return Err(no_merge_base(base, head)),
            _ => return Err(run.failed(&ended)),
        };
        // Without the search for renames, both sides of one are there: as deleted and as added.
        let output = self
            .run(format!("compare `{base}` and `{head}`"))
            .args(["diff-tree", "-r", "-z", "--name-only", "--no-renames"])
            .args(["--ignore-submodules=none", "--no-ext-diff", "--no-textconv"])
            .args([&merge_base, &head_id])
            .succeed()
            .await?;
        Ok(sorted(records(&output).map(path_of)))
    }

    async fn list(&self, revision: &str) -> PortResult<Vec<PathBuf>> {
        let id = self.resolve(revision).await?;
        let output = self
            .run(format!("list the files of `{revision}`"))
            .args(["ls-tree", "-r", "-z", "--full-tree", &id])
            .succeed()
            .await?;
        let entries = records(&output).filter_map(Entry::parse);
        Ok(sorted(
            entries
                .filter(|entry| entry.kind != Kind::Submodule)
                .map(|entry| entry.path),
        ))
    }

    async fn read(&self, revision: &str, path: &Path) -> PortResult<Vec<u8>> {
        let shown = path.display();
        let bytes = tree_path(path)?;
        let id = self.resolve(revision).await?;
        let output = self
            .run(format!("look up `{shown}` in `{revision}`"))
            .args(["ls-tree", "-z", "-l", "--full-tree", &id, "--"])
            .arg(&bytes)
            .succeed()
            .await?;
        let refused = |kind, fault: &str| {
            Err(PortError::new(
                kind,
                format!("`{shown}` in `{revision}` {fault}"),
            ))
        };
        let entry = records(&output).find_map(Entry::parse);
        let Some(entry) = entry.filter(|entry| entry.path.as_os_str() == bytes) else {
            return refused(ErrorKind::NotFound, "does not exist");
        };
        match entry.kind {
            Kind::File if entry.size <= MOST_BYTES => {}
            Kind::File => return refused(ErrorKind::Invalid, "is too large to be read"),
            Kind::Link => return refused(ErrorKind::Invalid, "is a symbolic link"),
            Kind::Directory => return refused(ErrorKind::Invalid, "is a directory"),
            Kind::Submodule => return refused(ErrorKind::Invalid, "is a submodule"),
        }
        self.run(format!("read `{shown}` in `{revision}`"))
            .args(["cat-file", "blob", &entry.object])
            .succeed()
            .await
    }

    async fn check_out(&self, revision: &str, directory: &Path) -> PortResult<()> {
        let id = self.resolve(revision).await?;
        self.write_files(&id, directory).await
    }
}

/// Refuses what could be taken for an option or for more than one revision.
pub(super) fn check_revision(revision: &str) -> PortResult<()> {
    let harmful = |c: char| c.is_control() || c.is_whitespace() || c == ':';
    if revision.is_empty() || revision.starts_with(['-', '^']) || revision.contains(harmful) {
        let shown: String = revision.chars().flat_map(char::escape_default).collect();
        let message = format!("`{shown}` is no revision");
        return Err(PortError::new(ErrorKind::Invalid, message)
            .with_hint("name a branch, a tag or a commit"));
    }
    Ok(())
}

fn no_merge_base(base: &str, head: &str) -> PortError {
    let message = format!("`{base}` and `{head}` have no common commit");
    PortError::new(ErrorKind::Invalid, message)
        .with_hint("where the history is cut off (a shallow clone), fetch all of it")
}

/// A path as it stands in a tree: parts with a slash between, none of them `..`.
fn tree_path(path: &Path) -> PortResult<OsString> {
    let mut bytes = Vec::new();
    let mut inside = path.components().next().is_some();
    for part in path.components() {
        if !bytes.is_empty() {
            bytes.push(b'/');
        }
        match part {
            Component::Normal(part) => bytes.extend_from_slice(part.as_bytes()),
            _ => inside = false,
        }
    }
    if !inside {
        let message = format!("`{}` is no path within a repository", path.display());
        return Err(PortError::new(ErrorKind::Invalid, message));
    }
    Ok(OsString::from_vec(bytes))
}

fn records(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output
        .split(|byte| *byte == 0)
        .filter(|record| !record.is_empty())
}

fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// In the order of bytes, each once. (`Path` would compare part by part.)
fn sorted(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = paths.collect();
    paths.sort_by(|left, right| left.as_os_str().cmp(right.as_os_str()));
    paths.dedup();
    paths
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Link,
    Directory,
    Submodule,
}

/// A line of `ls-tree`: mode, type, object, perhaps a size; a tab; the path.
struct Entry {
    kind: Kind,
    object: String,
    size: u64,
    path: PathBuf,
}

impl Entry {
    fn parse(record: &[u8]) -> Option<Self> {
        let tab = record.iter().position(|byte| *byte == b'\t')?;
        let head = std::str::from_utf8(&record[..tab]).ok()?;
        let mut words = head.split_ascii_whitespace();
        let (mode, kind) = (words.next()?, words.next()?);
        Some(Entry {
            kind: match (mode, kind) {
                ("120000", _) => Kind::Link,
                (_, "tree") => Kind::Directory,
                (_, "commit") => Kind::Submodule,
                _ => Kind::File,
            },
            object: words.next()?.to_owned(),
            size: words.next().and_then(|size| size.parse().ok()).unwrap_or(0),
            path: path_of(&record[tab + 1..]),
        })
    }
}
