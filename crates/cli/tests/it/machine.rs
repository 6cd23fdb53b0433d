//! A person's machine: a home of its own, the real tools, nothing else of this environment.

#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

/// The command under test.
pub(crate) const GROUNDPLAN: &str = env!("CARGO_BIN_EXE_groundplan");

/// A machine with an empty home; it is gone when dropped.
pub(crate) struct Machine {
    pub(crate) home: tempfile::TempDir,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Machine {
            home: tempfile::tempdir().unwrap(),
        }
    }

    /// A path of the home.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    /// Writes a file of the home.
    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Writes a program of the home.
    pub(crate) fn program(&self, path: &str, script: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.write(path, &format!("#!/bin/sh\n{script}"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A command with this machine's environment.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.home.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("XDG_CACHE_HOME", cache_home())
            .current_dir(self.home.path());
        command
    }

    /// Runs the command under test.
    pub(crate) fn groundplan(&self, arguments: &[&str]) -> Output {
        self.command(GROUNDPLAN).args(arguments).output().unwrap()
    }
}

/// The folder of the user's caches.
fn cache_home() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
    variable("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&variable("HOME")?).join(".cache")))
        .expect("tests run with a home")
}

/// A tool in the user's cache; obtained if it is not there, which takes minutes once.
pub(crate) fn tool(name: &str) -> PathBuf {
    static LISTED: OnceLock<String> = OnceLock::new();
    let listed = LISTED.get_or_init(|| {
        let machine = Machine::new();
        let synced = machine.groundplan(&["tools", "sync"]);
        assert!(synced.status.success(), "{}", text(&synced.stderr));
        text(&machine.groundplan(&["tools", "list"]).stdout)
    });
    let line = listed
        .lines()
        .find(|line| line.contains(&format!("/{name} (")))
        .unwrap_or_else(|| panic!("no {name} in {listed}"));
    let path = line
        .split_whitespace()
        .find(|word| word.starts_with('/'))
        .unwrap();
    PathBuf::from(path)
}

/// Bytes as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
