//! Logs, blobs and secrets in memory. Like their real counterparts they outlive a "crash".

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use groundplan_engine::{id::StepId, time::Timestamp};
use groundplan_ports::{
    blobs::{Blobs, Digest},
    error::{ErrorKind, PortError, PortResult},
    logs::{LogFrame, LogHit, LogRecord, LogSource, Logs},
    secrets::{ResolvedSecret, SecretRef, SecretScope, SecretValue, Secrets},
};

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A digest that tells contents apart in a test; it is no cryptographic one.
fn digest_of(bytes: &[u8]) -> Digest {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Digest(format!("fnv64:{hash:016x}-{}", bytes.len()))
}

/// Blobs in memory.
#[derive(Debug, Default)]
pub struct MemoryBlobs {
    blobs: Mutex<BTreeMap<Digest, Vec<u8>>>,
}

#[async_trait]
impl Blobs for MemoryBlobs {
    async fn put(&self, bytes: &[u8]) -> PortResult<Digest> {
        let digest = digest_of(bytes);
        locked(&self.blobs).insert(digest.clone(), bytes.to_vec());
        Ok(digest)
    }

    async fn get(&self, digest: &Digest) -> PortResult<Vec<u8>> {
        locked(&self.blobs)
            .get(digest)
            .cloned()
            .ok_or_else(|| PortError::new(ErrorKind::NotFound, format!("no blob `{}`", digest.0)))
    }

    async fn delete_unreferenced(
        &self,
        referenced: &[Digest],
        before: Timestamp,
    ) -> PortResult<u64> {
        // Blobs here are as old as time.
        if before <= Timestamp(0) {
            return Ok(0);
        }
        let mut blobs = locked(&self.blobs);
        let before = blobs.len();
        blobs.retain(|digest, _| referenced.contains(digest));
        Ok((before - blobs.len()) as u64)
    }
}

/// Frames in memory.
#[derive(Debug)]
pub struct MemoryLog(pub VecDeque<Vec<LogFrame>>);

#[async_trait]
impl LogSource for MemoryLog {
    async fn next(&mut self) -> PortResult<Option<Vec<LogFrame>>> {
        Ok(self.0.pop_front())
    }
}

/// Closed logs in memory.
#[derive(Debug, Default)]
pub struct MemoryLogs {
    /// In the order they were closed.
    logs: Mutex<Vec<(StepId, Vec<LogFrame>)>>,
}

impl MemoryLogs {
    fn frames(&self, step: &StepId) -> Option<Vec<LogFrame>> {
        let logs = locked(&self.logs);
        let found = logs.iter().find(|(closed, _)| closed == step);
        found.map(|(_, frames)| frames.clone())
    }
}

fn record_of(step: &StepId, frames: &[LogFrame]) -> LogRecord {
    let bytes: Vec<u8> = frames
        .iter()
        .flat_map(|frame| frame.bytes.clone())
        .collect();
    LogRecord {
        step: step.clone(),
        length: bytes.len() as u64,
        digest: digest_of(&bytes),
    }
}

#[async_trait]
impl Logs for MemoryLogs {
    async fn close(&self, step: &StepId, source: &mut dyn LogSource) -> PortResult<LogRecord> {
        let mut frames = Vec::new();
        while let Some(more) = source.next().await? {
            frames.extend(more);
        }
        let mut logs = locked(&self.logs);
        let closed = logs.iter().find(|(closed, _)| closed == step);
        let record = record_of(step, closed.map_or(&frames, |(_, first)| first));
        if closed.is_none() {
            logs.push((step.clone(), frames));
        }
        Ok(record)
    }

    async fn record(&self, step: &StepId) -> PortResult<Option<LogRecord>> {
        let frames = self.frames(step);
        Ok(frames.map(|frames| record_of(step, &frames)))
    }

    async fn read(&self, step: &StepId, offset: u64) -> PortResult<Box<dyn LogSource>> {
        let frames = self
            .frames(step)
            .ok_or_else(|| PortError::new(ErrorKind::NotFound, format!("no log of `{step}`")))?;
        let mut skip = usize::try_from(offset).unwrap_or(usize::MAX);
        let frames = frames
            .into_iter()
            .filter_map(|mut frame| {
                let cut = skip.min(frame.bytes.len());
                skip -= cut;
                frame.bytes.drain(..cut);
                (!frame.bytes.is_empty()).then_some(frame)
            })
            .collect();
        Ok(Box::new(MemoryLog(VecDeque::from([frames]))))
    }

    async fn search(&self, needle: &str, limit: usize) -> PortResult<Vec<LogHit>> {
        if needle.is_empty() || needle.contains('\n') {
            let said = "a search needs a text within one line";
            return Err(PortError::new(ErrorKind::Invalid, said));
        }
        let mut hits = Vec::new();
        for (step, frames) in locked(&self.logs).iter() {
            let bytes: Vec<u8> = frames
                .iter()
                .flat_map(|frame| frame.bytes.clone())
                .collect();
            let mut offset = 0;
            for line in bytes.split(|byte| *byte == b'\n') {
                if String::from_utf8_lossy(line).contains(needle) && hits.len() < limit {
                    hits.push(LogHit {
                        step: step.clone(),
                        offset,
                        line: line.to_vec(),
                    });
                }
                offset += line.len() as u64 + 1;
            }
        }
        Ok(hits)
    }

    async fn delete(&self, step: &StepId) -> PortResult<()> {
        locked(&self.logs).retain(|(closed, _)| closed != step);
        Ok(())
    }
}

/// Secrets in memory.
#[derive(Debug, Default)]
pub struct MemorySecrets {
    objects: BTreeMap<(String, String), SecretValue>,
    sealed: Mutex<Vec<SecretValue>>,
}

impl MemorySecrets {
    /// The same with one more key of a secret.
    #[must_use]
    pub fn with(mut self, name: &str, key: &str, value: &str) -> Self {
        self.objects
            .insert((name.to_owned(), key.to_owned()), SecretValue::new(value));
        self
    }
}

#[async_trait]
impl Secrets for MemorySecrets {
    async fn resolve(
        &self,
        _scope: &SecretScope,
        reference: &SecretRef,
    ) -> PortResult<Vec<ResolvedSecret>> {
        let found: Vec<ResolvedSecret> = self
            .objects
            .iter()
            .filter(|((name, key), _)| {
                *name == reference.name && reference.key.as_ref().is_none_or(|wanted| wanted == key)
            })
            .map(|((_, key), value)| ResolvedSecret {
                key: key.clone(),
                value: value.clone(),
            })
            .collect();
        if found.is_empty() {
            return Err(PortError::new(
                ErrorKind::NotFound,
                format!(
                    "no key `{}` of secret `{}`",
                    reference.key.as_deref().unwrap_or("*"),
                    reference.name
                ),
            ));
        }
        Ok(found)
    }

    async fn seal(&self, value: &SecretValue) -> PortResult<String> {
        let mut sealed = locked(&self.sealed);
        sealed.push(value.clone());
        Ok(format!("<sealed:{}>", sealed.len() - 1))
    }

    async fn open(&self, text: &str) -> PortResult<Vec<(String, SecretValue)>> {
        let sealed = locked(&self.sealed);
        let tokens = sealed
            .iter()
            .enumerate()
            .map(|(place, value)| (format!("<sealed:{place}>"), value.clone()));
        Ok(tokens
            .filter(|(token, _)| text.contains(token.as_str()))
            .collect())
    }
}
