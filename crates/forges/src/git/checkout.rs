//! Files of a revision in a directory, without a repository around them.

use std::{ffi::OsStr, fs, io, os::unix::ffi::OsStrExt, path::Path};

use groundplan_ports::error::{ErrorKind, PortError, PortResult};
use tempfile::TempDir;

use super::{Repository, invocation::Invocation};

impl Repository {
    /// Writes the files of commit `id` into `directory`, which is made if it is missing.
    ///
    /// It is done from a passing repository that has nothing of this one but its objects: neither
    /// the index nor the settings of this one take part, so that no filter set there runs.
    pub(super) async fn write_files(&self, id: &str, directory: &Path) -> PortResult<()> {
        make_empty(directory)?;
        let objects = self
            .run("find its objects")
            .args([
                "rev-parse",
                "--path-format=absolute",
                "--git-path",
                "objects",
            ])
            .succeed()
            .await?;
        let objects = OsStr::from_bytes(objects.trim_ascii_end());
        let temporary = &self.git.options().temporary;
        let passing = passing_repository(temporary, id).map_err(|error| {
            let message = format!("no index could be made in `{}`", temporary.display());
            PortError::new(ErrorKind::Broken, message).caused_by(error)
        })?;
        let purpose = format!("check `{id}` out into `{}`", directory.display());
        let run = || {
            Invocation::new(&self.git, &*purpose)
                .variable("GIT_DIR", passing.path())
                .variable("GIT_OBJECT_DIRECTORY", objects)
                .variable("GIT_WORK_TREE", directory)
                .directory(directory)
        };
        run().args(["read-tree", id]).succeed().await?;
        run()
            .args(["checkout-index", "--all", "--quiet"])
            .succeed()
            .await?;
        Ok(())
    }
}

/// The least that `git` takes for a repository; deleted when dropped.
fn passing_repository(temporary: &Path, id: &str) -> io::Result<TempDir> {
    let directory = TempDir::with_prefix_in("git-", temporary)?;
    let settings = match id.len() {
        64 => "[core]\nrepositoryFormatVersion = 1\n[extensions]\nobjectFormat = sha256\n",
        _ => "[core]\nrepositoryFormatVersion = 0\n",
    };
    fs::write(directory.path().join("config"), settings)?;
    fs::write(directory.path().join("HEAD"), "ref: refs/heads/none\n")?;
    fs::create_dir(directory.path().join("refs"))?;
    Ok(directory)
}

fn make_empty(directory: &Path) -> PortResult<()> {
    let entries = fs::create_dir_all(directory).and_then(|()| fs::read_dir(directory));
    let mut entries = entries.map_err(|error| {
        let kind = match error.kind() {
            io::ErrorKind::PermissionDenied => ErrorKind::Denied,
            _ => ErrorKind::Broken,
        };
        let message = format!("`{}` can't be used for a checkout", directory.display());
        PortError::new(kind, message).caused_by(error)
    })?;
    if entries.next().is_some() {
        let message = format!("`{}` is not empty", directory.display());
        return Err(PortError::new(ErrorKind::Invalid, message)
            .with_hint("check out into an empty directory"));
    }
    Ok(())
}
