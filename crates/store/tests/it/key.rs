//! The installation's key and its loss.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use groundplan_ports::{
    error::{ErrorKind, PortError},
    secrets::{SecretValue, Secrets},
};
use groundplan_sealing::Key;
use groundplan_store::{FileSecrets, installation_key};

use crate::journal::OnDisk;

fn key(disk: &OnDisk, file: Option<&Path>) -> Result<Key, PortError> {
    installation_key(&disk.data(), &disk.database(), file)
}

fn refused(disk: &OnDisk, file: Option<&Path>) -> PortError {
    let error = key(disk, file).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Broken, "{error}");
    assert!(error.hint.is_some(), "{error}");
    error
}

fn own_file(disk: &OnDisk) -> PathBuf {
    disk.data().path().join("installation.key")
}

async fn seal_something(disk: &OnDisk, key: &Key) {
    let secrets = FileSecrets::read(&[], disk.database(), key.clone()).unwrap();
    secrets.seal(&SecretValue::new("one")).await.unwrap();
    secrets.seal(&SecretValue::new("two")).await.unwrap();
}

#[test]
fn key_is_made_once_and_for_its_owner_alone() {
    let disk = OnDisk::new();
    let (one, two) = std::thread::scope(|scope| {
        let other = scope.spawn(|| key(&disk, None));
        (key(&disk, None), other.join().unwrap())
    });
    let fingerprint = one.unwrap().fingerprint();
    assert_eq!(two.unwrap().fingerprint(), fingerprint);
    assert_eq!(key(&disk, None).unwrap().fingerprint(), fingerprint);
    let mode = fs::metadata(own_file(&disk)).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
}

#[tokio::test]
async fn lost_key_names_what_cannot_be_read() {
    let disk = OnDisk::new();
    let first = key(&disk, None).unwrap();
    seal_something(&disk, &first).await;
    let text = fs::read(own_file(&disk)).unwrap();
    fs::remove_file(own_file(&disk)).unwrap();
    let error = refused(&disk, None);
    for part in [
        "installation.key",
        &first.fingerprint(),
        "2 sensitive outputs",
    ] {
        assert!(error.message.contains(part), "{error}");
    }
    assert!(!own_file(&disk).exists(), "no other key takes its place");

    let moved = disk.directory.path().join("moved.key");
    fs::write(&moved, text).unwrap();
    fs::set_permissions(&moved, fs::Permissions::from_mode(0o600)).unwrap();
    let found = key(&disk, Some(&moved)).unwrap();
    assert_eq!(found.fingerprint(), first.fingerprint());
}

#[test]
fn another_key_is_told_from_the_right_one() {
    let disk = OnDisk::new();
    let first = key(&disk, None).unwrap();
    let other = Key::generate();
    fs::write(own_file(&disk), other.encode()).unwrap();
    let error = refused(&disk, None);
    assert!(error.message.contains(&first.fingerprint()), "{error}");
    assert!(error.message.contains(&other.fingerprint()), "{error}");
    assert!(!error.message.contains(&other.encode()), "{error}");
}

#[test]
fn key_file_must_be_there_closed_and_a_key() {
    let disk = OnDisk::new();
    let given = disk.directory.path().join("given.key");
    let error = refused(&disk, Some(&given));
    assert!(error.message.contains("is missing"), "{error}");
    assert!(!own_file(&disk).exists() && !given.exists());

    fs::write(&given, Key::generate().encode()).unwrap();
    fs::set_permissions(&given, fs::Permissions::from_mode(0o640)).unwrap();
    let error = refused(&disk, Some(&given));
    assert!(error.hint.unwrap().contains("chmod 600"));

    fs::write(&given, "hunter2").unwrap();
    fs::set_permissions(&given, fs::Permissions::from_mode(0o600)).unwrap();
    let error = refused(&disk, Some(&given));
    assert!(error.message.contains("holds no key"), "{error}");
    assert!(!format!("{error:?}").contains("hunter2"));

    fs::write(&given, format!("{}\n", Key::generate().encode())).unwrap();
    key(&disk, Some(&given)).unwrap();
    assert!(!own_file(&disk).exists());
}
