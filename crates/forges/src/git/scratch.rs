//! Making a repository and commits: for demonstrations and tests of a whole road.

use std::path::Path;

use groundplan_ports::{
    error::{ErrorKind, PortError, PortResult},
    source_tree::SourceTree,
};

use super::{Git, Repository, invocation::Invocation, tree::check_revision};

/// Who commits, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Name.
    pub name: String,
    /// Mail address.
    pub email: String,
    /// Seconds since 1970-01-01T00:00:00Z.
    pub seconds: i64,
}

/// Where a branch comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchStart {
    /// It is there.
    Existing,
    /// It is made from the commit that is checked out.
    New,
}

impl Git {
    /// Makes the files of `directory` a repository whose first branch is `branch`; nothing is
    /// committed yet.
    ///
    /// # Errors
    /// *Conflict* where it is one already.
    pub async fn init(&self, directory: &Path, branch: &str) -> PortResult<Repository> {
        if directory.join(".git").exists() {
            let message = format!("`{}` is a repository already", directory.display());
            return Err(PortError::new(ErrorKind::Conflict, message));
        }
        Invocation::new(self, format!("make `{}` a repository", directory.display()))
            .args(["init", "--quiet", "--template="])
            .arg(format!("--initial-branch={branch}"))
            .arg("--")
            .arg(directory)
            .succeed()
            .await?;
        self.repository(directory).await
    }
}

impl Repository {
    /// Commits every change among the files, as `.gitignore` has it, and answers the commit's id.
    ///
    /// # Errors
    /// *Invalid* where nothing changed.
    pub async fn commit_all(&self, message: &str, signature: &Signature) -> PortResult<String> {
        self.run_in_work_tree("take up the changes")?
            .args(["add", "--all"])
            .succeed()
            .await?;
        let mut changes = self.run_in_work_tree("look for changes")?.args([
            "diff",
            "--cached",
            "--quiet",
            "--no-ext-diff",
        ]);
        let ended = changes.run().await?;
        match ended.code {
            Some(1) => {}
            Some(0) => {
                let message = "there is nothing to commit";
                return Err(PortError::new(ErrorKind::Invalid, message));
            }
            _ => return Err(changes.failed(&ended)),
        }
        let date = format!("@{} +0000", signature.seconds);
        self.run_in_work_tree("commit the changes")?
            .variable("GIT_AUTHOR_NAME", &signature.name)
            .variable("GIT_AUTHOR_EMAIL", &signature.email)
            .variable("GIT_AUTHOR_DATE", &date)
            .variable("GIT_COMMITTER_NAME", &signature.name)
            .variable("GIT_COMMITTER_EMAIL", &signature.email)
            .variable("GIT_COMMITTER_DATE", &date)
            .args(["commit", "--quiet", "--cleanup=verbatim", "--file=-"])
            .input(message)
            .succeed()
            .await?;
        self.resolve("HEAD").await
    }

    /// Checks a branch out among the files.
    ///
    /// # Errors
    /// Where the branch is missing, is there already, or local changes would be lost.
    pub async fn switch(&self, branch: &str, start: BranchStart) -> PortResult<()> {
        check_revision(branch)?;
        let args: &[&str] = match start {
            BranchStart::Existing => &["--no-guess"],
            BranchStart::New => &["--create"],
        };
        self.run_in_work_tree(format!("switch to the branch `{branch}`"))?
            .args(["switch", "--quiet"])
            .args(args)
            .arg(branch)
            .succeed()
            .await?;
        Ok(())
    }
}
