//! Where obtained tools live, and how they get there all at once or not at all.
//!
//! Layout below the cache folder (`$XDG_CACHE_HOME/groundplan`, else `~/.cache/groundplan`):
//!
//! ```text
//! tools/<tool>/<version>/bin/<tool>     the program
//! tools/<tool>/<version>/origin.json    how it was obtained
//! tools/.staging-*                      being obtained; the next sync removes what was left
//! tools/.lock                           held by whoever obtains something
//! providers/<host>/<namespace>/…        a filesystem mirror of providers
//! aliases/<key>/<tool>                  a link to a program of another name
//! ```
//!
//! A tool's folder is put together under `.staging-*`, tried, flushed to the disk, and then
//! renamed to its place. So what is in its place is whole.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::{error::ToolError, tool::Tool};

const STAGING: &str = ".staging-";

/// The cache folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    root: PathBuf,
}

/// How a tool in the cache was obtained.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "way")]
pub enum Origin {
    /// From a release archive of the pinned digest.
    Release {
        /// Where the archive came from.
        url: String,
        /// The archive's SHA-256 in hexadecimal.
        sha256: String,
    },
    /// Built from Go modules of the pinned versions.
    GoModules {
        /// The module and version.
        module: String,
    },
    /// From a Python index, every file of a pinned digest.
    PythonPackages {
        /// The package and version.
        package: String,
    },
}

impl Cache {
    /// The cache at a folder, which need not exist.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Cache { root: root.into() }
    }

    /// The user's cache by the values of `XDG_CACHE_HOME` and `HOME`. As the XDG specification
    /// asks, a relative `XDG_CACHE_HOME` counts as unset. `None` where neither says anything.
    #[must_use]
    pub fn of_user(xdg_cache_home: Option<&OsStr>, home: Option<&OsStr>) -> Option<Self> {
        let absolute =
            |value: Option<&OsStr>| value.map(PathBuf::from).filter(|path| path.is_absolute());
        let base = absolute(xdg_cache_home).or_else(|| Some(absolute(home)?.join(".cache")))?;
        Some(Cache::new(base.join("groundplan")))
    }

    /// The cache folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of the pinned version of a tool; `None` for tools that are not obtained.
    #[must_use]
    pub fn folder(&self, tool: Tool) -> Option<PathBuf> {
        let version = tool.pinned()?;
        Some(self.tools().join(tool.name()).join(version))
    }

    /// The program of the pinned version of a tool, where it is there.
    #[must_use]
    pub fn program(&self, tool: Tool) -> Option<PathBuf> {
        let program = self.folder(tool)?.join("bin").join(tool.name());
        is_executable(&program).then_some(program)
    }

    /// How the cached tool was obtained, where it is there.
    #[must_use]
    pub fn origin(&self, tool: Tool) -> Option<Origin> {
        let bytes = fs::read(self.folder(tool)?.join("origin.json")).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// The filesystem mirror of providers; it need not exist.
    #[must_use]
    pub fn providers(&self) -> PathBuf {
        self.root.join("providers")
    }

    /// Folders with links to programs of other names.
    pub(super) fn aliases(&self) -> PathBuf {
        self.root.join("aliases")
    }

    fn tools(&self) -> PathBuf {
        self.root.join("tools")
    }

    /// Becomes the one who obtains things, after waiting for whoever does. `waiting` is called
    /// once if there is somebody. What an interrupted sync left is removed.
    pub(super) fn lock(&self, waiting: impl FnOnce()) -> Result<CacheLock<'_>, ToolError> {
        let tools = self.tools();
        fs::create_dir_all(&tools).map_err(|source| ToolError::write(&tools, source))?;
        let path = tools.join(".lock");
        let file = File::create(&path).map_err(|source| ToolError::write(&path, source))?;
        let failed = |errno: rustix::io::Errno| ToolError::write(&path, errno.into());
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                waiting();
                flock(&file, FlockOperation::LockExclusive).map_err(failed)?;
            }
            Err(errno) => return Err(failed(errno)),
        }
        let lock = CacheLock {
            cache: self,
            _file: file,
        };
        lock.remove_leftovers()
            .map_err(|source| ToolError::write(&tools, source))?;
        Ok(lock)
    }
}

/// The right to change the cache, until it is dropped.
#[derive(Debug)]
pub(super) struct CacheLock<'a> {
    cache: &'a Cache,
    _file: File,
}

impl CacheLock<'_> {
    fn remove_leftovers(&self) -> io::Result<()> {
        for entry in fs::read_dir(self.cache.tools())? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(STAGING) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }

    /// A fresh folder to put something together in. Dropped, it is gone.
    pub(super) fn staging(&self) -> Result<Staging, ToolError> {
        let tools = self.cache.tools();
        tempfile::Builder::new()
            .prefix(STAGING)
            .permissions(fs::Permissions::from_mode(0o755))
            .tempdir_in(&tools)
            .map(|folder| Staging { folder })
            .map_err(|source| ToolError::write(tools, source))
    }
}

/// A folder that becomes a tool's, or disappears.
#[derive(Debug)]
pub(super) struct Staging {
    folder: tempfile::TempDir,
}

impl Staging {
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The path of the program in it; its folder exists after this.
    pub(super) fn program(&self, tool: Tool) -> Result<PathBuf, ToolError> {
        let bin = self.path().join("bin");
        fs::create_dir_all(&bin).map_err(|source| ToolError::write(&bin, source))?;
        Ok(bin.join(tool.name()))
    }

    /// Puts the folder in its place, with a note of its origin.
    pub(super) fn publish(self, place: &Path, origin: &Origin) -> Result<(), ToolError> {
        let note = serde_json::to_vec_pretty(origin).expect("an origin is plain data");
        let path = self.path().join("origin.json");
        fs::write(&path, note).map_err(|source| ToolError::write(&path, source))?;
        self.publish_bare(place)
    }

    /// Puts the folder in its place as it is.
    pub(super) fn publish_bare(self, place: &Path) -> Result<(), ToolError> {
        self.move_to(place)
            .map_err(|source| ToolError::write(place, source))
    }

    fn move_to(self, place: &Path) -> io::Result<()> {
        // A rename that survives a power cut while the content does not would be half a tool.
        rustix::fs::syncfs(File::open(self.path())?)?;
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent)?;
        }
        if place.exists() {
            fs::remove_dir_all(place)?;
        }
        fs::rename(self.folder.path(), place)?;
        // It is no longer there to be removed.
        let _: PathBuf = self.folder.keep();
        Ok(())
    }
}

/// Whether a path is a regular file that somebody may execute.
pub(super) fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_follows_the_xdg_specification() {
        let check = |xdg: Option<&str>, home: Option<&str>, expect: Option<&str>| {
            let cache = Cache::of_user(xdg.map(OsStr::new), home.map(OsStr::new));
            assert_eq!(cache, expect.map(Cache::new), "{xdg:?} {home:?}");
        };
        check(Some("/c"), Some("/h"), Some("/c/groundplan"));
        check(None, Some("/h"), Some("/h/.cache/groundplan"));
        check(Some(""), Some("/h"), Some("/h/.cache/groundplan"));
        check(Some("c"), Some("/h"), Some("/h/.cache/groundplan"));
        check(None, None, None);
    }

    #[test]
    fn what_an_interrupted_sync_left_is_removed_and_never_found() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path());
        let left = cache.lock(|| {}).unwrap().staging().unwrap();
        let program = left.program(Tool::Tofu).unwrap();
        fs::write(&program, "#!/bin/sh\n").unwrap();
        let left = left.folder.keep();
        assert_eq!(cache.program(Tool::Tofu), None);
        drop(cache.lock(|| {}).unwrap());
        assert!(!left.exists());
    }

    #[test]
    fn one_at_a_time_obtains() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path());
        let first = cache.lock(|| panic!("nobody else is there")).unwrap();
        let (waits, waited) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| drop(cache.lock(|| waits.send(()).unwrap()).unwrap()));
            waited.recv().unwrap();
            assert!(!second.is_finished());
            drop(first);
        });
    }
}
