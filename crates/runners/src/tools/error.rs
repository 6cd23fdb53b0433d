//! What can go wrong with a tool, and the way out.

use std::{io, path::PathBuf};

use super::{tool::Tool, version::Version};

/// Why a tool cannot be used or had.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// It is nowhere.
    #[error("`{tool}` was not found in the machine configuration, the cache or PATH")]
    Missing {
        /// What was looked for.
        tool: Tool,
    },
    /// The machine configuration names a file that cannot be run.
    #[error("`{path}`, which the machine configuration names for `{tool}`, is no executable file", path = path.display())]
    ConfiguredUnusable {
        /// What was looked for.
        tool: Tool,
        /// What the configuration says.
        path: PathBuf,
    },
    /// It is older than what works.
    #[error("`{path}` is version {found}, and `{tool}` must be at least {minimum}", path = path.display())]
    TooOld {
        /// What was looked for.
        tool: Tool,
        /// Where it is.
        path: PathBuf,
        /// Its version.
        found: Version,
        /// The oldest that works.
        minimum: Version,
    },
    /// It did not say its version.
    #[error("`{path}` does not say its version; it said `{said}`", path = path.display())]
    NoVersion {
        /// Where it is.
        path: PathBuf,
        /// The first bytes of its output.
        said: String,
    },
    /// A program could not be run or did not end in time.
    #[error("`{program}` could not be run")]
    Run {
        /// The program.
        program: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A program failed.
    #[error("`{program}` failed with {status}: {last_lines}")]
    Command {
        /// The program.
        program: String,
        /// Its exit status in words.
        status: String,
        /// The end of its output.
        last_lines: String,
    },
    /// Nobody answered at the address.
    #[error("`{url}` cannot be reached")]
    Unreachable {
        /// The address.
        url: String,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server answered something else than the file.
    #[error("`{url}` answered status {status}")]
    Status {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
    },
    /// Fewer bytes came than were announced.
    #[error("`{url}` broke off after {received} bytes")]
    Truncated {
        /// The address.
        url: String,
        /// How many bytes came.
        received: u64,
        /// Why.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// More bytes came than such a file can have.
    #[error("`{url}` is larger than {limit} bytes")]
    TooLarge {
        /// The address.
        url: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// The file is not the pinned one.
    #[error("`{url}` has the SHA-256 {actual}, and {expected} is pinned")]
    WrongDigest {
        /// The address.
        url: String,
        /// The pinned digest in hexadecimal.
        expected: String,
        /// What was received.
        actual: String,
    },
    /// The archive does not hold the program.
    #[error("archive `{url}` does not hold a usable `{member}`: {reason}")]
    Archive {
        /// Where the archive came from.
        url: String,
        /// The member that was wanted.
        member: String,
        /// What is wrong.
        reason: String,
    },
    /// There is no release of it for this machine that we know the digest of.
    #[error("no release of `{tool}` for `{target}` is pinned")]
    NoRelease {
        /// The tool.
        tool: Tool,
        /// Operating system and architecture.
        target: String,
    },
    /// Something could not be written or read.
    #[error("`{path}` cannot be written", path = path.display())]
    Write {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// What was obtained is another version than the pinned one.
    #[error("the `{tool}` that was obtained is version {found}, and {pinned} is pinned")]
    WrongVersion {
        /// The tool.
        tool: Tool,
        /// What it says.
        found: Version,
        /// What is pinned.
        pinned: String,
    },
    /// There is no Go toolchain.
    #[error("there is no Go toolchain in PATH")]
    NoGo,
    /// The Go toolchain cannot build current modules.
    #[error("the Go toolchain is {found}, and at least {minimum} is needed", found = found.map_or_else(|| "of an unknown version".to_owned(), |found| found.to_string()))]
    GoTooOld {
        /// Its version.
        found: Option<Version>,
        /// The oldest that works.
        minimum: Version,
    },
    /// There is no Python that can make a virtual environment.
    #[error("there is no Python 3.10 or newer that can make a virtual environment")]
    NoPython,
    /// It would have to be fetched, and that was forbidden.
    #[error("`{tool}` would have to be fetched, and this is an offline run")]
    Offline {
        /// The tool.
        tool: Tool,
    },
    /// It comes from the system, not from us.
    #[error("`{tool}` is not among the tools that can be obtained")]
    NotObtainable {
        /// The tool.
        tool: Tool,
    },
    /// Neither the release nor Go modules worked.
    #[error("`{tool}` can be had neither as a release ({release}) nor from Go modules ({modules})")]
    NoWay {
        /// The tool.
        tool: Tool,
        /// Why not as a release.
        release: Box<ToolError>,
        /// Why not from Go modules.
        modules: Box<ToolError>,
    },
}

impl ToolError {
    pub(super) fn write(path: impl Into<PathBuf>, source: io::Error) -> Self {
        ToolError::Write {
            path: path.into(),
            source,
        }
    }

    pub(super) fn run(program: impl Into<String>, source: io::Error) -> Self {
        ToolError::Run {
            program: program.into(),
            source,
        }
    }

    /// The way out, where there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            ToolError::Missing { tool } => Some(format!("run `{}`", tool.way_out())),
            ToolError::ConfiguredUnusable { tool, .. } => Some(format!(
                "correct or remove `tools.{tool}` in the machine configuration"
            )),
            ToolError::TooOld { tool, .. } => {
                Some(format!("install a newer one, or run `{}`", tool.way_out()))
            }
            ToolError::NoVersion { path, .. } => Some(format!(
                "is `{}` a wrapper that prints lines of its own? Name the real program in the machine configuration",
                path.display()
            )),
            ToolError::Unreachable { .. } | ToolError::Status { .. } => Some(
                "check HTTPS_PROXY and NO_PROXY, or take the files from a mirror: `groundplan tools sync --from URL|DIR`"
                    .to_owned(),
            ),
            ToolError::Truncated { .. } => Some("try again".to_owned()),
            ToolError::WrongDigest { .. } => Some(
                "do not use this file; ask whoever runs the mirror or the proxy how it came to differ"
                    .to_owned(),
            ),
            ToolError::Write { source, .. }
                if source.kind() == io::ErrorKind::StorageFull
                    || source.kind() == io::ErrorKind::QuotaExceeded =>
            {
                Some("free some space, or set XDG_CACHE_HOME to a larger disk".to_owned())
            }
            ToolError::NoGo | ToolError::GoTooOld { .. } => {
                Some("install Go 1.21 or newer from https://go.dev/dl/".to_owned())
            }
            ToolError::NoPython => Some("sudo apt-get install python3-venv".to_owned()),
            ToolError::Offline { .. } => {
                Some("run it without `--offline`, or add `--from DIR`".to_owned())
            }
            ToolError::NotObtainable { tool } => Some(format!("run `{}`", tool.way_out())),
            ToolError::NoWay { release, .. } => release.hint(),
            ToolError::Run { .. }
            | ToolError::Command { .. }
            | ToolError::TooLarge { .. }
            | ToolError::Archive { .. }
            | ToolError::NoRelease { .. }
            | ToolError::Write { .. }
            | ToolError::WrongVersion { .. } => None,
        }
    }
}
