//! What steps printed, masked before it got here.

use async_trait::async_trait;
use groundplan_engine::{id::StepId, time::Timestamp};

use crate::{blobs::Digest, error::PortResult};

/// Where a frame came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The tool's standard output.
    Stdout,
    /// The tool's standard error.
    Stderr,
    /// Said by Groundplan itself.
    Notice,
}

/// A piece of output. Bytes are as the tool wrote them, with secrets masked; they need not be UTF-8
/// nor end at a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFrame {
    /// When it was read.
    pub at: Timestamp,
    /// Where it came from.
    pub stream: Stream,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// What the database holds of a closed log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRecord {
    /// Which execution printed it.
    pub step: StepId,
    /// Sum of the frames' bytes.
    pub length: u64,
    /// Digest of the frames' bytes in order.
    pub digest: Digest,
}

/// Frames in order.
#[async_trait]
pub trait LogSource: Send {
    /// The next frames; `None` when there are no more now. Cancelled, no frame is lost.
    async fn next(&mut self) -> PortResult<Option<Vec<LogFrame>>>;
}

/// A hit of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogHit {
    /// Which execution printed it.
    pub step: StepId,
    /// Offset of the line's first byte within the log.
    pub offset: u64,
    /// The line, without its newline.
    pub line: Vec<u8>,
}

/// The archive of logs.
#[async_trait]
pub trait Logs: Send + Sync {
    /// Takes a whole log into the archive. Repeating it for the same step answers the record that
    /// is there; cancelled, nothing of it is there.
    async fn close(&self, step: &StepId, source: &mut dyn LogSource) -> PortResult<LogRecord>;

    /// What is known of a step's closed log; `None` where it was never closed.
    async fn record(&self, step: &StepId) -> PortResult<Option<LogRecord>>;

    /// A closed log from a byte offset on; *not found* where it was never closed.
    async fn read(&self, step: &StepId, offset: u64) -> PortResult<Box<dyn LogSource>>;

    /// Lines of closed logs that contain `needle`, in the order the logs were closed, at most `limit`.
    async fn search(&self, needle: &str, limit: usize) -> PortResult<Vec<LogHit>>;

    /// Forgets a step's log. Repeating it changes nothing.
    async fn delete(&self, step: &StepId) -> PortResult<()>;
}
