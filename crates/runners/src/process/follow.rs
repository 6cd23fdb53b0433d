//! Reading a log while it is written.

use std::io;

use async_trait::async_trait;
use groundplan_engine::id::StepId;
use groundplan_ports::{
    error::PortResult,
    logs::{LogFrame, LogSource},
};

use super::broken;
use crate::{log_file::LogReader, step_dir::StepDir, watch::Watch};

/// Most bytes that are answered at once, about.
const PORTION: usize = 1 << 20;

/// A step's log from its first byte until the step has ended.
#[derive(Debug)]
pub(super) struct FollowedLog {
    step: StepId,
    dir: StepDir,
    watch: Watch,
    reader: Option<LogReader>,
}

impl FollowedLog {
    /// `watch` is on the step's directory.
    pub(super) fn new(step: StepId, dir: StepDir, watch: Watch) -> Self {
        FollowedLog {
            step,
            dir,
            watch,
            reader: None,
        }
    }

    fn read(&mut self) -> io::Result<Vec<LogFrame>> {
        if self.reader.is_none() {
            self.reader = LogReader::open(&self.dir.file("log"))?;
        }
        match &mut self.reader {
            Some(reader) => reader.read(PORTION),
            None => Ok(Vec::new()),
        }
    }
}

#[async_trait]
impl LogSource for FollowedLog {
    async fn next(&mut self) -> PortResult<Option<Vec<LogFrame>>> {
        loop {
            // Looked at before the log is read: nothing is written after a report.
            let over = self.dir.file("report").exists() || !self.dir.path().exists();
            let frames = self.read().map_err(|error| broken(&self.step, error))?;
            if !frames.is_empty() {
                return Ok(Some(frames));
            }
            if over {
                return Ok(None);
            }
            self.watch.changed().await;
        }
    }
}
