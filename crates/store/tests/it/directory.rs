//! Data directories that must be refused, by real mounts where those are allowed.

use std::{
    env, fs,
    os::unix::fs::{PermissionsExt, chown, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use groundplan_ports::error::{ErrorKind, PortError};
use groundplan_store::DataDirectory;
use rustix::process::geteuid;

const MOUNTED: &str = "GROUNDPLAN_TEST_MOUNTED_DIRECTORY";

/// Runs a test again in a mount namespace of its own, where `DIR` is what the set-up makes of it.
pub(crate) struct Sandbox {
    /// Full name of the test.
    pub(crate) test: &'static str,
    /// Shell commands that mount something at `$DIR`.
    pub(crate) set_up: &'static str,
}

impl Sandbox {
    /// Calls `inside` with the directory in the child, and waits for the child elsewhere.
    pub(crate) fn enter(&self, inside: impl FnOnce(&Path)) {
        if let Some(mounted) = env::var_os(MOUNTED) {
            return inside(&PathBuf::from(mounted));
        }
        let flags: &[&str] = match geteuid().is_root() {
            true => &["--mount"],
            false => &["--mount", "--user", "--map-root-user"],
        };
        let allowed = Command::new("unshare")
            .args(flags)
            .args(["mount", "-t", "tmpfs", "none", "/mnt"])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !allowed {
            eprintln!("not run: {}: this machine does not let us mount", self.test);
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let script = format!("set -e; {}; exec \"$@\"", self.set_up);
        let status = Command::new("unshare")
            .args(flags)
            .args(["sh", "-c", &script, "sh"])
            .arg(env::current_exe().unwrap())
            .args(["--exact", self.test, "--nocapture"])
            .env("DIR", directory.path())
            .env(MOUNTED, directory.path())
            .status()
            .unwrap();
        assert!(status.success(), "the test in its own mounts failed");
    }
}

fn refused(path: &Path) -> PortError {
    let error = DataDirectory::open(path).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Broken, "{error}");
    assert!(error.hint.is_some(), "{error}");
    let shown = path.display().to_string();
    assert!(error.message.contains(&shown), "{error}");
    error
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn missing_directory_is_made_for_us_alone() {
    let own = tempfile::tempdir().unwrap();
    let path = own.path().join("a/b/data");
    let opened = DataDirectory::open(&path).unwrap();
    assert_eq!(opened.path(), path.canonicalize().unwrap());
    assert_eq!(mode(&path), 0o700);
    assert_eq!(mode(&opened.subdirectory("logs").unwrap()), 0o700);
    assert!(fs::read_dir(&path).unwrap().all(|entry| {
        let name = entry.unwrap().file_name();
        name == "logs"
    }));
    let link = own.path().join("link");
    symlink(&path, &link).unwrap();
    assert_eq!(DataDirectory::open(&link).unwrap(), opened);
}

#[test]
fn directory_open_to_others_is_closed_only_while_empty() {
    let own = tempfile::tempdir().unwrap();
    let path = own.path().join("data");
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    DataDirectory::open(&path).unwrap();
    assert_eq!(mode(&path), 0o700);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    fs::write(path.join("file"), "").unwrap();
    let error = refused(&path);
    assert!(error.message.contains("0750"), "{error}");
    assert!(error.hint.unwrap().contains("chmod 700"));
    assert_eq!(mode(&path), 0o750);
}

#[test]
fn directory_of_somebody_else_is_refused() {
    let own = tempfile::tempdir().unwrap();
    let path = match geteuid().is_root() {
        true => {
            let path = own.path().join("data");
            fs::create_dir(&path).unwrap();
            chown(&path, Some(4711), None).unwrap();
            path
        }
        false => PathBuf::from("/"),
    };
    let error = refused(&path);
    let owner = if geteuid().is_root() { 4711 } else { 0 };
    assert!(
        error
            .message
            .contains(&format!("belongs to user {owner}, not to user")),
        "{error}"
    );
}

#[test]
fn file_in_the_place_of_the_directory_is_refused() {
    let own = tempfile::tempdir().unwrap();
    let path = own.path().join("data");
    fs::write(&path, "").unwrap();
    assert!(refused(&path).message.contains("is not a directory"));
    let below = path.join("below");
    assert!(refused(&below).message.contains("is not a directory"));
}

#[test]
fn read_only_file_system_is_refused() {
    Sandbox {
        test: "directory::read_only_file_system_is_refused",
        set_up: "mount -t tmpfs none \"$DIR\"; mkdir -m 700 \"$DIR/data\"; \
                 mount -o remount,bind,ro \"$DIR\"",
    }
    .enter(|mounted| {
        for name in ["data", "new"] {
            let error = refused(&mounted.join(name));
            assert!(error.message.contains("read-only file system"), "{error}");
            assert!(error.hint.unwrap().contains("--data-dir"));
        }
    });
}

#[test]
fn full_file_system_is_refused() {
    Sandbox {
        test: "directory::full_file_system_is_refused",
        set_up: "mount -t tmpfs -o size=64k none \"$DIR\"; \
                 head -c 100000 /dev/zero > \"$DIR/filler\" 2>/dev/null || true",
    }
    .enter(|mounted| {
        let error = refused(&mounted.join("data"));
        assert!(error.message.contains("is full"), "{error}");
        assert!(error.hint.unwrap().contains("--data-dir"));
    });
}
