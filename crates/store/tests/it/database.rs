//! Database files of other origins, and a disk that fills up.

use std::{fs, path::Path};

use groundplan_ports::{
    error::{ErrorKind, PortError},
    store::{Revision, Store},
};
use groundplan_store::{Database, Sqlite};
use rusqlite::Connection;

use crate::{
    directory::Sandbox,
    journal::OnDisk,
    process::{locks, turn},
};

fn refused(disk: &OnDisk) -> PortError {
    let error = Database::open(&disk.data()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Broken, "{error}");
    assert!(error.message.contains("groundplan.db"), "{error}");
    assert!(error.hint.is_some(), "{error}");
    error
}

fn file(disk: &OnDisk) -> std::path::PathBuf {
    disk.data().path().join("groundplan.db")
}

#[test]
fn database_of_a_newer_version_names_both_versions_and_the_way_out() {
    let disk = OnDisk::new();
    drop(disk.database());
    let connection = Connection::open(file(&disk)).unwrap();
    connection
        .execute("INSERT INTO migration VALUES (99, '9.8.7')", ())
        .unwrap();
    drop(connection);
    let error = refused(&disk);
    for part in ["format 99", "groundplan 9.8.7", env!("CARGO_PKG_VERSION")] {
        assert!(error.message.contains(part), "{error}");
    }
    let hint = error.hint.unwrap();
    assert!(
        hint.contains("9.8.7") && hint.contains("--data-dir"),
        "{hint}"
    );
    let connection = Connection::open(file(&disk)).unwrap();
    connection
        .execute("DELETE FROM migration WHERE number = 99", ())
        .unwrap();
    drop(connection);
    disk.database();
}

#[test]
fn database_of_another_program_is_left_alone() {
    let disk = OnDisk::new();
    let connection = Connection::open(file(&disk)).unwrap();
    connection.execute("CREATE TABLE t (a)", ()).unwrap();
    drop(connection);
    let error = refused(&disk);
    assert!(error.message.contains("another program"), "{error}");
    let connection = Connection::open(file(&disk)).unwrap();
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))
        .unwrap();
    assert_eq!(tables, 1);
}

#[test]
fn file_that_is_no_database_is_named() {
    let disk = OnDisk::new();
    fs::write(
        file(&disk),
        "no database at all, whatever its name\n".repeat(99),
    )
    .unwrap();
    let error = refused(&disk);
    assert!(error.message.contains("is not a database"), "{error}");
}

#[tokio::test]
async fn damaged_database_is_named() {
    let disk = OnDisk::new();
    let store = Sqlite::new(disk.database());
    for revision in 0..200 {
        let body = "x".repeat(1000);
        store.commit(turn(Revision(revision), &body)).await.unwrap();
    }
    drop(store);
    let mut bytes = fs::read(file(&disk)).unwrap();
    assert!(bytes.len() > 100_000);
    bytes[8192..].fill(0x5a);
    fs::write(file(&disk), bytes).unwrap();
    let said = match Database::open(&disk.data()) {
        Err(error) => error,
        Ok(database) => Sqlite::new(database).load(&locks()).await.unwrap_err(),
    };
    assert_eq!(said.kind, ErrorKind::Broken);
    assert!(said.message.contains("is damaged"), "{said}");
    assert!(said.hint.unwrap().contains("backup"));
}

#[test]
fn journal_survives_a_full_disk() {
    Sandbox {
        test: "database::journal_survives_a_full_disk",
        set_up: "mount -t tmpfs -o size=8m none \"$DIR\"",
    }
    .enter(|directory| {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(fill_and_free(directory));
    });
}

async fn fill_and_free(mount: &Path) {
    let directory = groundplan_store::DataDirectory::open(&mount.join("data")).unwrap();
    let store = Sqlite::new(Database::open(&directory).unwrap());
    store.commit(turn(Revision(0), "first")).await.unwrap();
    let filler = mount.join("filler");
    let mut size = 8 << 20;
    while size > 0 {
        // Bigger than what is left: fails when the last block is taken.
        let mut bytes = fs::read(&filler).unwrap_or_default();
        bytes.resize(bytes.len() + size, 1);
        if fs::write(&filler, &bytes).is_err() {
            size /= 2;
        }
    }
    let mut revision = 1;
    let error = loop {
        let body = "x".repeat(100_000);
        match store.commit(turn(Revision(revision), &body)).await {
            Ok(_) => revision += 1,
            Err(error) => break error,
        }
        assert!(revision < 1000, "the disk never fills");
    };
    assert_eq!(error.kind, ErrorKind::Broken);
    assert!(error.message.contains("is full"), "{error}");
    let loaded = store.load(&locks()).await.unwrap();
    assert_eq!(
        loaded.revision,
        Revision(revision),
        "nothing of the turn stays"
    );
    fs::remove_file(&filler).unwrap();
    let body = "y".repeat(100_000);
    store.commit(turn(Revision(revision), &body)).await.unwrap();
    let loaded = store.load(&locks()).await.unwrap();
    assert_eq!(loaded.revision, Revision(revision + 1));
}
