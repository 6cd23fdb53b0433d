//! The sandbox: the step's own root directory and the words that tell bubblewrap how to make it.

use std::{
    fs, io,
    os::{
        fd::OwnedFd,
        unix::fs::{DirBuilderExt, PermissionsExt, symlink},
    },
    path::Path,
};

use crate::{
    order::{Mount, MountKind, PlacedFile, SandboxOrder},
    take,
};

/// Folders of the system at the root. Where this machine has a symbolic link, so has the step.
const SYSTEM_FOLDERS: [&str; 7] = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/// Deeper folders and files that are shown read-only where they exist.
const SHOWN: [&str; 6] = [
    "/etc/ssl/certs",
    "/etc/pki/ca-trust/extracted",
    "/etc/pki/tls/certs",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/nix/store",
];

/// Small files that the step gets copies of.
const COPIED: [&str; 9] = [
    "resolv.conf",
    "hosts",
    "nsswitch.conf",
    "gai.conf",
    "protocols",
    "services",
    "localtime",
    "os-release",
    "ssl/openssl.cnf",
];

/// Settings of the kernel. They belong to root by number, whom no capability has to help: where
/// root starts a step, only a read-only mount keeps it from them.
const KERNEL: [&str; 5] = [
    "/proc/sys",
    "/proc/fs",
    "/proc/acpi",
    "/proc/scsi",
    "/proc/asound",
];

/// Path of our own program within.
pub(crate) const OWN_PROGRAM: &str = "/run/groundplan/step";

/// Makes the step's own root. Repeating it changes nothing.
pub(crate) fn make_root(root: &Path, order: &SandboxOrder) -> io::Result<()> {
    let directory = |path: &str, mode: u32| {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(mode)
            .create(root.join(path.trim_start_matches('/')))
    };
    for path in ["", "etc/ssl", "var/tmp", "run/groundplan"] {
        directory(path, 0o755)?;
    }
    directory(&order.home, 0o700)?;
    directory("tmp", 0o777)?;
    fs::set_permissions(root.join("tmp"), fs::Permissions::from_mode(0o1777))?;
    for folder in SYSTEM_FOLDERS {
        let replaced = folder == "bin" && order.bin.is_some();
        if let (Ok(target), false) = (fs::read_link(Path::new("/").join(folder)), replaced) {
            match symlink(target, root.join(folder)) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
    }
    for name in COPIED {
        // A machine that lacks one of them gives a step that lacks it as well.
        if let Ok(text) = fs::read(Path::new("/etc").join(name)) {
            fs::write(root.join("etc").join(name), text)?;
        }
    }
    let user = order.user;
    let (name, home) = (if user == 0 { "root" } else { "user" }, &order.home);
    let mut passwd = format!("{name}:x:{user}:{user}:{name}:{home}:/bin/sh\n");
    let mut group = format!("{name}:x:{user}:\n");
    if user != 0 {
        passwd.push_str("root:x:0:0:root:/root:/bin/sh\n");
        group.push_str("root:x:0:\n");
    }
    passwd.push_str("nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n");
    group.push_str("nogroup:x:65534:\n");
    fs::write(root.join("etc/passwd"), passwd)?;
    fs::write(root.join("etc/group"), group)
}

/// What bubblewrap is told: words for `--args`, and the files that these words name by descriptor.
#[derive(Debug)]
pub(crate) struct Words {
    /// The words, each ended by a zero byte.
    pub(crate) words: Vec<u8>,
    /// Descriptors, from number `first_descriptor` on.
    pub(crate) descriptors: Vec<OwnedFd>,
    first_descriptor: i32,
}

impl Words {
    fn add<const N: usize>(&mut self, words: [&str; N]) {
        for word in words {
            self.words.extend_from_slice(word.as_bytes());
            self.words.push(0);
        }
    }

    /// Words for a sandbox. Files get descriptors from `first_descriptor` on.
    pub(crate) fn of(
        order: &SandboxOrder,
        executable: &Path,
        root: &Path,
        first_descriptor: i32,
    ) -> io::Result<Self> {
        let mut words = Words {
            words: Vec::new(),
            descriptors: Vec::new(),
            first_descriptor,
        };
        words.add([
            "--unshare-user",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--cap-drop",
            "ALL",
            "--new-session",
            "--as-pid-1",
            "--clearenv",
            "--hostname",
            "groundplan",
        ]);
        if order.offline {
            words.add(["--unshare-net"]);
        }
        let user = order.user.to_string();
        words.add(["--uid", &user, "--gid", &user]);
        words.add(["--bind", utf8(root)?, "/"]);
        for folder in SYSTEM_FOLDERS {
            let path = Path::new("/").join(folder);
            let is_folder = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
            match &order.bin {
                Some(bin) if folder == "bin" => words.add(["--ro-bind", utf8(bin)?, "/bin"]),
                _ if is_folder => words.add(["--ro-bind", utf8(&path)?, utf8(&path)?]),
                _ => {}
            }
        }
        for path in SHOWN {
            if Path::new(path).exists() {
                words.add(["--ro-bind", path, path]);
            }
        }
        words.add(["--proc", "/proc", "--dev", "/dev"]);
        for path in KERNEL {
            words.add(["--ro-bind-try", path, path]);
        }
        for mount in &order.mounts {
            words.add_mount(mount)?;
        }
        words.add(["--ro-bind", utf8(executable)?, OWN_PROGRAM]);
        words.add(["--chdir", "/"]);
        Ok(words)
    }

    fn add_mount(&mut self, mount: &Mount) -> io::Result<()> {
        let target = mount.target.as_str();
        match &mount.kind {
            MountKind::ReadOnly(source) => self.add(["--ro-bind", utf8(source)?, target]),
            MountKind::Writable(source) => self.add(["--bind", utf8(source)?, target]),
            MountKind::Directory => {
                let shown =
                    |folder: &&str| Path::new(target).starts_with(Path::new("/").join(folder));
                if !SYSTEM_FOLDERS.iter().any(shown) {
                    self.add(["--dir", target]);
                }
            }
            MountKind::File(file) => {
                let number = self.add_file(file)?;
                self.add(["--ro-bind-data", &number, target]);
            }
            MountKind::Files(files) => {
                self.add(["--perms", "0755", "--tmpfs", target]);
                for file in files {
                    let number = self.add_file(file)?;
                    let path = format!("{}/{}", target.trim_end_matches('/'), file.path);
                    self.add(["--file", &number, &path]);
                }
                self.add(["--remount-ro", target]);
            }
        }
        Ok(())
    }

    /// Says the permissions of the next file and answers the number of its descriptor.
    fn add_file(&mut self, file: &PlacedFile) -> io::Result<String> {
        let mode = format!("{:04o}", file.mode & 0o777);
        self.add(["--perms", &mode]);
        let number = self.first_descriptor
            + i32::try_from(self.descriptors.len()).map_err(io::Error::other)?;
        self.descriptors
            .push(take::in_memory(file.content.expose())?);
        Ok(number.to_string())
    }
}

fn utf8(path: &Path) -> io::Result<&str> {
    path.to_str().ok_or_else(|| {
        let said = format!("path `{}` is not UTF-8", path.display());
        io::Error::new(io::ErrorKind::InvalidInput, said)
    })
}
