//! Running OpenTofu as a person does in a terminal: for demonstrations.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    process::Command,
};

use super::{bounded::run_telling, error::ToolError, locate::Located};

/// Runs the tool in `directory`, without a sandbox, and hands every line that it prints to `tell`.
/// Of the environment it sees `search_path` alone, so that no `TF_…` variable of this process has a
/// say. It ends when the tool does.
///
/// # Errors
/// *Run* where the tool cannot be started, *command* with its last lines where it fails.
pub fn by_hand(
    tofu: &Located,
    search_path: &OsStr,
    directory: &Path,
    arguments: &[OsString],
    tell: &mut dyn FnMut(&str),
) -> Result<(), ToolError> {
    let mut command = Command::new(&tofu.path);
    command
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .env("PATH", search_path)
        .env("HOME", "/nonexistent")
        .env("CHECKPOINT_DISABLE", "1")
        .env("TF_INPUT", "0");
    run_telling(&tofu.path.display().to_string(), command, tell)
}
