//! Blobs: files by the digest of their bytes.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use groundplan_engine::time::Timestamp;
use groundplan_ports::{
    blobs::{Blobs, Digest},
    error::{ErrorKind, PortError, PortResult},
};
use groundplan_sealing::{digest, random_id};
use rustix::fs::{FlockOperation, flock};

use crate::{database::blocking, directory::DataDirectory, failure::explain_io};

/// What every digest begins with.
const ALGORITHM: &str = "sha256:";

/// Blobs in the data directory.
#[derive(Clone, Debug)]
pub struct BlobStore {
    files: Arc<Files>,
}

#[derive(Debug)]
struct Files {
    directory: PathBuf,
    /// Held shared while a blob is put, alone while some are deleted, so that none is deleted that
    /// is being put again.
    lock: PathBuf,
}

impl BlobStore {
    /// The blobs of this data directory. Blocks.
    pub fn open(directory: &DataDirectory) -> PortResult<Self> {
        let directory = directory.subdirectory("blobs")?;
        Ok(BlobStore {
            files: Arc::new(Files {
                lock: directory.join("lock"),
                directory,
            }),
        })
    }
}

#[async_trait]
impl Blobs for BlobStore {
    async fn put(&self, bytes: &[u8]) -> PortResult<Digest> {
        let (files, bytes) = (Arc::clone(&self.files), bytes.to_vec());
        blocking(move || files.put(&bytes)).await
    }

    async fn get(&self, digest: &Digest) -> PortResult<Vec<u8>> {
        let (files, digest) = (Arc::clone(&self.files), digest.clone());
        blocking(move || files.get(&digest)).await
    }

    async fn delete_unreferenced(
        &self,
        referenced: &[Digest],
        before: Timestamp,
    ) -> PortResult<u64> {
        let files = Arc::clone(&self.files);
        let mut referenced = referenced.to_vec();
        referenced.sort();
        blocking(move || files.delete_unreferenced(&referenced, before)).await
    }
}

impl Files {
    fn put(&self, bytes: &[u8]) -> PortResult<Digest> {
        let digest = Digest(digest(bytes));
        let path = self.path(&digest)?;
        let _lock = self.lock(FlockOperation::LockShared)?;
        if fs::read(&path).is_ok_and(|found| found == bytes) {
            touch(&path).map_err(|error| explain_io("touch", &path, error))?;
            return Ok(digest);
        }
        self.write(&path, bytes)
            .map_err(|error| explain_io("write", &path, error))?;
        Ok(digest)
    }

    /// Writes beside, and renames when all of it is on the disk.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let parent = path.parent().expect("a blob lies in a directory");
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)?;
        let unfinished = self.directory.join(format!("{}.unfinished", random_id()));
        let written = OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&unfinished)
            .and_then(|mut file| {
                file.write_all(bytes)?;
                file.sync_all()
            })
            .and_then(|()| fs::rename(&unfinished, path));
        if written.is_err() {
            // The first error is the one to tell.
            let _ = fs::remove_file(&unfinished);
        }
        written?;
        File::open(parent)?.sync_all()?;
        File::open(&self.directory)?.sync_all()
    }

    fn get(&self, wanted: &Digest) -> PortResult<Vec<u8>> {
        let path = self.path(wanted)?;
        let bytes = fs::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => PortError::new(
                ErrorKind::NotFound,
                format!("there is no blob `{}`", wanted.0),
            ),
            _ => explain_io("read", &path, error),
        })?;
        if digest(&bytes) != wanted.0 {
            return Err(PortError::new(
                ErrorKind::Broken,
                format!("the blob `{}` is damaged", path.display()),
            )
            .with_hint("restore the file from a backup"));
        }
        Ok(bytes)
    }

    fn delete_unreferenced(&self, referenced: &[Digest], before: Timestamp) -> PortResult<u64> {
        let _lock = self.lock(FlockOperation::LockExclusive)?;
        let millis = u64::try_from(before.0).unwrap_or(0);
        let before = SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
        let mut deleted = 0;
        for (path, digest) in self
            .list()
            .map_err(|error| explain_io("list", &self.directory, error))?
        {
            let keep = digest.is_some_and(|digest| referenced.binary_search(&digest).is_ok());
            let counted = path.extension().is_none();
            if !keep && delete_older(&path, before)? && counted {
                deleted += 1;
            }
        }
        Ok(deleted)
    }

    /// Every blob with its digest, and what unfinished writes left, without one.
    fn list(&self) -> io::Result<Vec<(PathBuf, Option<Digest>)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path();
            if path.extension().is_some() {
                found.push((path, None));
            } else if path.is_dir() {
                for entry in fs::read_dir(&path)? {
                    let path = entry?.path();
                    let name = path.file_name().unwrap_or_default().to_string_lossy();
                    let digest = Digest(format!("{ALGORITHM}{name}"));
                    found.push((path, Some(digest)));
                }
            }
        }
        Ok(found)
    }

    fn path(&self, digest: &Digest) -> PortResult<PathBuf> {
        let digits = digest.0.strip_prefix(ALGORITHM).filter(|digits| {
            digits.len() == 64
                && digits
                    .bytes()
                    .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
        });
        let digits = digits.ok_or_else(|| {
            PortError::new(ErrorKind::Invalid, format!("`{}` is no digest", digest.0))
        })?;
        Ok(self.directory.join(&digits[..2]).join(digits))
    }

    fn lock(&self, operation: FlockOperation) -> PortResult<File> {
        let explain = |error| explain_io("lock", &self.lock, error);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&self.lock)
            .map_err(explain)?;
        flock(&file, operation).map_err(|error| explain(error.into()))?;
        Ok(file)
    }
}

fn touch(path: &Path) -> io::Result<()> {
    OpenOptions::new()
        .write(true)
        .open(path)?
        .set_modified(SystemTime::now())
}

/// Deletes a file that is older; whether it did.
fn delete_older(path: &Path, before: SystemTime) -> PortResult<bool> {
    let delete = || {
        if fs::metadata(path)?.modified()? >= before {
            return Ok(false);
        }
        fs::remove_file(path)?;
        Ok(true)
    };
    match delete() {
        Err(error) if io::Error::kind(&error) == io::ErrorKind::NotFound => Ok(false),
        result => result.map_err(|error| explain_io("delete", path, error)),
    }
}
