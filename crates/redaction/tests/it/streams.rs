//! Chunks of any size, and going on in another process.

use groundplan_redaction::{MASK, Masker, Needles, Position};
use proptest::prelude::*;

use crate::{mask, needles};

#[test]
fn only_the_beginning_of_a_value_is_held_back() {
    let mut masker = Masker::new(&needles(["hunter22"]));
    assert_eq!(masker.feed(b"plain text\n"), b"plain text\n");
    assert_eq!(masker.feed(b"then hunt"), b"then ");
    assert_eq!((masker.held_back(), masker.position().offset), (4, 16));
    assert_eq!(masker.feed(b"er22"), b"***");
    assert_eq!((masker.held_back(), masker.position().offset), (0, 24));
}

#[test]
fn an_unfinished_value_is_handed_out_at_the_end() {
    let mut masker = Masker::new(&needles(["hunter22"]));
    assert_eq!(masker.feed(b"hunter2"), b"");
    assert_eq!(masker.finish(), b"hunter2");
}

#[test]
fn bytes_that_are_no_text_and_endless_lines_pass_unharmed() {
    let needles = needles(["hunter22", "s3cr3t-s3cr3t"]);
    let line: Vec<u8> = (0..=255).cycle().take(3 << 20).collect();
    let mut masker = Masker::new(&needles);
    let mut masked = Vec::new();
    for chunk in line.chunks(4097) {
        masked.extend(masker.feed(chunk));
        assert!(masker.held_back() < 64);
    }
    masked.extend(masker.finish());
    assert!(masked == line);
}

#[test]
fn a_chain_of_overlapping_values_needs_no_memory() {
    let mut masker = Masker::new(&needles(["aaaaa"]));
    let mut masked = Vec::new();
    for _ in 0..1000 {
        masked.extend(masker.feed(&[b'a'; 100]));
        assert!(masker.held_back() <= 14, "{}", masker.held_back());
    }
    masked.extend(masker.finish());
    assert_eq!(masked, MASK);
}

#[test]
fn without_values_everything_passes_at_once() {
    let mut masker = Masker::new(&Needles::none());
    assert_eq!(masker.feed(b"anything"), b"anything");
    assert_eq!(
        masker.position(),
        Position {
            offset: 8,
            covered: 0
        }
    );
}

#[test]
fn large_sets_of_values_work_alike() {
    let values: Vec<String> = (0..400).map(|n| format!("secret-value-{n:04}")).collect();
    let needles = needles(&values);
    let text = values.join(" ");
    let expect = vec!["***"; values.len()].join(" ");
    assert_eq!(
        String::from_utf8(mask(&needles, text.as_bytes())).unwrap(),
        expect
    );
}

/// Texts over few letters, so that values, their beginnings and overlaps are frequent.
fn text() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(&b"abc\n"[..]), 0..200)
}

fn values() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(
        prop::collection::vec(prop::sample::select(&b"abc\n"[..]), 5..12),
        0..5,
    )
}

/// Finds what must be masked the slow way: whole values and lines only.
fn slowly_masked(values: &[Vec<u8>], text: &[u8]) -> Vec<u8> {
    let mut needles: Vec<&[u8]> = Vec::new();
    for value in values.iter().map(|value| value.trim_ascii()) {
        if value.len() >= 5 {
            needles.push(value);
            needles.extend(value.split(|b| *b == b'\n').filter(|line| line.len() >= 5));
        }
    }
    let mut hidden = vec![false; text.len()];
    let mut joined = vec![false; text.len() + 1];
    for start in 0..text.len() {
        for needle in &needles {
            if text[start..].starts_with(needle) {
                hidden[start..start + needle.len()].fill(true);
                joined[start + 1..start + needle.len()].fill(true);
            }
        }
    }
    let mut masked = Vec::new();
    for index in 0..text.len() {
        if !hidden[index] {
            masked.push(text[index]);
        } else if !joined[index] {
            masked.extend_from_slice(MASK);
        }
    }
    masked
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn masking_equals_the_slow_way(values in values(), text in text()) {
        let masked = mask(&needles(&values), &text);
        prop_assert_eq!(
            String::from_utf8(masked).unwrap(),
            String::from_utf8(slowly_masked(&values, &text)).unwrap()
        );
    }

    #[test]
    fn every_split_into_chunks_gives_the_same(
        values in values(), text in text(), cuts in prop::collection::vec(0..200usize, 0..20),
    ) {
        let needles = needles(&values);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut masker = Masker::new(&needles);
        let mut masked = Vec::new();
        for pair in cuts.windows(2) {
            masked.extend(masker.feed(&text[pair[0]..pair[1]]));
        }
        masked.extend(masker.finish());
        prop_assert_eq!(masked, mask(&needles, &text));
    }

    #[test]
    fn another_process_goes_on_from_any_position(
        values in values(), text in text(), sizes in prop::collection::vec(1..30usize, 1..20),
    ) {
        let needles = needles(&values);
        let mut position = Position::default();
        let mut masked = Vec::new();
        // Each round is a new process that reads a little more than the last one handed out.
        for size in sizes.iter().chain([&usize::MAX]) {
            let mut masker = Masker::resume(&needles, position);
            let from = position.offset as usize;
            let to = from.saturating_add(*size).min(text.len());
            masked.extend(masker.feed(&text[from..to]));
            position = masker.position();
            if *size == usize::MAX {
                masked.extend(masker.finish());
            }
        }
        prop_assert_eq!(masked, mask(&needles, &text));
    }

    #[test]
    fn text_without_values_is_unharmed(text in "[d-z \n]{0,300}", values in values()) {
        let masked = mask(&needles(&values), text.as_bytes());
        prop_assert_eq!(masked, text.into_bytes());
    }
}
