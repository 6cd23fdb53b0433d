//! SHA-256 in the notation `sha256:<64 hexadecimal digits>`.

use std::fmt;

use aws_lc_rs::digest::{Context, SHA256};

/// The digest of bytes: `sha256:` and 64 lowercase hexadecimal digits.
pub fn digest(bytes: &[u8]) -> String {
    let mut hasher = Hasher::new();
    hasher.update(bytes);
    hasher.finish()
}

/// Computes a digest piece by piece.
pub struct Hasher(Context);

impl Hasher {
    /// One that has seen nothing.
    pub fn new() -> Self {
        Hasher(Context::new(&SHA256))
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes taken.
    pub fn finish(self) -> String {
        format!("sha256:{}", hexadecimal(self.0.finish().as_ref()))
    }
}

impl Default for Hasher {
    fn default() -> Self {
        Hasher::new()
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hasher")
    }
}

/// Lowercase hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_is_the_published_value() {
        assert_eq!(
            digest(b"abc"),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn pieces_give_the_digest_of_the_whole() {
        let mut hasher = Hasher::new();
        hasher.update(b"a");
        hasher.update(b"");
        hasher.update(b"bc");
        assert_eq!(hasher.finish(), digest(b"abc"));
    }
}
