//! A repository on this machine.

use std::path::{Path, PathBuf};

use groundplan_ports::error::{ErrorKind, PortError, PortResult};

use super::{Git, invocation::Invocation};

/// A repository on this machine, with or without files checked out. Cheap to clone.
///
/// Its own settings are read as far as the hardening leaves them; they belong to whoever made it,
/// and no commit changes them.
#[derive(Clone, Debug)]
pub struct Repository {
    pub(super) git: Git,
    pub(super) git_directory: PathBuf,
    /// Where its files are; `None` for a bare one.
    pub(super) work_tree: Option<PathBuf>,
}

impl Git {
    /// Opens the repository whose files are in `directory`, or that is `directory` itself; folders
    /// above it are not searched.
    ///
    /// # Errors
    /// *Not found* where there is none.
    pub async fn repository(&self, directory: &Path) -> PortResult<Repository> {
        let inside = directory.join(".git");
        let (git_directory, work_tree) = if inside.exists() {
            (inside, Some(directory.to_owned()))
        } else {
            (directory.to_owned(), None)
        };
        let repository = Repository {
            git: self.clone(),
            git_directory,
            work_tree,
        };
        let purpose = format!("open the repository `{}`", directory.display());
        repository
            .run(purpose)
            .args(["rev-parse", "--git-dir"])
            .succeed()
            .await?;
        Ok(repository)
    }
}

impl Repository {
    /// Where its files are; `None` for a bare one.
    pub fn work_tree(&self) -> Option<&Path> {
        self.work_tree.as_deref()
    }

    /// A run in this repository, for `purpose`.
    pub(super) fn run(&self, purpose: impl Into<String>) -> Invocation<'_> {
        Invocation::new(&self.git, purpose).variable("GIT_DIR", &self.git_directory)
    }

    /// A run among the repository's files.
    pub(super) fn run_in_work_tree(
        &self,
        purpose: impl Into<String>,
    ) -> PortResult<Invocation<'_>> {
        let Some(work_tree) = &self.work_tree else {
            let repository = self.git_directory.display();
            let message = format!("the repository `{repository}` has no files checked out");
            return Err(PortError::new(ErrorKind::Invalid, message));
        };
        let invocation = self.run(purpose).variable("GIT_WORK_TREE", work_tree);
        Ok(invocation.directory(work_tree))
    }
}
