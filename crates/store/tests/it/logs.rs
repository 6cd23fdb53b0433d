//! The archive keeps the contract, and what only files can show.

use std::{
    collections::VecDeque,
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::{FileExt, MetadataExt},
    path::PathBuf,
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

#[tokio::test]
async fn deleting_gives_the_disk_space_back() {
    let disk = OnDisk::new();
    let archive = disk.archive();
    // Text that does not compress: every byte in two of 16 letters, drawn by a linear generator.
    let mut state = 1_u64;
    let noise: Vec<u8> = (0..2_000_000)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state.to_be_bytes()[0]
        })
        .collect();
    close(&archive, "large", &noise).await;
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
