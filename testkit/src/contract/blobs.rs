//! What every [`Blobs`] must do.

use std::sync::Arc;

use groundplan_engine::time::Timestamp;
use groundplan_ports::{blobs::Blobs, error::ErrorKind};

/// An implementation without any blob.
pub trait Fixture: Send + Sync {
    /// Another process's handle on the blobs.
    fn handle(&self) -> Arc<dyn Blobs>;
}

/// Makes a test of every case. The argument is an expression for a fresh [`Fixture`].
#[macro_export]
macro_rules! blobs_contract {
    ($fixture:expr) => {
        $crate::contract_cases!(
            blobs,
            $fixture,
            what_was_put_can_be_got,
            equal_bytes_have_one_digest,
            unreferenced_blobs_are_deleted,
            new_blobs_are_kept,
            putting_at_once_loses_nothing,
        );
    };
}

/// Later than any blob of a test.
const LATER: Timestamp = Timestamp(i64::MAX / 2);

/// Bytes of any length and kind come back.
pub async fn what_was_put_can_be_got(fixture: &dyn Fixture) {
    let (blobs, other) = (fixture.handle(), fixture.handle());
    for bytes in [Vec::new(), b"x".to_vec(), vec![0xff; 1_000_000]] {
        let digest = blobs.put(&bytes).await.unwrap();
        assert!(other.get(&digest).await.unwrap() == bytes);
    }
}

/// A repeat answers the same; other bytes answer another digest.
pub async fn equal_bytes_have_one_digest(fixture: &dyn Fixture) {
    let blobs = fixture.handle();
    let first = blobs.put(b"one").await.unwrap();
    let again = fixture.handle().put(b"one").await.unwrap();
    let other = blobs.put(b"two").await.unwrap();
    assert_eq!(first, again);
    assert_ne!(first, other);
    assert_eq!(blobs.get(&first).await.unwrap(), b"one");
    let deleted = blobs.delete_unreferenced(&[], LATER).await.unwrap();
    assert_eq!(deleted, 2, "a repeat stores nothing new");
}

/// What is not referred to is deleted and counted, the rest stays, and a deleted blob may come back.
pub async fn unreferenced_blobs_are_deleted(fixture: &dyn Fixture) {
    let blobs = fixture.handle();
    let mut digests = Vec::new();
    for bytes in [b"1", b"2", b"3", b"4"] {
        digests.push(blobs.put(bytes).await.unwrap());
    }
    let referenced = [digests[3].clone(), digests[1].clone()];
    for expected in [2, 0] {
        let deleted = blobs.delete_unreferenced(&referenced, LATER).await.unwrap();
        assert_eq!(deleted, expected);
    }
    for (at, digest) in digests.iter().enumerate() {
        let found = blobs.get(digest).await;
        match at {
            1 | 3 => assert!(found.is_ok()),
            _ => assert_eq!(found.unwrap_err().kind, ErrorKind::NotFound),
        }
    }
    let back = blobs.put(b"1").await.unwrap();
    assert_eq!(back, digests[0]);
    assert_eq!(blobs.get(&back).await.unwrap(), b"1");
}

/// What is not older than the time given stays, referred to or not.
pub async fn new_blobs_are_kept(fixture: &dyn Fixture) {
    let blobs = fixture.handle();
    let digest = blobs.put(b"new").await.unwrap();
    let deleted = blobs.delete_unreferenced(&[], Timestamp(0)).await.unwrap();
    assert_eq!(deleted, 0);
    assert_eq!(blobs.get(&digest).await.unwrap(), b"new");
}

/// Several processes put the same and other blobs while what is not referred to is deleted.
pub async fn putting_at_once_loses_nothing(fixture: &dyn Fixture) {
    let putting: Vec<_> = (0..6)
        .map(|number| {
            let blobs = fixture.handle();
            tokio::spawn(async move {
                for count in 0..10_u8 {
                    blobs.put(&[count]).await.unwrap();
                    blobs.put(&[count, number]).await.unwrap();
                    blobs.delete_unreferenced(&[], Timestamp(0)).await.unwrap();
                }
            })
        })
        .collect();
    for putting in putting {
        putting.await.unwrap();
    }
    let blobs = fixture.handle();
    for count in 0..10_u8 {
        let digest = blobs.put(&[count]).await.unwrap();
        assert_eq!(blobs.get(&digest).await.unwrap(), [count]);
    }
    let deleted = blobs.delete_unreferenced(&[], LATER).await.unwrap();
    assert_eq!(deleted, 70);
}
