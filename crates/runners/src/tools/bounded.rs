//! Running a program with limits: of time, and of what is kept of its output.

use std::{
    collections::VecDeque,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, pidfd_open},
};

use super::error::ToolError;

/// How many bytes of each stream are kept.
const KEPT: u64 = 64 * 1024;

/// How many last lines of a failed program are told.
const LAST_LINES: usize = 12;

/// What a program did.
#[derive(Debug)]
pub(crate) struct Finished {
    /// How it ended.
    pub(crate) status: ExitStatus,
    /// The beginning of its standard output.
    pub(crate) stdout: String,
    /// The beginning of its standard error.
    pub(crate) stderr: String,
}

/// Runs a program to its end, or kills it after `limit` (an error of kind *timed out*). Standard
/// input is empty.
pub(crate) fn run(command: &mut Command, limit: Duration) -> io::Result<Finished> {
    // Files, not pipes: a grandchild that keeps a pipe open would hold us up for ever.
    let mut stdout = tempfile::tempfile()?;
    let mut stderr = tempfile::tempfile()?;
    command
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?);
    let mut child = spawn(command)?;
    let status = wait(&mut child, limit)?;
    Ok(Finished {
        status,
        stdout: beginning(&mut stdout)?,
        stderr: beginning(&mut stderr)?,
    })
}

/// Starts a program. A file that we have just written may be "busy" for a moment: another thread's
/// child had our descriptor of it between its fork and its exec.
fn spawn(command: &mut Command) -> io::Result<Child> {
    for _ in 0..50 {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(10));
            }
            result => return result,
        }
    }
    command.spawn()
}

fn beginning(file: &mut std::fs::File) -> io::Result<String> {
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    file.take(KEPT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn wait(child: &mut Child, limit: Duration) -> io::Result<ExitStatus> {
    let end = Instant::now() + limit;
    let pidfd = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        let mut watched = [PollFd::new(&pidfd, PollFlags::IN)];
        match poll(&mut watched, Some(&timeout)) {
            Ok(0) => {
                child.kill()?;
                child.wait()?;
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("it did not end within {} s", limit.as_secs()),
                ));
            }
            Ok(_) => return child.wait(),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Runs a program that takes minutes, hands each line of both its streams to `line`, and answers
/// an error with the last lines if it fails.
pub(super) fn run_telling(
    program: &str,
    mut command: Command,
    line: &mut dyn FnMut(&str),
) -> Result<(), ToolError> {
    let failed = |source| ToolError::run(program, source);
    let (reader, writer) = io::pipe().map_err(failed)?;
    command
        .stdin(Stdio::null())
        .stdout(writer.try_clone().map_err(failed)?)
        .stderr(writer);
    let mut child = command.spawn().map_err(failed)?;
    // It holds our ends of the pipe.
    drop(command);
    let mut last: VecDeque<String> = VecDeque::new();
    let mut reader = BufReader::new(reader);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        if reader.read_until(b'\n', &mut bytes).map_err(failed)? == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_end();
        if text.is_empty() {
            continue;
        }
        line(text);
        if last.len() == LAST_LINES {
            last.pop_front();
        }
        last.push_back(text.to_owned());
    }
    let status = child.wait().map_err(failed)?;
    if status.success() {
        return Ok(());
    }
    Err(ToolError::Command {
        program: program.to_owned(),
        status: status.to_string(),
        last_lines: Vec::from(last).join("\n"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_program_that_does_not_end_is_killed() {
        let error = run(&mut sh("exec sleep 600"), Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_grandchild_that_holds_the_output_does_not_hold_us() {
        let script = "sleep 5 & echo done";
        let before = Instant::now();
        let finished = run(&mut sh(script), Duration::from_secs(60)).unwrap();
        assert_eq!(finished.stdout, "done\n");
        assert!(before.elapsed() < Duration::from_secs(4));
    }

    #[test]
    fn the_last_lines_of_a_failed_program_are_told() {
        let mut told = Vec::new();
        let error = run_telling(
            "sh",
            sh("for i in $(seq 20); do echo line $i; done; echo cause >&2; exit 3"),
            &mut |line| told.push(line.to_owned()),
        )
        .unwrap_err();
        assert_eq!(told.len(), 21);
        let message = error.to_string();
        assert!(message.contains("exit status: 3"), "{message}");
        assert!(message.ends_with("line 20\ncause"), "{message}");
        assert!(!message.contains("line 9\n"), "{message}");
    }
}
