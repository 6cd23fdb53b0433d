//! The database file: opened and brought up to date, read by one connection, written by one thread.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        mpsc::{self, Sender},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use groundplan_ports::error::{ErrorKind, PortError, PortResult};
use rusqlite::{Connection, OpenFlags};
use tokio::sync::{oneshot, watch};

use self::{
    migration::migrate,
    turnstile::Turnstile,
    writer::{Job, Task, Writer, begin},
};
use crate::{
    directory::DataDirectory,
    failure::{Failure, busy, explain_io},
};

mod migration;
mod turnstile;
mod writer;

pub(crate) use self::writer::Hint;

/// Name of the database within the data directory.
const FILE: &str = "groundplan.db";

/// How long opening may wait for other processes.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often other processes' changes are looked for while somebody waits for a hint.
const POLL: Duration = Duration::from_millis(40);

/// The database of a data directory. Clones share one writer and one reader.
#[derive(Clone)]
pub struct Database(Arc<Shared>);

struct Shared {
    path: PathBuf,
    reader: Mutex<Reader>,
    /// `None` only while being dropped.
    jobs: Option<Sender<Box<dyn Job>>>,
    writer: Option<JoinHandle<()>>,
    changes: watch::Sender<u64>,
    seen: Mutex<watch::Receiver<u64>>,
}

struct Reader {
    connection: Connection,
    /// SQLite's counter of other connections' commits, as last seen.
    version: i64,
}

impl Database {
    /// Opens the database of a data directory, makes it where there is none, and brings its tables to
    /// this version's format. Blocks; a database of a newer version is *broken*.
    pub fn open(directory: &DataDirectory) -> PortResult<Self> {
        let path = directory.path().join(FILE);
        let turnstile = Turnstile::open(directory.path())
            .map_err(|error| explain_io("make lock files in", directory.path(), error))?;
        let explain = |failure: Failure| failure.explain(&path);
        let connection = prepare(&path, &turnstile).map_err(explain)?;
        let reader = open_reader(&path).map_err(|error| explain(error.into()))?;
        let (jobs, received) = mpsc::channel();
        let (changes, seen) = watch::channel(0);
        let writer = Writer {
            connection,
            turnstile,
            database: path.clone(),
            changes: changes.clone(),
            jobs: received,
        };
        let writer = std::thread::Builder::new()
            .name("groundplan-writer".to_owned())
            .spawn(move || writer.run())
            .map_err(|error| explain_io("start a writer of", &path, error))?;
        Ok(Database(Arc::new(Shared {
            path,
            reader: Mutex::new(reader),
            jobs: Some(jobs),
            writer: Some(writer),
            changes,
            seen: Mutex::new(seen),
        })))
    }

    /// Where the file lies.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Does work in a transaction that is on the disk when this answers. Cancelled, it happens wholly
    /// or not at all.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        hint: Hint,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> PortResult<T> {
        let (sender, answer) = oneshot::channel();
        self.send(Task {
            work,
            hint,
            // The caller may have gone.
            caller: move |result| drop(sender.send(result)),
        });
        let answer = answer.await.map_err(|_| self.no_writer())?;
        answer.map_err(|failure| failure.explain(&self.0.path))
    }

    /// The same for who may block.
    pub(crate) fn write_blocking<T: Send + 'static>(
        &self,
        hint: Hint,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> PortResult<T> {
        let (sender, answer) = mpsc::sync_channel(1);
        self.send(Task {
            work,
            hint,
            caller: move |result| drop(sender.send(result)),
        });
        let answer = answer.recv().map_err(|_| self.no_writer())?;
        answer.map_err(|failure| failure.explain(&self.0.path))
    }

    /// Hands a job to the writer. Where that has ended, the job is dropped, and its caller notices.
    fn send(&self, job: impl Job + 'static) {
        let jobs = self.0.jobs.as_ref();
        let _ = jobs.map(|jobs| jobs.send(Box::new(job)));
    }

    fn no_writer(&self) -> PortError {
        PortError::new(
            ErrorKind::Broken,
            format!("the writer of `{}` has ended", self.0.path.display()),
        )
        .with_hint("this is a bug; start again")
    }

    /// Does reading work on one state of the database.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> PortResult<T> {
        let shared = Arc::clone(&self.0);
        blocking(move || {
            let reader = shared.reader.lock().expect("no reading work panics");
            let read = || {
                let transaction = reader.connection.unchecked_transaction()?;
                let value = work(&transaction)?;
                transaction.finish()?;
                Ok(value)
            };
            read().map_err(|failure: Failure| failure.explain(&shared.path))
        })
        .await
    }

    /// Answers when something changed, or after `most`.
    pub(crate) async fn wait_for_hint(&self, most: Duration) -> PortResult<()> {
        let end = tokio::time::Instant::now() + most;
        let mut seen = self.seen().clone();
        loop {
            self.look_for_changes().await?;
            let now = tokio::time::Instant::now();
            let pause = POLL.min(end.saturating_duration_since(now));
            let changed = tokio::time::timeout(pause, seen.changed()).await;
            if changed.is_ok() {
                *self.seen() = seen;
                return Ok(());
            }
            if tokio::time::Instant::now() >= end {
                return Ok(());
            }
        }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, watch::Receiver<u64>> {
        self.0.seen.lock().expect("no holder of the lock panics")
    }

    /// Tells everybody who waits here when another process has committed.
    async fn look_for_changes(&self) -> PortResult<()> {
        let shared = Arc::clone(&self.0);
        blocking(move || {
            let mut reader = shared.reader.lock().expect("no reading work panics");
            let version = data_version(&reader.connection)
                .map_err(|error| Failure::Sql(error).explain(&shared.path))?;
            if version != reader.version {
                reader.version = version;
                shared.changes.send_modify(|count| *count += 1);
            }
            Ok(())
        })
        .await
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Database({})", self.0.path.display())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(writer) = self.writer.take() {
            // What it panicked with was said where it happened.
            let _ = writer.join();
        }
    }
}

/// Runs blocking work on a thread for it.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> PortResult<T> + Send + 'static,
) -> PortResult<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => Err(PortError::new(
            ErrorKind::Transient { retry_after: None },
            "the process is shutting down",
        )
        .caused_by(error)),
    }
}

/// Opens the writing connection and brings the tables up to date, alone among all processes.
fn prepare(path: &Path, turnstile: &Turnstile) -> Result<Connection, Failure> {
    let deadline = Instant::now() + PATIENCE;
    let turn = turnstile
        .enter(deadline)
        .map_err(|error| explain_io("lock for writing", path, error))?;
    let _turn = turn.ok_or_else(|| busy(path))?;
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(PATIENCE)?;
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    if mode != "wal" {
        return Err(PortError::new(
            ErrorKind::Broken,
            format!("`{}` cannot keep a write-ahead log", path.display()),
        )
        .with_hint("the data directory needs a local file system; choose one with `--data-dir`")
        .into());
    }
    connection.busy_timeout(Duration::ZERO)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.set_prepared_statement_cache_capacity(64);
    begin(&connection, deadline)?;
    let migrated = migrate(&connection, path);
    connection.execute_batch(if migrated.is_ok() {
        "COMMIT"
    } else {
        "ROLLBACK"
    })?;
    migrated?;
    Ok(connection)
}

fn open_reader(path: &Path) -> Result<Reader, rusqlite::Error> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.set_prepared_statement_cache_capacity(64);
    let version = data_version(&connection)?;
    Ok(Reader {
        connection,
        version,
    })
}

fn data_version(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.pragma_query_value(None, "data_version", |row| row.get(0))
}
