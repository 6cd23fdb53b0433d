//! Megabytes a second of masking log-like text, with few and with many needles.

#![expect(clippy::print_stdout, reason = "a bench reports on standard output")]
#![expect(clippy::disallowed_types, reason = "a bench takes the time")]

use std::{hint::black_box, time::Instant};

use groundplan_redaction::{Masker, Needles};

fn main() {
    let line = b"module.network.aws_subnet.private[\"eu-west-1a\"]: Refreshing state... [id=subnet-0a1b]\n";
    let text = line.repeat((32 << 20) / line.len());
    for (count, length) in [(1, 20), (10, 40), (100, 40), (1, 3200), (16, 3200)] {
        let built = Instant::now();
        let values = (0..count).map(|n| (format!("s{n}"), pseudo_random(n, length)));
        let Ok(needles) = Needles::new(values) else {
            println!("{count} values of {length} bytes: refused");
            continue;
        };
        let built = built.elapsed();
        let started = Instant::now();
        let mut masker = Masker::new(&needles);
        for chunk in text.chunks(64 << 10) {
            black_box(masker.feed(chunk));
        }
        black_box(masker.finish());
        let speed = text.len() as f64 / started.elapsed().as_secs_f64() / 1e6;
        println!(
            "{count} values of {length} bytes: {speed:.0} MB/s, built in {} ms",
            built.as_millis()
        );
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
