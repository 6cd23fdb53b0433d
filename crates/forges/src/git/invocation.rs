//! One run of `git`, hardened, and what its failure means.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::Path,
    process::Stdio,
};

use groundplan_ports::{
    error::{ErrorKind, PortError, PortResult},
    secrets::SecretValue,
};
use tokio::{io::AsyncWriteExt, process::Command};

use super::Git;

/// Settings that win over those of the repository: nothing but `git` itself runs, nothing asks,
/// nothing is different on another machine. Those of the user and the system are not read at all.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=",
    "core.untrackedCache=false",
    "core.pager=cat",
    "core.editor=false",
    "core.sshCommand=false",
    "core.gitProxy=",
    "core.askPass=",
    "core.alternateRefsCommand=true",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.quotePath=false",
    "core.autocrlf=false",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "advice.detachedHead=false",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "credential.helper=",
    "diff.external=",
    "diff.ignoreSubmodules=none",
    "diff.noprefix=false",
    "fetch.recurseSubmodules=false",
    "fetch.fsckObjects=true",
    "gc.auto=0",
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=60",
    "log.showSignature=false",
    "maintenance.auto=false",
    "protocol.allow=never",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "uploadpack.packObjectsHook=",
];

/// Variables that say the same to every `git`, `ssh` and helper that is started.
const VARIABLES: &[(&str, &str)] = &[
    ("GIT_ASKPASS", ""),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("HOME", "/nonexistent"),
    ("LC_ALL", "C"),
];

/// Most bytes of what `git` said that an error repeats.
const MOST_SAID: usize = 2000;

/// One run of `git`.
pub(super) struct Invocation<'g> {
    git: &'g Git,
    /// What it is for: completes "could not …".
    purpose: String,
    command: Command,
    input: Vec<u8>,
    secrets: Vec<SecretValue>,
}

/// How a run ended.
pub(super) struct Ended {
    /// Exit code; `None` after a signal.
    pub(super) code: Option<i32>,
    pub(super) output: Vec<u8>,
    said: String,
}

impl<'g> Invocation<'g> {
    /// A run with the hardening and nothing else.
    pub(super) fn new(git: &'g Git, purpose: impl Into<String>) -> Self {
        let options = git.options();
        let mut command = Command::new(&options.program);
        command.env_clear();
        command.envs(
            options
                .environment
                .iter()
                .map(|(name, value)| (name, value)),
        );
        command.envs(VARIABLES.iter().copied());
        command.env("PATH", &options.path);
        command.current_dir("/").kill_on_drop(true);
        let mut invocation = Invocation {
            git,
            purpose: purpose.into(),
            command,
            input: Vec::new(),
            secrets: Vec::new(),
        };
        for setting in SETTINGS {
            invocation = invocation.setting(setting);
        }
        invocation
    }

    /// One more setting; a later one wins.
    pub(super) fn setting(self, setting: impl AsRef<OsStr>) -> Self {
        self.arg("-c").arg(setting)
    }

    pub(super) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    pub(super) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.command.args(args);
        self
    }

    pub(super) fn variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.command.env(name, value.into());
        self
    }

    pub(super) fn directory(mut self, directory: &Path) -> Self {
        self.command.current_dir(directory);
        self
    }

    pub(super) fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// A value that is taken out of whatever an error repeats.
    pub(super) fn secret(mut self, secret: &SecretValue) -> Self {
        self.secrets.push(secret.clone());
        self
    }

    /// Runs it and answers how it ended, whatever its exit code.
    pub(super) async fn run(&mut self) -> PortResult<Ended> {
        let output = self.output().await.map_err(|error| self.not_run(error))?;
        let mut said = String::from_utf8_lossy(&output.stderr).into_owned();
        for secret in &self.secrets {
            let secret = String::from_utf8_lossy(secret.expose()).into_owned();
            if !secret.is_empty() {
                said = said.replace(&secret, "***");
            }
        }
        Ok(Ended {
            code: output.status.code(),
            output: output.stdout,
            said,
        })
    }

    /// Runs it and answers what it printed if its exit code is 0.
    pub(super) async fn succeed(mut self) -> PortResult<Vec<u8>> {
        let ended = self.run().await?;
        match ended.code {
            Some(0) => Ok(ended.output),
            _ => Err(self.failed(&ended)),
        }
    }

    async fn output(&mut self) -> io::Result<std::process::Output> {
        self.command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = self.command.spawn()?;
        let mut stdin = child.stdin.take().expect("standard input is a pipe");
        let write = async {
            // A program that does not read its input closes it; its exit code says the rest.
            let _ = stdin.write_all(&self.input).await;
            drop(stdin);
        };
        let ((), output) = tokio::join!(write, child.wait_with_output());
        output
    }

    fn not_run(&self, error: io::Error) -> PortError {
        let program = self.git.options().program.display();
        let kind = match error.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            io::ErrorKind::PermissionDenied => ErrorKind::Denied,
            _ => ErrorKind::Broken,
        };
        PortError::new(
            kind,
            format!("`{program}` could not be run to {}", self.purpose),
        )
        .with_hint("install git, or name it in the machine's configuration")
        .caused_by(error)
    }

    /// The error of a run that ended badly.
    pub(super) fn failed(&self, ended: &Ended) -> PortError {
        let (kind, hint) = meaning(&ended.said);
        let end = match ended.code {
            Some(code) => format!("exit code {code}"),
            None => "a signal".to_owned(),
        };
        let message = format!("git could not {} ({end})", self.purpose);
        let error = PortError::new(kind, message).caused_by(Said(shown(&ended.said)));
        match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

/// What `git` said on its standard error.
#[derive(Debug, thiserror::Error)]
#[error("git said: {0}")]
struct Said(String);

/// Phrases of `git`, `ssh` and `curl`, what they mean, and the way out. They only steer retries and
/// hints: whether a run succeeded is told by its exit code alone.
const PHRASES: &[(&str, ErrorKind, Option<&str>)] = &[
    (
        "Host key verification failed",
        ErrorKind::Denied,
        Some("the server's host key is not the pinned one: ask its administrator which is right"),
    ),
    (
        "Authentication failed",
        ErrorKind::Denied,
        Some(CREDENTIALS),
    ),
    (
        "could not read Username",
        ErrorKind::Denied,
        Some(CREDENTIALS),
    ),
    (
        "could not read Password",
        ErrorKind::Denied,
        Some(CREDENTIALS),
    ),
    ("Permission denied", ErrorKind::Denied, Some(CREDENTIALS)),
    ("error: 403", ErrorKind::Denied, Some(CREDENTIALS)),
    (
        "No space left on device",
        ErrorKind::Broken,
        Some("free some disk space"),
    ),
    (
        "dubious ownership",
        ErrorKind::Broken,
        Some("the repository belongs to another user: run as that user, or change its owner"),
    ),
    ("not found", ErrorKind::NotFound, None),
    (
        "does not appear to be a git repository",
        ErrorKind::NotFound,
        None,
    ),
    ("not a git repository", ErrorKind::NotFound, None),
    ("couldn't find remote ref", ErrorKind::NotFound, None),
    ("Could not resolve host", TRANSIENT, None),
    ("Connection refused", TRANSIENT, None),
    ("Connection reset", TRANSIENT, None),
    ("Connection timed out", TRANSIENT, None),
    ("Failed to connect", TRANSIENT, None),
    ("Operation too slow", TRANSIENT, None),
    ("early EOF", TRANSIENT, None),
    ("hung up unexpectedly", TRANSIENT, None),
    ("error: 5", TRANSIENT, None),
];

const CREDENTIALS: &str = "check the token or deploy key and what it may read";

const TRANSIENT: ErrorKind = ErrorKind::Transient { retry_after: None };

fn meaning(said: &str) -> (ErrorKind, Option<&'static str>) {
    PHRASES
        .iter()
        .find(|(phrase, ..)| said.contains(phrase))
        .map_or((ErrorKind::Broken, None), |(_, kind, hint)| (*kind, *hint))
}

/// The end of what was said, in one line.
fn shown(said: &str) -> String {
    let lines: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let text: String = lines
        .join("; ")
        .chars()
        .filter(|c| !c.is_control())
        .collect();
    let excess = text.chars().count().saturating_sub(MOST_SAID);
    text.chars().skip(excess).collect()
}
