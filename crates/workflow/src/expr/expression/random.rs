//! Random values from a seed: the same seed and expression give the same values.

/// A stream of values (SplitMix64).
pub(super) struct Random {
    state: u64,
}

impl Random {
    /// The stream of one evaluation.
    pub(super) fn new(seed: u64, text: &str) -> Self {
        let mixed = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Random {
            state: seed ^ mixed,
        }
    }

    /// The next 64 bits.
    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `limit`; 0 where the limit is 0.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        let wide = u128::from(self.next()) * u128::from(limit);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// A text of `length` characters from `alphabet`.
    pub(super) fn text(&mut self, length: usize, alphabet: &[u8]) -> String {
        (0..length)
            .map(|_| {
                let place = self.below(alphabet.len() as u64) as usize;
                char::from(alphabet[place.min(alphabet.len() - 1)])
            })
            .collect()
    }

    /// A version 4 UUID.
    pub(super) fn uuid(&mut self) -> String {
        let high = self.next();
        let low = self.next();
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0x0fff,
            0x8000 | ((low >> 48) & 0x3fff),
            low & 0xffff_ffff_ffff
        )
    }
}
