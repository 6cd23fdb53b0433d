//! Names that nobody can guess.

use aws_lc_rs::rand;

/// Letters of names: 32 of them, none that looks like another.
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// 26 random lowercase letters and digits: 130 bits.
pub fn random_id() -> String {
    let mut bytes = [0_u8; 26];
    rand::fill(&mut bytes).expect("the system has a source of random bytes");
    bytes
        .iter()
        .map(|byte| char::from(LETTERS[usize::from(byte % 32)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_26_letters_and_differ() {
        let (one, other) = (random_id(), random_id());
        assert_eq!(one.len(), 26);
        assert!(one.bytes().all(|letter| LETTERS.contains(&letter)));
        assert_ne!(one, other);
    }
}
