//! Real git, on real repositories, over real SSH and HTTP on loopback.

#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps")]

mod http_server;
mod program;
mod revisions;
mod ssh_server;
mod transfers;

use std::{
    ffi::OsStr,
    fs,
    future::Future,
    path::{Path, PathBuf},
    process::Command,
};

use groundplan_forges::git::{CloneShape, Git, GitOptions, Remote, Repository, Signature};
use groundplan_ports::error::{ErrorKind, PortResult};
use tempfile::TempDir;

/// A directory for a test, and a git that keeps its passing files in it.
struct Place {
    directory: TempDir,
    git: Git,
}

impl Place {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        fs::create_dir(directory.path().join("passing")).unwrap();
        let git = run(Git::open(options(&directory.path().join("passing")))).unwrap();
        Place { directory, git }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Clones into the directory `name`.
    fn clone(&self, remote: &Remote, name: &str, shape: CloneShape) -> PortResult<Repository> {
        run(self.git.clone_repository(remote, &self.path(name), shape))
    }

    /// Nothing that lives for one call is left.
    fn assert_nothing_is_left(&self) {
        let left: Vec<_> = fs::read_dir(self.path("passing")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }

    /// A repository with one commit of these files.
    fn repository(&self, name: &str, files: &[(&str, &str)]) -> Repository {
        let directory = self.path(name);
        for (path, text) in files {
            write(&directory, path, text);
        }
        let repository = run(self.git.init(&directory, "main")).unwrap();
        commit(&repository, "first");
        repository
    }
}

fn options(passing: &Path) -> GitOptions {
    GitOptions {
        program: "git".into(),
        path: std::env::var_os("PATH").unwrap(),
        environment: Vec::new(),
        temporary: passing.to_owned(),
    }
}

fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn write(directory: &Path, path: impl AsRef<Path>, text: &str) {
    let path = directory.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn commit(repository: &Repository, message: &str) -> String {
    let signature = Signature {
        name: "A Tester".to_owned(),
        email: "tester@example.com".to_owned(),
        seconds: 1_700_000_000,
    };
    run(repository.commit_all(message, &signature)).unwrap()
}

/// Git as a person would call it, without the person's settings.
fn plain_git<A: AsRef<OsStr>>(directory: &Path, args: impl IntoIterator<Item = A>) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=A Tester",
            "-c",
            "user.email=tester@example.com",
        ])
        .args(args)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[track_caller]
fn assert_fails<T>(result: PortResult<T>, kind: ErrorKind, message: &str) {
    let error = result.err().expect("it fails");
    assert_eq!((error.kind, &*error.message), (kind, message), "{error:?}");
}
