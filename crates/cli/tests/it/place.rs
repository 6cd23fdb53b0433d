//! A place to run the binary in: a home of its own, nothing of this machine's configuration.

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::OnceLock,
};

use regex::Regex;
use rustix::process::geteuid;
use tempfile::TempDir;

/// Who runs the binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// Whoever runs the tests.
    Caller,
    /// Somebody without privileges.
    Unprivileged,
}

/// Id of the user without privileges.
const NOBODY: u32 = 1234;

/// A home, a work directory, and the binary.
pub(crate) struct Place {
    dir: TempDir,
    user: User,
    binary: PathBuf,
}

impl Place {
    /// A place of whoever runs the tests.
    pub(crate) fn new() -> Self {
        Self::of(User::Caller).expect("the caller is there")
    }

    /// A place of this user; none, said on standard error, where we cannot become that user.
    pub(crate) fn of(user: User) -> Option<Self> {
        if user == User::Unprivileged && !geteuid().is_root() {
            eprintln!("not run: as another user: only root can become somebody else");
            return None;
        }
        let dir = tempfile::Builder::new()
            .prefix("gp")
            .tempdir()
            .expect("a directory");
        let mut place = Place {
            user,
            binary: PathBuf::from(env!("CARGO_BIN_EXE_groundplan")),
            dir,
        };
        for name in ["home", "work"] {
            fs::create_dir(place.path(name)).expect("it is made");
        }
        if user == User::Unprivileged {
            let copy = place.path("groundplan");
            fs::hard_link(&place.binary, &copy)
                .or_else(|_| fs::copy(&place.binary, &copy).map(|_| ()))
                .expect("the binary is copied");
            place.binary = copy;
            fs::set_permissions(place.dir.path(), fs::Permissions::from_mode(0o755)).expect("ours");
            for name in ["home", "work"] {
                chown(place.path(name), Some(NOBODY), Some(NOBODY)).expect("we are root");
            }
        }
        Some(place)
    }

    /// A path of this place.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A path of the work directory, where the binary is run.
    pub(crate) fn work(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path("work").join(name)
    }

    /// The data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.path("home/.local/share/groundplan")
    }

    /// Writes a file of the work directory.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
        fs::write(&path, text).expect("it is written");
        self.give(&path);
        path
    }

    /// Makes a folder of the work directory.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        let path = self.work(name);
        fs::create_dir_all(&path).expect("it is made");
        self.give(&path);
        path
    }

    fn give(&self, path: &Path) {
        if self.user == User::Unprivileged {
            chown(path, Some(NOBODY), Some(NOBODY)).expect("we are root");
        }
    }

    /// Writes a program of the folder that is first on `PATH`.
    pub(crate) fn program(&self, name: &str, script: &str) {
        let path = self.path("programs").join(name);
        fs::create_dir_all(self.path("programs")).expect("it is made");
        fs::write(&path, script).expect("it is written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
    }

    /// The machine configuration.
    pub(crate) fn configure(&self, text: &str) {
        let folder = self.path("home/.config/groundplan");
        fs::create_dir_all(&folder).expect("it is made");
        fs::write(folder.join("config.yaml"), text).expect("it is written");
    }

    /// The binary, with these words.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        let mut command = match self.user {
            User::Caller => Command::new(&self.binary),
            User::Unprivileged => {
                let mut command = Command::new("setpriv");
                let id = NOBODY.to_string();
                command
                    .args(["--reuid", &id, "--regid", &id, "--clear-groups"])
                    .arg(&self.binary);
                command
            }
        };
        let path = format!(
            "{}:/usr/local/bin:/usr/bin:/bin",
            self.path("programs").display()
        );
        command
            .args(words)
            .current_dir(self.path("work"))
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PATH", path)
            .env("LANG", "C.UTF-8")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        command
    }

    /// Runs the binary to its end, and answers what a person sees of it.
    pub(crate) fn say<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> String {
        self.said(&self.output(words))
    }

    /// Runs the binary to its end.
    pub(crate) fn output<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Output {
        self.command(words).output().expect("the binary is there")
    }

    /// What a person sees: exit code, standard output, standard error; what differs from call to
    /// call is replaced by its kind.
    pub(crate) fn said(&self, output: &Output) -> String {
        let code = output
            .status
            .code()
            .map_or_else(|| output.status.to_string(), |code| code.to_string());
        let mut said = format!("exit code {code}\n");
        for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            if !bytes.is_empty() {
                said.push_str(&format!("-- {name}\n{}", String::from_utf8_lossy(bytes)));
            }
        }
        self.plain(&said)
    }

    /// A text without what differs from call to call.
    pub(crate) fn plain(&self, text: &str) -> String {
        let text = text.replace(&self.dir.path().display().to_string(), "[DIR]");
        patterns().iter().fold(text, |text, (pattern, kind)| {
            pattern.replace_all(&text, *kind).into_owned()
        })
    }
}

fn patterns() -> &'static [(Regex, &'static str)] {
    static PATTERNS: OnceLock<Vec<(Regex, &'static str)>> = OnceLock::new();
    PATTERNS.get_or_init(|| {
        [
            (r"\b[0-9a-hjkmnp-tv-z]{26}\b", "[RUN]"),
            (
                r"\b[0-9]+\.[0-9]s\b|\b[0-9]+s\b|\b[0-9]+m[0-9]{2}s\b",
                "[TIME]",
            ),
            (r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}", "[DATE]"),
            (r"process [0-9]+ on [^ \n]+", "process [PID] on [HOST]"),
        ]
        .map(|(pattern, kind)| (Regex::new(pattern).expect("a pattern"), kind))
        .into()
    })
}

/// A workflow of one container that runs a script with BusyBox's shell.
pub(crate) fn workflow(name: &str, script: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\n\
         kind: Workflow\n\
         metadata:\n  name: {name}\n\
         spec:\n  entrypoint: main\n  templates:\n    - name: main\n      container:\n        \
         image: busybox\n        command: [sh, -c]\n        args: [{script:?}]\n"
    )
}

impl Place {
    /// Writes a file of Secrets, each with one key, that only the caller can read.
    pub(crate) fn secrets(&self, name: &str, secrets: &[(&str, &str, &str)]) -> PathBuf {
        let documents: Vec<String> = secrets
            .iter()
            .map(|(name, key, value)| {
                format!("apiVersion: v1\nkind: Secret\nmetadata:\n  name: {name}\nstringData:\n  {key}: {value:?}\n")
            })
            .collect();
        let path = self.write(name, documents.join("---\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("ours");
        path
    }
}
