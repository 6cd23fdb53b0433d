//! Masking as a whole: chunks, encodings, overlaps, resumption.

mod forms;
mod streams;

use groundplan_redaction::{Masker, Needles};

/// Needles without interest in their names.
fn needles<V: AsRef<[u8]>>(values: impl IntoIterator<Item = V>) -> Needles {
    let named = values
        .into_iter()
        .enumerate()
        .map(|(index, value)| (format!("s{index}"), value));
    Needles::new(named).expect("values are short")
}

/// The whole text masked in one piece.
fn mask(needles: &Needles, text: &[u8]) -> Vec<u8> {
    let mut masker = Masker::new(needles);
    let mut masked = masker.feed(text);
    masked.extend(masker.finish());
    assert_eq!(masker.position().offset, text.len() as u64);
    assert_eq!(masker.held_back(), 0);
    masked
}

#[track_caller]
fn check(values: &[&str], text: &str, expect: &str) {
    let masked = mask(&needles(values), text.as_bytes());
    assert_eq!(String::from_utf8_lossy(&masked), expect);
}
