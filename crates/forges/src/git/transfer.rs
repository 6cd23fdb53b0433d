//! Cloning and fetching.

use std::path::Path;

use groundplan_ports::error::PortResult;

use super::{Git, Remote, Repository, access::Access, invocation::Invocation};

/// What a clone has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloneShape {
    /// The repository alone.
    Bare,
    /// The files of its main branch as well.
    WithFiles,
}

impl Git {
    /// Clones all branches and tags, with their whole history, into `directory`, which is empty or
    /// missing. Submodules are left alone. After a failure the directory is as it was; cancelled,
    /// it may hold a part.
    ///
    /// # Errors
    /// *Denied* without the right credentials or with a host key that is not the pinned one; *not
    /// found*; *transient* where the network failed.
    pub async fn clone_repository(
        &self,
        remote: &Remote,
        directory: &Path,
        shape: CloneShape,
    ) -> PortResult<Repository> {
        let access = Access::prepare(self, remote)?;
        let invocation = Invocation::new(self, format!("clone `{}`", remote.url));
        let shape_arg = match shape {
            CloneShape::Bare => Some("--bare"),
            CloneShape::WithFiles => None,
        };
        access
            .open(invocation)?
            .args(["clone", "--quiet", "--template=", "--no-local"])
            .args(shape_arg)
            .args(["--", &remote.url.to_string()])
            .arg(directory)
            .succeed()
            .await?;
        self.repository(directory).await
    }
}

impl Repository {
    /// Fetches `refspecs`, such as `+refs/heads/*:refs/heads/*`, and nothing else. Repeating it is
    /// harmless; cancelled, some of them may be there.
    ///
    /// # Errors
    /// As cloning.
    pub async fn fetch(&self, remote: &Remote, refspecs: &[&str]) -> PortResult<()> {
        let access = Access::prepare(&self.git, remote)?;
        let invocation = self.run(format!("fetch from `{}`", remote.url));
        access
            .open(invocation)?
            .args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"])
            .args([
                "--no-recurse-submodules",
                "--no-auto-maintenance",
                "--update-head-ok",
            ])
            .args(["--", &remote.url.to_string()])
            .args(refspecs)
            .succeed()
            .await?;
        Ok(())
    }
}
