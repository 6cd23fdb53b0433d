//! The one thread that writes: it takes the jobs that have come, runs them in one transaction, and
//! answers each of them when that transaction is on the disk.

use std::{
    path::PathBuf,
    sync::mpsc::Receiver,
    thread,
    time::{Duration, Instant},
};

use groundplan_ports::error::{ErrorKind, PortError};
use rusqlite::{Connection, ErrorCode};
use tokio::sync::watch;

use super::turnstile::Turnstile;
use crate::failure::{Failure, busy, explain_io};

/// How long a job may wait for other processes.
const PATIENCE: Duration = Duration::from_secs(20);

/// How many jobs may share a transaction.
const GROUP: usize = 128;

/// Whether others may want to know of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    /// It may be work for somebody.
    Give,
    /// It concerns only the caller.
    Spare,
}

/// A piece of work in the database.
pub(super) trait Job: Send {
    /// Does it inside the transaction.
    fn run(self: Box<Self>, connection: &Connection) -> Done;

    /// Answers that there was no transaction.
    fn refuse(self: Box<Self>, error: PortError);
}

/// Answers a job's caller, once it is known whether the transaction is on the disk.
type Reply = Box<dyn FnOnce(Result<(), PortError>) + Send>;

/// A job that was run.
pub(super) struct Done {
    /// Whether its changes stay.
    pub(super) keep: bool,
    /// Whether others are to be told.
    pub(super) hint: Hint,
    pub(super) reply: Reply,
}

/// A job of two closures: what is to be done, and what tells its result to who waits for it.
pub(super) struct Task<W, C> {
    pub(super) work: W,
    pub(super) hint: Hint,
    pub(super) caller: C,
}

impl<W, C, T> Job for Task<W, C>
where
    W: FnOnce(&Connection) -> Result<T, Failure> + Send,
    C: FnOnce(Result<T, Failure>) + Send + 'static,
    T: Send + 'static,
{
    fn run(self: Box<Self>, connection: &Connection) -> Done {
        let Task { work, hint, caller } = *self;
        let outcome = work(connection);
        Done {
            keep: outcome.is_ok(),
            hint,
            reply: Box::new(move |durable| {
                // Its own failure says more than that of the group.
                caller(outcome.and_then(|value| {
                    durable.map_err(Failure::Port)?;
                    Ok(value)
                }));
            }),
        }
    }

    fn refuse(self: Box<Self>, error: PortError) {
        (self.caller)(Err(Failure::Port(error)));
    }
}

/// What the thread owns.
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) turnstile: Turnstile,
    pub(super) database: PathBuf,
    pub(super) changes: watch::Sender<u64>,
    pub(super) jobs: Receiver<Box<dyn Job>>,
}

impl Writer {
    /// Works until every sender of jobs is gone.
    pub(super) fn run(self) {
        while let Ok(first) = self.jobs.recv() {
            self.turn(first);
        }
    }

    fn turn(&self, first: Box<dyn Job>) {
        let deadline = Instant::now() + PATIENCE;
        let entered = match self.turnstile.enter(deadline) {
            Ok(Some(turn)) => Ok(turn),
            Ok(None) => Err(busy(&self.database)),
            Err(error) => Err(explain_io("lock for writing", &self.database, error)),
        };
        let _turn = match entered {
            Ok(turn) => turn,
            Err(error) => return first.refuse(error),
        };
        if let Err(failure) = begin(&self.connection, deadline) {
            return first.refuse(failure.explain(&self.database));
        }
        let before = self.connection.total_changes();
        let done = self.run_jobs(first);
        let result = self.finish();
        let changed = self.connection.total_changes() != before;
        let hint = done.iter().any(|job| job.keep && job.hint == Hint::Give);
        if changed && hint && result.is_ok() {
            self.changes.send_modify(|count| *count += 1);
        }
        for job in done {
            (job.reply)(match &result {
                Ok(()) => Ok(()),
                Err(error) => Err(copy(error)),
            });
        }
    }

    /// Runs this job and those that wait behind it, each in a savepoint of its own.
    fn run_jobs(&self, first: Box<dyn Job>) -> Vec<Done> {
        let mut done = Vec::new();
        let mut next = Some(first);
        while let Some(job) = next.take() {
            done.push(self.run_job(job));
            // After an error such as a full disk SQLite may have ended the transaction itself.
            if self.connection.is_autocommit() || done.len() == GROUP {
                break;
            }
            next = self.jobs.try_recv().ok();
        }
        done
    }

    fn run_job(&self, job: Box<dyn Job>) -> Done {
        let begun = self.connection.execute_batch("SAVEPOINT job");
        let done = job.run(&self.connection);
        let ended = if done.keep {
            self.connection.execute_batch("RELEASE job")
        } else if self.connection.is_autocommit() {
            Ok(())
        } else {
            self.connection
                .execute_batch("ROLLBACK TO job; RELEASE job")
        };
        if begun.and(ended).is_err() && !self.connection.is_autocommit() {
            // Nothing of this transaction can be trusted; without it `finish` refuses every job.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        done
    }

    fn finish(&self) -> Result<(), PortError> {
        if self.connection.is_autocommit() {
            let said = "the transaction was given up because one of its statements failed";
            let kind = ErrorKind::Transient { retry_after: None };
            return Err(PortError::new(kind, said));
        }
        self.connection.execute_batch("COMMIT").map_err(|error| {
            let _ = self.connection.execute_batch("ROLLBACK");
            Failure::Sql(error).explain(&self.database)
        })
    }
}

/// Begins to write; another program that uses the file may keep us waiting.
pub(super) fn begin(connection: &Connection, deadline: Instant) -> Result<(), Failure> {
    loop {
        match connection.execute_batch("BEGIN IMMEDIATE") {
            Ok(()) => return Ok(()),
            Err(error) => {
                let is_busy = error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy);
                if !is_busy || Instant::now() >= deadline {
                    return Err(error.into());
                }
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// The same error for another job of the group.
fn copy(error: &PortError) -> PortError {
    PortError {
        kind: error.kind,
        message: error.message.clone(),
        hint: error.hint.clone(),
        source: error
            .source
            .as_ref()
            .map(|source| source.to_string().into()),
    }
}
