//! The installation's key, and what it locks.

use std::fmt;

use aws_lc_rs::{
    aead::{AES_256_GCM_SIV, Aad, NONCE_LEN, Nonce, RandomizedNonceKey},
    digest::{SHA256, digest},
    rand,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use thiserror::Error;

use crate::digest::hexadecimal;

/// Length of a key in bytes.
const KEY_LENGTH: usize = 32;

/// First byte of everything sealed: the format.
const FORMAT: u8 = 1;

/// A symmetric key of 32 bytes. It shows itself by its fingerprint.
#[derive(Clone)]
pub struct Key([u8; KEY_LENGTH]);

/// A text that is no key.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// It is not base64.
    #[error("the key is not base64")]
    Encoding,
    /// It has another length.
    #[error("the key has {found} bytes, not {KEY_LENGTH}")]
    Length {
        /// How many bytes it has.
        found: usize,
    },
}

/// Sealed bytes that do not open.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum OpenError {
    /// They were never whole, or of a format that this version does not know.
    #[error("the sealed bytes are of no known format")]
    Format,
    /// Another key, another context, or somebody changed them.
    #[error("the sealed bytes do not open with the key `{fingerprint}`")]
    Key {
        /// Fingerprint of the key that was tried.
        fingerprint: String,
    },
}

impl Key {
    /// A new random key.
    pub fn generate() -> Self {
        let mut bytes = [0_u8; KEY_LENGTH];
        rand::fill(&mut bytes).expect("the system has a source of random bytes");
        Key(bytes)
    }

    /// The key of these bytes.
    pub fn from_bytes(bytes: [u8; KEY_LENGTH]) -> Self {
        Key(bytes)
    }

    /// Reads what [`Key::encode`] wrote; blanks around it do not matter.
    pub fn decode(text: &str) -> Result<Self, KeyError> {
        let bytes = STANDARD
            .decode(text.trim())
            .map_err(|_| KeyError::Encoding)?;
        let found = bytes.len();
        let bytes = bytes.try_into().map_err(|_| KeyError::Length { found })?;
        Ok(Key(bytes))
    }

    /// The key as one line of base64, for its file alone. Every caller is a place to review.
    pub fn encode(&self) -> String {
        STANDARD.encode(self.0)
    }

    /// 16 hexadecimal digits that tell keys apart and give nothing of them away.
    pub fn fingerprint(&self) -> String {
        let mut input = b"groundplan key fingerprint\n".to_vec();
        input.extend_from_slice(&self.0);
        hexadecimal(&digest(&SHA256, &input).as_ref()[..8])
    }

    fn cipher(&self) -> RandomizedNonceKey {
        RandomizedNonceKey::new(&AES_256_GCM_SIV, &self.0).expect("a key has 32 bytes")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.fingerprint())
    }
}

/// Encrypts and authenticates with AES-256-GCM-SIV and a random nonce. `context` is authenticated,
/// not stored: [`open`] needs the same, so that sealed bytes cannot stand in another's place.
pub fn seal(key: &Key, context: &[u8], plaintext: &[u8]) -> Vec<u8> {
    let mut text = plaintext.to_vec();
    let nonce = key
        .cipher()
        .seal_in_place_append_tag(Aad::from(context), &mut text)
        .expect("values are far smaller than the cipher's limit");
    let mut sealed = Vec::with_capacity(1 + NONCE_LEN + text.len());
    sealed.push(FORMAT);
    sealed.extend_from_slice(nonce.as_ref());
    sealed.append(&mut text);
    sealed
}

/// Decrypts what [`seal`] made with the same key and context.
pub fn open(key: &Key, context: &[u8], sealed: &[u8]) -> Result<Vec<u8>, OpenError> {
    let (&format, rest) = sealed.split_first().ok_or(OpenError::Format)?;
    if format != FORMAT || rest.len() < NONCE_LEN {
        return Err(OpenError::Format);
    }
    let (nonce, text) = rest.split_at(NONCE_LEN);
    let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| OpenError::Format)?;
    let mut text = text.to_vec();
    let length = key
        .cipher()
        .open_in_place(nonce, Aad::from(context), &mut text)
        .map_err(|_| OpenError::Key {
            fingerprint: key.fingerprint(),
        })?
        .len();
    text.truncate(length);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sealed_opens_with_the_same_key_and_context() {
        let key = Key::generate();
        for plaintext in [&b""[..], b"x", &[7; 100_000]] {
            let sealed = seal(&key, b"here", plaintext);
            assert_eq!(open(&key, b"here", &sealed).unwrap(), plaintext);
        }
    }

    #[test]
    fn another_key_context_or_bit_does_not_open() {
        let key = Key::generate();
        let sealed = seal(&key, b"here", b"hunter2");
        assert!(open(&Key::generate(), b"here", &sealed).is_err());
        assert!(open(&key, b"there", &sealed).is_err());
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(open(&key, b"here", &changed).is_err(), "byte {at}");
            assert!(open(&key, b"here", &sealed[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn the_same_value_twice_looks_different() {
        let key = Key::generate();
        assert_ne!(seal(&key, b"", b"hunter2"), seal(&key, b"", b"hunter2"));
    }

    #[test]
    fn a_key_survives_its_file_and_says_what_is_wrong_with_another() {
        let key = Key::generate();
        let line = format!("{}\n", key.encode());
        assert_eq!(Key::decode(&line).unwrap().fingerprint(), key.fingerprint());
        assert_eq!(Key::decode("no key").unwrap_err(), KeyError::Encoding);
        assert_eq!(
            Key::decode("AAAA").unwrap_err(),
            KeyError::Length { found: 3 }
        );
    }

    #[test]
    fn a_key_does_not_show_itself() {
        let key = Key::from_bytes([b'k'; 32]);
        let shown = format!("{key:?}");
        assert!(!shown.contains("kkk") && !shown.contains("107"), "{shown}");
        assert!(!shown.contains(&key.encode()), "{shown}");
    }
}
