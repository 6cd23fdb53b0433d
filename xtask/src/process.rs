//! Running other programs without what `cargo run` adds to the environment.

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use crate::failure::{Failure, Outcome};

/// Variables that `cargo run` sets for the program it runs. Handed on, they would make build
/// scripts see another environment, and so build everything twice.
const SET_BY_CARGO_RUN: [&str; 4] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "OUT_DIR"];

/// A program to be run in the given folder.
pub(crate) fn program(name: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(name);
    command.current_dir(folder);
    for (variable, _) in std::env::vars_os() {
        let lossy = variable.to_string_lossy();
        if SET_BY_CARGO_RUN
            .iter()
            .any(|prefix| lossy.starts_with(prefix))
        {
            command.env_remove(&variable);
        }
    }
    command
}

/// The cargo that runs us.
pub(crate) fn cargo(folder: &Path) -> Command {
    program(
        std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
        folder,
    )
}

/// The command as a person would type it.
pub(crate) fn written(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program());
    std::iter::once(name)
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Runs it with our terminal; a failure names the command.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let status = command
        .status()
        .map_err(|error| cannot_start(command, &error))?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "`{}` failed: {status}",
            written(command)
        ))),
    }
}

/// Runs it and answers its standard output; standard error goes to our terminal.
pub(crate) fn output(command: &mut Command) -> Outcome<Vec<u8>> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| cannot_start(command, &error))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(Failure::new(format!(
            "`{}` failed: {}",
            written(command),
            output.status
        ))),
    }
}

/// Runs it, shows each line of its standard output and answers them all, and whether it succeeded.
pub(crate) fn watched(command: &mut Command) -> Outcome<(bool, Vec<String>)> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| cannot_start(command, &error))?;
    let stdout = child.stdout.take().expect("standard output is piped");
    let mut lines = Vec::new();
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        println!("{line}");
        lines.push(line);
    }
    let status = child.wait().map_err(|error| {
        Failure::new(format!("cannot wait for `{}`: {error}", written(command)))
    })?;
    Ok((status.success(), lines))
}

/// Whether it runs and succeeds; nothing of it is shown.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Whether a program of this name is on `PATH` or in a folder for administrators.
pub(crate) fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .any(|folder| folder.join(name).is_file())
}

fn cannot_start(command: &Command, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot start `{}`: {error}", written(command)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_run_sets_is_not_handed_on() {
        // The test itself runs under cargo, so the variables are there.
        assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
        let out = output(&mut program("env", Path::new("/"))).expect("env runs");
        assert!(!String::from_utf8_lossy(&out).contains("CARGO_PKG_NAME"));
    }

    #[test]
    fn a_failing_command_is_named() {
        let failure = run(&mut program("false", Path::new("/"))).expect_err("false fails");
        assert!(failure.to_string().starts_with("`false` failed"));
    }
}
