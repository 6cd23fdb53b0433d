//! Exit codes: one table for every command.

use std::process::ExitCode;

use crate::{failure::Failure, terminal};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// A user error, an unmet requirement, or a failed run.
    Failed = 1,
    /// Changes or drift, where `--detailed-exitcode` asked.
    Changes = 2,
    /// Nothing is known.
    Unknown = 3,
    /// A document has errors (or warnings, where those count).
    Lint = 4,
    /// The command line makes no sense.
    Usage = 64,
    /// A bug of ours.
    Bug = 70,
    /// Detached: the run goes on.
    Detached = 75,
    /// Interrupted by the person.
    Interrupted = 130,
}

/// The process's exit code; a failure is printed first.
pub(crate) fn code(result: Result<Exit, Failure>) -> ExitCode {
    let exit = match result {
        Ok(exit) => exit,
        Err(failure) => {
            terminal::error(&failure);
            failure.exit()
        }
    };
    let exit = match terminal::lost() {
        Some(error) => {
            terminal::note(format!("error: standard output is not complete: {error}"));
            if exit == Exit::Done {
                Exit::Failed
            } else {
                exit
            }
        }
        None => exit,
    };
    ExitCode::from(exit as u8)
}

/// Help, version, or a command line that makes no sense.
pub(crate) fn instead(error: &clap::Error) -> ExitCode {
    // Nothing can be done when the terminal is gone.
    let _ = error.print();
    ExitCode::from(if error.use_stderr() {
        Exit::Usage as u8
    } else {
        Exit::Done as u8
    })
}
