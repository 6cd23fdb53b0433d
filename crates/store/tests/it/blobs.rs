//! The blob store keeps the contract, and what only files can show.

use std::{fs, path::PathBuf, sync::Arc};

use groundplan_engine::time::Timestamp;
use groundplan_ports::{
    blobs::{Blobs, Digest},
    error::ErrorKind,
};
use groundplan_store::BlobStore;
use groundplan_testkit::{blobs_contract, contract::blobs::Fixture};

use crate::journal::OnDisk;

impl Fixture for OnDisk {
    fn handle(&self) -> Arc<dyn Blobs> {
        Arc::new(self.blobs())
    }
}

blobs_contract!(OnDisk::new());

impl OnDisk {
    fn blobs(&self) -> BlobStore {
        BlobStore::open(&self.data()).unwrap()
    }

    fn blob_path(&self, digest: &Digest) -> PathBuf {
        let digits = digest.0.strip_prefix("sha256:").unwrap();
        let directory = self.data().path().join("blobs").join(&digits[..2]);
        directory.join(digits)
    }
}

#[tokio::test]
async fn damaged_blob_is_broken_until_it_is_put_again() {
    let disk = OnDisk::new();
    let blobs = disk.blobs();
    let digest = blobs.put(b"good").await.unwrap();
    fs::write(disk.blob_path(&digest), b"evil").unwrap();
    let error = blobs.get(&digest).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Broken);
    blobs.put(b"good").await.unwrap();
    assert_eq!(blobs.get(&digest).await.unwrap(), b"good");
}

#[tokio::test]
async fn what_is_no_digest_is_no_path() {
    let blobs = OnDisk::new().blobs();
    for text in [
        "",
        "sha256:",
        "sha256:../../../etc/passwd",
        &format!("sha256:{}", "A".repeat(64)),
        &format!("md5:{}", "a".repeat(64)),
    ] {
        let error = blobs.get(&Digest(text.to_owned())).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid, "`{text}`");
    }
}

#[tokio::test]
async fn unfinished_writes_are_cleared_and_not_counted() {
    let disk = OnDisk::new();
    let blobs = disk.blobs();
    blobs.put(b"kept").await.unwrap();
    let left = disk.data().path().join("blobs/abc.unfinished");
    fs::write(&left, b"half").unwrap();
    let referenced = [blobs.put(b"kept").await.unwrap()];
    let later = Timestamp(i64::MAX / 2);
    let deleted = blobs.delete_unreferenced(&referenced, later).await.unwrap();
    assert_eq!(deleted, 0);
    assert!(!left.exists());
    assert_eq!(blobs.get(&referenced[0]).await.unwrap(), b"kept");
}
