//! The journal keeps the contract.

use std::{
    process::{Command, Stdio},
    sync::Arc,
};

use groundplan_ports::store::{Owner, Store};
use groundplan_store::{DataDirectory, Database, Sqlite, owner};
use groundplan_testkit::{contract::store::Fixture, store_contract};
use tempfile::TempDir;

pub(crate) struct OnDisk {
    pub(crate) directory: TempDir,
}

impl OnDisk {
    pub(crate) fn new() -> Self {
        OnDisk {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn data(&self) -> DataDirectory {
        DataDirectory::open(&self.directory.path().join("data")).unwrap()
    }

    /// Its own connections and writer, as another process has them.
    pub(crate) fn database(&self) -> Database {
        Database::open(&self.data()).unwrap()
    }
}

impl Fixture for OnDisk {
    fn handle(&self) -> Arc<dyn Store> {
        Arc::new(Sqlite::new(self.database()))
    }

    fn dead_owner(&self) -> Owner {
        let mut child = Command::new("cat")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut owner = owner::current().unwrap();
        owner.pid = child.id();
        child.wait().unwrap();
        owner
    }
}

store_contract!(OnDisk::new());
