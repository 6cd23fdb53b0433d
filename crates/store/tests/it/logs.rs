//! The archive keeps the contract, and what only files can show.

use std::{
    collections::VecDeque,
    env,
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::{FileExt, MetadataExt},
    path::PathBuf,
    process::Command,
    sync::Arc,
};

use async_trait::async_trait;
use groundplan_engine::{
    id::{NodeId, RunId, StepId},
    time::Timestamp,
};
use groundplan_ports::{
    error::{ErrorKind, PortResult},
    logs::{LogFrame, LogSource, Logs, Stream},
};
use groundplan_store::LogArchive;
use groundplan_testkit::{contract::logs::Fixture, logs_contract};

use crate::journal::OnDisk;

impl Fixture for OnDisk {
    fn handle(&self) -> Arc<dyn Logs> {
        Arc::new(self.archive())
    }
}

logs_contract!(OnDisk::new());

impl OnDisk {
    fn archive(&self) -> LogArchive {
        LogArchive::open(&self.data(), self.database()).unwrap()
    }

    fn chunks(&self) -> Vec<PathBuf> {
        let mut paths: Vec<_> = fs::read_dir(self.data().path().join("logs"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        paths
    }
}

/// Gives the same frame again and again.
struct Endless {
    frame: LogFrame,
    left: usize,
}

#[async_trait]
impl LogSource for Endless {
    async fn next(&mut self) -> PortResult<Option<Vec<LogFrame>>> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        self.left = left;
        Ok(Some(vec![self.frame.clone()]))
    }
}

struct Given(VecDeque<Vec<u8>>);

#[async_trait]
impl LogSource for Given {
    async fn next(&mut self) -> PortResult<Option<Vec<LogFrame>>> {
        Ok(self.0.pop_front().map(|bytes| {
            vec![LogFrame {
                at: Timestamp(1),
                stream: Stream::Stdout,
                bytes,
            }]
        }))
    }
}

fn step(node: &str) -> StepId {
    StepId {
        run: RunId("01run".to_owned()),
        node: NodeId(node.to_owned()),
        execution: 1,
    }
}

async fn close(archive: &LogArchive, node: &str, bytes: &[u8]) {
    let mut source = Given(VecDeque::from([bytes.to_vec()]));
    archive.close(&step(node), &mut source).await.unwrap();
}

async fn read(archive: &LogArchive, node: &str) -> PortResult<Vec<u8>> {
    let mut source = archive.read(&step(node), 0).await?;
    let mut bytes = Vec::new();
    while let Some(frames) = source.next().await? {
        for frame in frames {
            bytes.extend(frame.bytes);
        }
    }
    Ok(bytes)
}

/// What a process leaves that dies while it appends.
#[tokio::test]
async fn half_appended_log_is_overwritten() {
    let disk = OnDisk::new();
    let archive = disk.archive();
    close(&archive, "before", b"before\n").await;
    let chunk = disk.chunks().remove(0);
    let whole = fs::metadata(&chunk).unwrap().len();
    let mut file = OpenOptions::new().append(true).open(&chunk).unwrap();
    file.write_all(&[0x5a; 5000]).unwrap();
    drop(file);
    close(&archive, "after", b"after\n").await;
    assert_eq!(disk.chunks().len(), 1);
    assert!(fs::metadata(&chunk).unwrap().len() < whole + 5000);
    assert_eq!(read(&archive, "before").await.unwrap(), b"before\n");
    assert_eq!(read(&archive, "after").await.unwrap(), b"after\n");
}

#[tokio::test]
async fn damaged_or_missing_chunk_is_named() {
    let disk = OnDisk::new();
    let archive = disk.archive();
    close(&archive, "a", b"some text\n").await;
    let chunk = disk.chunks().remove(0);
    let file = OpenOptions::new().write(true).open(&chunk).unwrap();
    file.write_all_at(b"?", 5).unwrap();
    let error = read(&archive, "a").await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Broken);
    assert!(error.message.contains("01run/a/1"), "{error}");
    assert!(error.message.contains("00000001.chunk"), "{error}");
    file.set_len(3).unwrap();
    assert_eq!(
        read(&archive, "a").await.unwrap_err().kind,
        ErrorKind::Broken
    );
    fs::remove_file(&chunk).unwrap();
    assert_eq!(
        read(&archive, "a").await.unwrap_err().kind,
        ErrorKind::Broken
    );
}

/// Bytes that do not compress, from a linear generator.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[tokio::test]
async fn log_that_is_deleted_while_it_is_read_is_not_found() {
    let disk = OnDisk::new();
    let archive = disk.archive();
    close(&archive, "a", &noise(700_000)).await;
    close(&archive, "b", b"other\n").await;
    let mut source = archive.read(&step("a"), 0).await.unwrap();
    assert!(source.next().await.unwrap().is_some());
    archive.delete(&step("a")).await.unwrap();
    let error = source.next().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound, "{error}");
}

#[tokio::test]
async fn deleting_gives_the_disk_space_back() {
    let disk = OnDisk::new();
    let archive = disk.archive();
    close(&archive, "large", &noise(2_000_000)).await;
    close(&archive, "small", b"small\n").await;
    let chunk = disk.chunks().remove(0);
    let blocks = || fs::metadata(&chunk).unwrap().blocks() * 512;
    let before = blocks();
    archive.delete(&step("large")).await.unwrap();
    assert_eq!(read(&archive, "small").await.unwrap(), b"small\n");
    let punched = blocks();
    assert!(punched + 1_500_000 < before, "{punched} of {before}");
    archive.delete(&step("small")).await.unwrap();
    assert!(disk.chunks().is_empty(), "an empty chunk is deleted");
}

#[tokio::test]
async fn repetitive_text_becomes_small() {
    let disk = OnDisk::new();
    let archive = disk.archive();
    let text = "aws_instance.web: Still creating... [10s elapsed]\n".repeat(40_000);
    close(&archive, "a", text.as_bytes()).await;
    let size = fs::metadata(disk.chunks().remove(0)).unwrap().len();
    assert!(size < text.len() as u64 / 50, "{size} bytes");
    assert!(read(&archive, "a").await.unwrap() == text.as_bytes());
}

/// In a process of its own, whose memory nobody else uses.
#[test]
fn long_log_takes_little_memory() {
    const ALONE: &str = "GROUNDPLAN_TEST_ALONE";
    const MEGABYTES: usize = 100;
    if env::var_os(ALONE).is_none() {
        let status = Command::new(env::current_exe().unwrap())
            .args([
                "--exact",
                "logs::long_log_takes_little_memory",
                "--nocapture",
            ])
            .env(ALONE, "1")
            .status()
            .unwrap();
        assert!(status.success(), "the test in its own process failed");
        return;
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let disk = OnDisk::new();
        let archive = disk.archive();
        let bytes = b"aws_instance.web[4711]: Still creating...\n".repeat(1561);
        let mut source = Endless {
            left: MEGABYTES * 1_000_000 / bytes.len(),
            frame: LogFrame {
                at: Timestamp(1),
                stream: Stream::Stdout,
                bytes,
            },
        };
        let record = archive.close(&step("a"), &mut source).await.unwrap();
        assert!(record.length > 99_000_000);
        let mut source = archive.read(&step("a"), 0).await.unwrap();
        let mut length = 0;
        while let Some(frames) = source.next().await.unwrap() {
            length += frames.iter().map(|frame| frame.bytes.len()).sum::<usize>();
        }
        assert_eq!(length as u64, record.length);
        assert!(archive.search("Destroying", 1).await.unwrap().is_empty());
    });
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|peak| peak.split_whitespace().next())
        .map(|peak| peak.parse::<usize>().unwrap())
        .unwrap();
    assert!(peak < 64 * 1024, "{peak} KiB at the peak");
}
