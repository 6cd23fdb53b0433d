//! What every [`Logs`] must do.

use std::{collections::VecDeque, sync::Arc};

use async_trait::async_trait;
use groundplan_engine::{
    id::{NodeId, RunId, StepId},
    time::Timestamp,
};
use groundplan_ports::{
    error::{ErrorKind, PortError, PortResult},
    logs::{LogFrame, LogSource, Logs, Stream},
};
use tokio::sync::Notify;

/// An implementation on a fresh, empty archive.
pub trait Fixture: Send + Sync {
    /// Another process's handle on the archive.
    fn handle(&self) -> Arc<dyn Logs>;
}

/// Makes a test of every case. The argument is an expression for a fresh [`Fixture`].
#[macro_export]
macro_rules! logs_contract {
    ($fixture:expr) => {
        $crate::contract_cases!(
            logs,
            $fixture,
            closed_log_reads_back,
            close_again_answers_the_first,
            empty_log_is_a_log,
            log_reads_from_every_offset,
            unclosed_log_is_not_found,
            failed_source_leaves_nothing,
            cancelled_close_leaves_nothing,
            large_log_reads_back,
            logs_close_at_once,
            search_finds_lines_in_order,
            search_needs_a_text_within_a_line,
            deleted_log_is_forgotten,
        );
    };
}

fn step(node: &str) -> StepId {
    StepId {
        run: RunId("01run".to_owned()),
        node: NodeId(node.to_owned()),
        execution: 1,
    }
}

fn frame(at: i64, stream: Stream, bytes: impl Into<Vec<u8>>) -> LogFrame {
    LogFrame {
        at: Timestamp(at),
        stream,
        bytes: bytes.into(),
    }
}

fn sample() -> Vec<LogFrame> {
    vec![
        frame(1, Stream::Notice, "starting\n"),
        frame(
            2,
            Stream::Stdout,
            b"progress 1\rprogress 2\r\n\xff\xfe\0".to_vec(),
        ),
        frame(2, Stream::Stderr, "half a li"),
        frame(5, Stream::Stderr, "ne\nno end"),
    ]
}

/// Gives each frame on its own, then ends as it is told to.
struct Script {
    frames: VecDeque<LogFrame>,
    end: End,
}

enum End {
    Quiet,
    Failure,
    Never(Arc<Notify>),
}

impl Script {
    fn new(frames: Vec<LogFrame>, end: End) -> Self {
        Script {
            frames: frames.into(),
            end,
        }
    }
}

#[async_trait]
impl LogSource for Script {
    async fn next(&mut self) -> PortResult<Option<Vec<LogFrame>>> {
        if let Some(frame) = self.frames.pop_front() {
            return Ok(Some(vec![frame]));
        }
        match &self.end {
            End::Quiet => Ok(None),
            End::Failure => Err(PortError::new(ErrorKind::Denied, "the source has failed")),
            End::Never(reached) => {
                reached.notify_one();
                std::future::pending().await
            }
        }
    }
}

async fn close(logs: &dyn Logs, node: &str, frames: Vec<LogFrame>) {
    let mut source = Script::new(frames, End::Quiet);
    logs.close(&step(node), &mut source).await.unwrap();
}

/// All frames from an offset on, neighbours of the same time and stream joined.
async fn read(logs: &dyn Logs, node: &str, offset: u64) -> Vec<LogFrame> {
    let mut source = logs.read(&step(node), offset).await.unwrap();
    let mut frames = Vec::new();
    while let Some(more) = source.next().await.unwrap() {
        frames.extend(more);
    }
    assert!(source.next().await.unwrap().is_none(), "the end is the end");
    joined(frames)
}

fn joined(frames: Vec<LogFrame>) -> Vec<LogFrame> {
    let mut joined: Vec<LogFrame> = Vec::new();
    for mut frame in frames {
        match joined.last_mut() {
            Some(last) if (last.at, last.stream) == (frame.at, frame.stream) => {
                last.bytes.append(&mut frame.bytes);
            }
            _ => joined.push(frame),
        }
    }
    joined
}

fn bytes(frames: &[LogFrame]) -> Vec<u8> {
    frames
        .iter()
        .flat_map(|frame| frame.bytes.clone())
        .collect()
}

/// Times, streams and bytes come back as they were, whatever the bytes are.
pub async fn closed_log_reads_back(fixture: &dyn Fixture) {
    let (logs, other) = (fixture.handle(), fixture.handle());
    let mut source = Script::new(sample(), End::Quiet);
    let record = logs.close(&step("a"), &mut source).await.unwrap();
    assert_eq!(record.step, step("a"));
    assert_eq!(record.length, bytes(&sample()).len() as u64);
    assert_eq!(read(&*other, "a", 0).await, sample());
    assert_eq!(other.record(&step("a")).await.unwrap(), Some(record));
}

/// A second close changes nothing and answers what is there.
pub async fn close_again_answers_the_first(fixture: &dyn Fixture) {
    let logs = fixture.handle();
    let mut source = Script::new(sample(), End::Quiet);
    let first = logs.close(&step("a"), &mut source).await.unwrap();
    let mut source = Script::new(vec![frame(9, Stream::Stdout, "other")], End::Quiet);
    let again = fixture
        .handle()
        .close(&step("a"), &mut source)
        .await
        .unwrap();
    assert_eq!(again, first);
    assert_eq!(read(&*logs, "a", 0).await, sample());
    close(&*logs, "b", vec![frame(9, Stream::Stdout, "other")]).await;
    let other = logs.record(&step("b")).await.unwrap().unwrap();
    assert_ne!(other.digest, first.digest);
}

/// A step that printed nothing has a closed log of length 0.
pub async fn empty_log_is_a_log(fixture: &dyn Fixture) {
    let logs = fixture.handle();
    close(&*logs, "a", Vec::new()).await;
    assert_eq!(logs.record(&step("a")).await.unwrap().unwrap().length, 0);
    assert!(bytes(&read(&*logs, "a", 0).await).is_empty());
    assert!(logs.search("x", 9).await.unwrap().is_empty());
}

/// Reading begins at exactly the byte asked for; at or behind the end there is nothing.
pub async fn log_reads_from_every_offset(fixture: &dyn Fixture) {
    let logs = fixture.handle();
    close(&*logs, "a", sample()).await;
    let whole = bytes(&sample());
    for offset in 0..=whole.len() + 1 {
        let rest = bytes(&read(&*logs, "a", offset as u64).await);
        assert_eq!(rest, whole[offset.min(whole.len())..], "offset {offset}");
    }
}

/// What was never closed has no record and cannot be read.
pub async fn unclosed_log_is_not_found(fixture: &dyn Fixture) {
    let logs = fixture.handle();
    close(&*logs, "other", sample()).await;
    assert_eq!(logs.record(&step("a")).await.unwrap(), None);
    let Err(error) = logs.read(&step("a"), 0).await else {
        panic!("an unclosed log was read");
    };
    assert_eq!(error.kind, ErrorKind::NotFound);
    let mut later = step("other");
    later.execution = 2;
    assert_eq!(logs.record(&later).await.unwrap(), None);
}

/// The error of a source comes through, and a later close begins anew.
pub async fn failed_source_leaves_nothing(fixture: &dyn Fixture) {
    let logs = fixture.handle();
    let mut source = Script::new(sample(), End::Failure);
    let error = logs.close(&step("a"), &mut source).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied);
    assert_eq!(logs.record(&step("a")).await.unwrap(), None);
    close(&*logs, "a", sample()).await;
    assert_eq!(read(&*logs, "a", 0).await, sample());
}

/// A close that is dropped half-way leaves nothing of its log, and nothing in the way of others.
pub async fn cancelled_close_leaves_nothing(fixture: &dyn Fixture) {
    let logs = fixture.handle();
    close(&*logs, "before", sample()).await;
    let reached = Arc::new(Notify::new());
    let half: Vec<_> = (0..50)
        .map(|at| frame(at, Stream::Stdout, noise(at, 20_000)))
        .collect();
    let mut source = Script::new(half, End::Never(Arc::clone(&reached)));
    let unfinished = step("a");
    tokio::select! {
        _ = logs.close(&unfinished, &mut source) => panic!("the source never ends"),
        () = reached.notified() => {}
    }
    assert_eq!(logs.record(&step("a")).await.unwrap(), None);
    close(&*logs, "after", sample()).await;
    close(&*logs, "a", sample()).await;
    for node in ["before", "after", "a"] {
        assert_eq!(read(&*logs, node, 0).await, sample(), "`{node}`");
    }
}

/// Bytes that do not compress well and differ by `seed`.
fn noise(seed: i64, length: usize) -> Vec<u8> {
    let mut state = seed.unsigned_abs().wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// Megabytes, in small frames and in a very large one, from the beginning and from the middle.
pub async fn large_log_reads_back(fixture: &dyn Fixture) {
    let logs = fixture.handle();
    let mut frames: Vec<_> = (0..400)
        .map(|at| frame(at, Stream::Stdout, noise(at, 1 + (at as usize * 37) % 9000)))
        .collect();
    frames.push(frame(1000, Stream::Stderr, noise(1000, 1_500_000)));
    frames.push(frame(1001, Stream::Stdout, "end\n"));
    close(&*logs, "a", frames.clone()).await;
    let found = read(&*logs, "a", 0).await;
    assert!(found == frames, "the large log has changed");
    let whole = bytes(&frames);
    for offset in [1, 65_536, 262_144, whole.len() / 2, whole.len() - 5] {
        let rest = bytes(&read(&*logs, "a", offset as u64).await);
        assert!(rest == whole[offset..], "offset {offset}");
    }
}

/// Several processes close logs at the same time.
pub async fn logs_close_at_once(fixture: &dyn Fixture) {
    let closing: Vec<_> = (0..8_i64)
        .map(|number| {
            let logs = fixture.handle();
            tokio::spawn(async move {
                for count in 0..3 {
                    let seed = number * 10 + count;
                    let frames = vec![frame(seed, Stream::Stdout, noise(seed, 300_000))];
                    close(&*logs, &format!("n{seed}"), frames).await;
                }
            })
        })
        .collect();
    for closing in closing {
        closing.await.unwrap();
    }
    let logs = fixture.handle();
    for seed in (0..8).flat_map(|number| (0..3).map(move |count| number * 10 + count)) {
        let found = read(&*logs, &format!("n{seed}"), 0).await;
        let expected = [frame(seed, Stream::Stdout, noise(seed, 300_000))];
        assert!(found == expected, "log {seed} has changed");
    }
}

/// Hits come in the order the logs were closed, with the offsets of their lines, across frames.
pub async fn search_finds_lines_in_order(fixture: &dyn Fixture) {
    let logs = fixture.handle();
    let zebra = vec![
        frame(1, Stream::Stdout, "no\nError: one nee"),
        frame(2, Stream::Stderr, "dle two\nno\n"),
    ];
    close(&*logs, "z", zebra).await;
    let large: Vec<_> = (0..600_000).map(|_| b'.').collect();
    let ape = vec![
        frame(1, Stream::Stdout, large),
        frame(2, Stream::Stdout, "\n\u{e4} needle"),
    ];
    close(&*logs, "a", ape).await;
    let hits = logs.search("needle", 9).await.unwrap();
    let shown: Vec<_> = hits
        .iter()
        .map(|hit| {
            let line = String::from_utf8_lossy(&hit.line).into_owned();
            (hit.step.node.0.as_str(), hit.offset, line)
        })
        .collect();
    let expected = [
        ("z", 3, "Error: one needle two".to_owned()),
        ("a", 600_001, "\u{e4} needle".to_owned()),
    ];
    assert_eq!(shown, expected);
    let first = bytes(&read(&*logs, "z", hits[0].offset).await);
    assert!(first.starts_with(b"Error: one needle two\n"));
    assert_eq!(logs.search("needle", 1).await.unwrap(), hits[..1]);
    assert!(logs.search("needle", 0).await.unwrap().is_empty());
    assert!(logs.search("Needle", 9).await.unwrap().is_empty());
    assert_eq!(logs.search("\u{e4}", 9).await.unwrap(), hits[1..]);
}

/// Nothing, or more than a line, cannot be searched for.
pub async fn search_needs_a_text_within_a_line(fixture: &dyn Fixture) {
    let logs = fixture.handle();
    close(&*logs, "a", sample()).await;
    for needle in ["", "a\nb"] {
        let error = logs.search(needle, 9).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid);
    }
}

/// A deleted log is gone, others stay, and the step may be closed again.
pub async fn deleted_log_is_forgotten(fixture: &dyn Fixture) {
    let (logs, other) = (fixture.handle(), fixture.handle());
    let large = vec![frame(1, Stream::Stdout, noise(1, 700_000))];
    close(&*logs, "a", large).await;
    close(&*logs, "b", sample()).await;
    for _ in 0..2 {
        other.delete(&step("a")).await.unwrap();
    }
    assert_eq!(logs.record(&step("a")).await.unwrap(), None);
    assert!(logs.read(&step("a"), 0).await.is_err());
    assert_eq!(read(&*logs, "b", 0).await, sample());
    close(&*logs, "a", sample()).await;
    for node in ["a", "b"] {
        assert_eq!(read(&*logs, node, 0).await, sample());
        logs.delete(&step(node)).await.unwrap();
    }
    close(&*logs, "a", sample()).await;
    assert_eq!(read(&*other, "a", 0).await, sample());
}
