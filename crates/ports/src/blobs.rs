//! Bytes by digest.

use async_trait::async_trait;
use groundplan_engine::time::Timestamp;

use crate::error::PortResult;

/// `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub String);

/// A store of bytes by their digest.
#[async_trait]
pub trait Blobs: Send + Sync {
    /// Stores bytes. Repeating it changes nothing; cancelled, the blob is there whole or not at all.
    async fn put(&self, bytes: &[u8]) -> PortResult<Digest>;

    /// The bytes of a digest, verified; *not found* where there are none.
    async fn get(&self, digest: &Digest) -> PortResult<Vec<u8>>;

    /// Deletes every blob that is not in `referenced` and older than `before`. Answers how many.
    async fn delete_unreferenced(
        &self,
        referenced: &[Digest],
        before: Timestamp,
    ) -> PortResult<u64>;
}
