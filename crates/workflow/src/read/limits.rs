//! What a file may cost before reading stops.

/// Limits of one file. They are far beyond any document that people write and keep small files from
/// becoming large in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the file.
    pub bytes: usize,
    /// Levels of lists and maps within each other.
    pub depth: usize,
    /// Values in the file, those that aliases repeat counted once.
    pub nodes: usize,
    /// Values that aliases repeat, together; also those that anchors mark.
    pub repeated: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            bytes: 16 << 20,
            depth: 100,
            nodes: 1_000_000,
            repeated: 100_000,
        }
    }
}
