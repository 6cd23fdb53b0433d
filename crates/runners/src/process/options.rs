//! What a process runner must be told of this machine.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt, symlink},
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
};

use groundplan_engine::id::{RunId, StepId};
use groundplan_ports::secrets::SecretValue;
use groundplan_sealing::Key;

use crate::image::Images;

/// Everything that a process runner does not find out by itself.
#[derive(Clone, Debug)]
pub struct Options {
    /// Absolute path of the data directory; steps and claims lie in it.
    pub data_dir: PathBuf,
    /// Program with the hidden subcommands, usually our own.
    pub executable: PathBuf,
    /// What stands for images.
    pub images: Images,
    /// Bubblewrap.
    pub bubblewrap: PathBuf,
    /// BusyBox, for images that have its shell.
    pub busybox: Option<PathBuf>,
    /// A file of certificate authorities that every step is to trust.
    pub ca_bundle: Option<PathBuf>,
    /// Variables that every step gets, proxies for example; images and documents override them.
    pub env: Vec<(String, String)>,
    /// `PATH` of steps without a sandbox.
    pub path: String,
    /// Files and directories that every step sees at the same place, read-only.
    pub shown: Vec<PathBuf>,
    /// Key with which sensitive outputs are encrypted.
    pub key: Key,
    /// A directory in memory for scripts and secret files of steps without a sandbox, usually
    /// `/dev/shm`.
    pub memory_dir: PathBuf,
}

impl Options {
    /// Passwords within the variables that every step gets, as a proxy's address may hold one, by
    /// variable.
    pub(crate) fn passwords(&self) -> impl Iterator<Item = (String, SecretValue)> {
        self.env.iter().filter_map(|(name, value)| {
            let (_, rest) = value.split_once("://")?;
            let (user, _) = rest.split('/').next()?.rsplit_once('@')?;
            let (_, password) = user.split_once(':')?;
            Some((format!("password in {name}"), SecretValue::new(password)))
        })
    }

    /// The directory that a run has for a claim.
    pub(crate) fn claim_directory(&self, run: &RunId, claim: &str) -> PathBuf {
        // Both are names that Kubernetes would accept; anything else stays one component.
        let part = |text: &str| text.replace(['/', '\0'], "_").replace("..", "__");
        self.data_dir
            .join("claims")
            .join(part(&run.0))
            .join(part(claim))
    }

    /// Where a step without a sandbox has its home, its temporary files and its script. The path is
    /// short: providers make sockets below it.
    pub(crate) fn scratch_dir(&self, step: &StepId) -> PathBuf {
        let id =
            groundplan_sealing::digest(format!("{} {step}", self.data_dir.display()).as_bytes());
        let id = id.trim_start_matches("sha256:");
        self.memory_dir.join(format!("gp-{}", &id[..12]))
    }

    /// A directory with a link for each program of BusyBox, made at first use; or what is missing.
    pub(crate) fn busybox_dir(&self) -> Result<PathBuf, String> {
        let directory = self.data_dir.join("images").join("busybox");
        if directory.is_dir() {
            return Ok(directory);
        }
        let missing = |error: &dyn std::fmt::Display| {
            format!(
                "the image needs BusyBox: {error}\n\
                 hint: install it (`apt install busybox`), or give the image `shell: system` in \
                 the machine configuration"
            )
        };
        let busybox = self
            .busybox
            .as_deref()
            .ok_or_else(|| missing(&"it was not found on this machine"))?;
        make_busybox_dir(busybox, &directory).map_err(|error| missing(&error))?;
        Ok(directory)
    }
}

/// Several steps may be the first at once; each makes a directory of its own, and one is kept.
fn make_busybox_dir(busybox: &Path, directory: &Path) -> io::Result<()> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let busybox = fs::canonicalize(busybox)?;
    let listed = Command::new(&busybox).arg("--list").output()?;
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let new = directory.with_extension(format!("new-{}-{number}", std::process::id()));
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(&new)?;
    let link = |name: &str, target: &Path| match symlink(target, new.join(name)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    };
    for applet in String::from_utf8_lossy(&listed.stdout).lines() {
        if crate::step_dir::name(applet).is_some() {
            link(applet, &busybox)?;
        }
    }
    link("busybox", &busybox)?;
    // Scripts that name it by its whole path find it, as after `apk add bash`.
    if Path::new("/usr/bin/bash").exists() {
        link("bash", Path::new("/usr/bin/bash"))?;
    }
    match fs::rename(&new, directory) {
        // Somebody else was first.
        Err(_) if directory.is_dir() => crate::remove::remove_tree(&new),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_are_the_first_at_once_all_find_the_directory_of_busybox() {
        let Some(busybox) = ["/usr/bin/busybox", "/bin/busybox"]
            .map(Path::new)
            .into_iter()
            .find(|path| path.exists())
        else {
            eprintln!("not run: no busybox on this machine");
            return;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let directory = folder.path().join("images/busybox");
        let barrier = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    barrier.wait();
                    make_busybox_dir(busybox, &directory).expect("a directory of programs");
                    assert!(directory.join("sh").exists());
                });
            }
        });
        let made = fs::read_dir(folder.path().join("images")).expect("the folder is there");
        assert_eq!(made.count(), 1, "nothing else is left");
    }
}
