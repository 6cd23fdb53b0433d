//! Searching lines in a stream of bytes, without keeping more than one line of it.

use memchr::{memchr, memmem::Finder};

/// Of a longer line only so many first bytes are answered.
const LONGEST_LINE: usize = 64 * 1024;

/// Finds lines that hold a needle.
pub(super) struct Scanner {
    finder: Finder<'static>,
    limit: usize,
    hits: Vec<(u64, Vec<u8>)>,
    /// Offset of the current line's first byte.
    begin: u64,
    /// Offset of the next byte.
    offset: u64,
    /// The current line's first bytes.
    line: Vec<u8>,
    /// The current line's last bytes, in which a needle may have begun.
    overlap: Vec<u8>,
    found: bool,
}

impl Scanner {
    /// Looks for at most `limit` lines. The needle is neither empty nor holds a newline.
    pub(super) fn new(needle: &[u8], limit: usize) -> Self {
        Scanner {
            finder: Finder::new(needle).into_owned(),
            limit,
            hits: Vec::new(),
            begin: 0,
            offset: 0,
            line: Vec::new(),
            overlap: Vec::new(),
            found: false,
        }
    }

    /// Whether there are as many hits as wanted.
    pub(super) fn is_full(&self) -> bool {
        self.hits.len() >= self.limit
    }

    /// Takes the next bytes.
    pub(super) fn take(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr(b'\n', bytes) {
            self.part(&bytes[..end]);
            self.offset += 1;
            self.end();
            bytes = &bytes[end + 1..];
        }
        self.part(bytes);
    }

    /// Ends the current line.
    pub(super) fn end(&mut self) {
        if self.found && !self.is_full() {
            self.hits.push((self.begin, std::mem::take(&mut self.line)));
        }
        self.line.clear();
        self.overlap.clear();
        self.found = false;
        self.begin = self.offset;
    }

    fn part(&mut self, bytes: &[u8]) {
        self.offset += bytes.len() as u64;
        let room = LONGEST_LINE - self.line.len();
        self.line.extend_from_slice(&bytes[..room.min(bytes.len())]);
        if self.found || bytes.is_empty() {
            return;
        }
        let keep = self.finder.needle().len() - 1;
        let across = keep.min(bytes.len());
        self.overlap.extend_from_slice(&bytes[..across]);
        self.found = self.finder.find(&self.overlap).is_some() || self.finder.find(bytes).is_some();
        if bytes.len() > across {
            self.overlap.clear();
            self.overlap
                .extend_from_slice(&bytes[bytes.len() - across..]);
        }
        let surplus = self.overlap.len().saturating_sub(keep);
        self.overlap.drain(..surplus);
    }

    /// Offset and bytes of the lines found, in order.
    pub(super) fn hits(self) -> impl Iterator<Item = (u64, Vec<u8>)> {
        self.hits.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scan(parts: &[&[u8]], needle: &str, limit: usize) -> Vec<(u64, String)> {
        let mut scanner = Scanner::new(needle.as_bytes(), limit);
        for part in parts {
            scanner.take(part);
        }
        scanner.end();
        scanner
            .hits()
            .map(|(offset, line)| (offset, String::from_utf8_lossy(&line).into_owned()))
            .collect()
    }

    #[test]
    fn lines_are_found_across_parts() {
        let parts: [&[u8]; 4] = [b"no\nfir", b"st ne", b"ed", b"le\nneedle twice needle\nend"];
        let hits = scan(&parts, "needle", 9);
        let expected = [
            (3, "first needle".to_owned()),
            (16, "needle twice needle".to_owned()),
        ];
        assert_eq!(hits, expected);
        assert_eq!(scan(&parts, "needle", 1), expected[..1]);
        assert!(scan(&parts, "needle", 0).is_empty());
        assert_eq!(scan(&parts, "end", 9), [(36, "end".to_owned())]);
    }

    #[test]
    fn an_endless_line_is_answered_by_its_beginning() {
        let part = vec![b'x'; 100_000];
        let parts: [&[u8]; 4] = [&part, &part, b"needle", &part];
        let hits = scan(&parts, "needle", 9);
        assert_eq!(hits.len(), 1);
        assert_eq!(hits[0].1.len(), LONGEST_LINE);
    }

    proptest! {
        #[test]
        fn cutting_the_stream_changes_nothing(
            text in "[ab\n]{0,60}",
            needle in "[ab]{1,4}",
            cuts in prop::collection::vec(0_usize..60, 0..6),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let parts: Vec<_> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let mut offset = 0;
            let mut expected = Vec::new();
            for line in text.split('\n') {
                if line.contains(&needle) {
                    expected.push((offset, line.to_owned()));
                }
                offset += line.len() as u64 + 1;
            }
            prop_assert_eq!(scan(&parts, &needle, 99), expected);
        }
    }
}
