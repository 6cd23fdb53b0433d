//! A git repository, read without a checkout.

use std::path::{Path, PathBuf};

use async_trait::async_trait;

use crate::error::PortResult;

/// A repository at some place.
#[async_trait]
pub trait SourceTree: Send + Sync {
    /// The full commit id of a revision; *not found* where there is none.
    async fn resolve(&self, revision: &str) -> PortResult<String>;

    /// Paths that differ between the merge base of two revisions and `head`, both sides of renames,
    /// sorted.
    async fn changed_paths(&self, base: &str, head: &str) -> PortResult<Vec<PathBuf>>;

    /// Every file of a revision, sorted.
    async fn list(&self, revision: &str) -> PortResult<Vec<PathBuf>>;

    /// A file's bytes at a revision.
    async fn read(&self, revision: &str, path: &Path) -> PortResult<Vec<u8>>;

    /// Puts a revision into an empty directory. Cancelled, the directory may hold a part of it.
    async fn check_out(&self, revision: &str, directory: &Path) -> PortResult<()>;
}
