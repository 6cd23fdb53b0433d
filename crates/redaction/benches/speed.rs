//! Masking log-like text, with few and with many needles, against a copy of the same bytes.

#![expect(clippy::print_stdout, reason = "a bench reports on standard output")]
#![expect(clippy::disallowed_types, reason = "a bench measures time")]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use groundplan_redaction::{Masker, Needles};

const CHUNK: usize = 64 << 10;

fn main() {
    let line = b"module.network.aws_subnet.private[\"eu-west-1a\"]: Refreshing state... [id=subnet-0a1b]\n";
    let text = line.repeat((32 << 20) / line.len());
    let copied = time_of(|| copy(&text));
    for (count, length) in [(1, 20), (10, 40), (100, 40), (1, 3200), (16, 3200)] {
        let values = (0..count).map(|n| (format!("s{n}"), pseudo_random(n, length)));
        let needles = Needles::new(values).expect("so many values are allowed");
        let masked = time_of(|| mask(&needles, &text));
        println!(
            "{{\"bench\": \"mask {count} values of {length} bytes\", \"baseline\": \"copying\", \
             \"nanoseconds\": {}, \"baseline_nanoseconds\": {}}}",
            masked.as_nanos(),
            copied.as_nanos()
        );
    }
}

fn time_of(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

fn mask(needles: &Needles, text: &[u8]) {
    let mut masker = Masker::new(needles);
    for chunk in text.chunks(CHUNK) {
        black_box(masker.feed(chunk));
    }
    black_box(masker.finish());
}

fn copy(text: &[u8]) {
    for chunk in text.chunks(CHUNK) {
        black_box(chunk.to_vec());
    }
}

/// Lines of 64 letters and digits, as keys have.
fn pseudo_random(seed: usize, length: usize) -> Vec<u8> {
    let mut state = seed as u64 * 7919 + 1;
    (1..=length)
        .map(|place| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            match place % 65 {
                0 => b'\n',
                _ => {
                    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
                        [(state >> 58) as usize]
                }
            }
        })
        .collect()
}
