//! Encryption at rest with the installation's key, and digests.
//!
//! It knows nothing of files: who owns a [`Key`] decides where it lies. Read first: [`Key`] and
//! [`seal`].

mod digest;
mod key;
mod random;

pub use digest::{Hasher, digest};
pub use key::{Key, KeyError, OpenError, open, seal};
pub use random::random_id;
