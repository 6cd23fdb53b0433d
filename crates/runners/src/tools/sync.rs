//! Obtaining the pinned versions into the cache.
//!
//! OpenTofu and tflint come from their official release archives, which must have the pinned
//! digest. Where the release cannot be reached (or none is pinned for this machine) and there is a
//! Go toolchain, they are built from Go modules, which are pinned as well. A release that was
//! reached and has another digest, or broke off, is an error: nothing else is tried behind the
//! user's back. With `--from` nothing but the mirror is asked. checkov comes from a Python index.

use std::{ffi::OsString, path::PathBuf};

use super::{
    cache::{Cache, CacheLock, Origin, Staging},
    download::Client,
    error::ToolError,
    go_modules::{self, Fetching, Module},
    locate::ask,
    progress::{Progress, Tell},
    python::{self, Wheels},
    release::{self, Mirror, Release},
    tool::Tool,
    version::Version,
};

/// What to obtain tools with.
#[derive(Clone, Debug)]
pub struct SyncOptions {
    /// Where to take files from instead of the official places.
    pub from: Option<Mirror>,
    /// Whether nothing may be fetched: only a mirror that is a folder, and what Go has already.
    pub offline: bool,
    /// The archives that are known; usually [`release::pinned`].
    pub releases: Vec<Release>,
    /// A PEM file of authorities to trust beside the system's.
    pub ca_bundle: Option<PathBuf>,
    /// The value of `PATH`, for the Go and Python toolchains.
    pub search_path: OsString,
}

/// What came of a tool.
#[derive(Debug)]
pub struct Synced {
    /// Which one.
    pub tool: Tool,
    /// Where it is now and how it got there, or why not.
    pub outcome: Result<Obtained, ToolError>,
}

/// A tool that is in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obtained {
    /// The program.
    pub program: PathBuf,
    /// How it was obtained.
    pub origin: Option<Origin>,
    /// Whether it was there before.
    pub already: bool,
}

/// Obtains tools that are not in the cache yet, one after the other; one that fails does not stop
/// the next. Repeating it changes nothing. Interrupted, each tool is in its place whole or not at
/// all. Blocks for minutes: never call it on a thread that serves others.
///
/// # Errors
/// Only where the cache cannot be written at all; what is wrong with a tool is in its outcome.
pub fn sync(
    tools: &[Tool],
    cache: &Cache,
    options: &SyncOptions,
    tell: &mut Tell<'_>,
) -> Result<Vec<Synced>, ToolError> {
    let lock = cache.lock(|| tell(Progress::WaitsForOther))?;
    Ok(tools
        .iter()
        .map(|&tool| Synced {
            tool,
            outcome: sync_one(tool, cache, &lock, options, tell),
        })
        .collect())
}

fn sync_one(
    tool: Tool,
    cache: &Cache,
    lock: &CacheLock<'_>,
    options: &SyncOptions,
    tell: &mut Tell<'_>,
) -> Result<Obtained, ToolError> {
    if let Some(program) = cache.program(tool) {
        return Ok(Obtained {
            program,
            origin: cache.origin(tool),
            already: true,
        });
    }
    let (Some(place), Some(pinned)) = (cache.folder(tool), tool.pinned()) else {
        return Err(ToolError::NotObtainable { tool });
    };
    let staging = lock.staging()?;
    let origin = match tool {
        Tool::Tofu => program(tool, go_modules::TOFU, options, lock, &staging, tell)?,
        Tool::Tflint => program(tool, go_modules::TFLINT, options, lock, &staging, tell)?,
        Tool::Checkov => {
            let wheels = Wheels::of(options.from.as_ref(), options.offline)
                .ok_or(ToolError::Offline { tool })?;
            python::obtain(&wheels, &options.search_path, &staging, &place, tell)?
        }
        Tool::Git | Tool::Bwrap => return Err(ToolError::NotObtainable { tool }),
    };
    let (_, found) = ask(tool, &staging.program(tool)?, &options.search_path)?;
    if Some(found) != Version::in_word(pinned) {
        return Err(ToolError::WrongVersion {
            tool,
            found,
            pinned: pinned.to_owned(),
        });
    }
    staging.publish(&place, &origin)?;
    tell(Progress::Installed {
        tool: tool.name(),
        version: pinned,
    });
    Ok(Obtained {
        program: place.join("bin").join(tool.name()),
        origin: Some(origin),
        already: false,
    })
}

/// A program that has releases and is a Go module as well.
fn program(
    tool: Tool,
    module: Module,
    options: &SyncOptions,
    lock: &CacheLock<'_>,
    staging: &Staging,
    tell: &mut Tell<'_>,
) -> Result<Origin, ToolError> {
    let release = match (&options.from, options.offline) {
        (None | Some(Mirror::Url(_)), true) => Err(ToolError::Offline { tool }),
        (mirror, _) => {
            let client = Client::new(options.ca_bundle.clone());
            release::obtain(
                tool,
                &options.releases,
                mirror.as_ref(),
                &client,
                staging,
                tell,
            )
        }
    };
    let because = match release {
        Ok(origin) => return Ok(origin),
        Err(error) if options.from.is_some() || !leaves_another_way(&error) => return Err(error),
        Err(error) => error,
    };
    tell(Progress::NextWay {
        tool: tool.name(),
        because: &because,
    });
    let built = go_modules::toolchain(&options.search_path).and_then(|go| {
        let fetching = if options.offline {
            Fetching::Forbidden
        } else {
            Fetching::Allowed
        };
        let work = lock.staging()?;
        let to = staging.program(tool)?;
        go_modules::build(module, &go, fetching, work.path(), &to, tell)
    });
    match built {
        Ok(()) => Ok(Origin::GoModules {
            module: module.pinned.to_owned(),
        }),
        Err(modules) => Err(ToolError::NoWay {
            tool,
            release: Box::new(because),
            modules: Box::new(modules),
        }),
    }
}

/// Whether the release was out of reach, as opposed to wrong.
fn leaves_another_way(error: &ToolError) -> bool {
    matches!(
        error,
        ToolError::Unreachable { .. }
            | ToolError::Status { .. }
            | ToolError::NoRelease { .. }
            | ToolError::Offline { .. }
    )
}
