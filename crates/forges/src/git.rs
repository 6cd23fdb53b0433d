//! The `git` program: found, checked, and run in one way only.

mod access;
mod checkout;
mod invocation;
mod remote;
mod repository;
mod scratch;
mod transfer;
mod tree;

use std::{ffi::OsString, path::PathBuf, sync::Arc};

use groundplan_ports::error::{ErrorKind, PortError, PortResult};

use self::invocation::Invocation;
pub use self::{
    access::Credentials,
    remote::{Remote, RemoteUrl},
    repository::Repository,
    scratch::{BranchStart, Signature},
    transfer::CloneShape,
};

/// The oldest `git` whose options we use.
const OLDEST: (u32, u32) = (2, 39);

/// How `git` is run. There are no hidden defaults.
#[derive(Clone, Debug)]
pub struct GitOptions {
    /// The program: a path, or a name that is looked up in `path`.
    pub program: PathBuf,
    /// `PATH` of what is run: `git` looks `ssh` up there.
    pub path: OsString,
    /// Further variables, such as `https_proxy`, `no_proxy` and `GIT_SSL_CAINFO`; nothing else of
    /// the environment is seen. No secrets.
    pub environment: Vec<(String, OsString)>,
    /// A directory of ours for what lives as long as one call: keys, credentials, indexes. What is
    /// in it is readable by us only, and deleted after the call.
    pub temporary: PathBuf,
}

/// A `git` program that is new enough. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Git {
    options: Arc<GitOptions>,
    version: Arc<str>,
}

impl Git {
    /// Asks the program for its version.
    ///
    /// # Errors
    /// *Not found* where there is no such program, *broken* where it is too old or no git.
    pub async fn open(options: GitOptions) -> PortResult<Self> {
        let unchecked = Git {
            options: Arc::new(options),
            version: "".into(),
        };
        let output = Invocation::new(&unchecked, "ask for its version")
            .arg("--version")
            .succeed()
            .await?;
        let text = String::from_utf8_lossy(&output);
        let words = text.trim().strip_prefix("git version ");
        let Some(version) = words.and_then(|words| words.split(' ').next()) else {
            let program = unchecked.options.program.display();
            let message = format!("`{program}` does not say its version as git does");
            return Err(PortError::new(ErrorKind::Broken, message));
        };
        if numbers(version).is_none_or(|version| version < OLDEST) {
            let message = format!("git {version} is too old");
            let (major, minor) = OLDEST;
            return Err(PortError::new(ErrorKind::Broken, message)
                .with_hint(format!("install git {major}.{minor} or later")));
        }
        Ok(Git {
            version: version.into(),
            ..unchecked
        })
    }

    /// The version, as the program says it.
    pub fn version(&self) -> &str {
        &self.version
    }

    fn options(&self) -> &GitOptions {
        &self.options
    }
}

fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}
