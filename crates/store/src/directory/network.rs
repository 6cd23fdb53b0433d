//! Which file systems lie behind a network: their locks and their memory maps are not safe for a
//! database that several processes use.

use std::{fs, io, path::Path};

use rustix::fs::statfs;

/// Magic numbers of the kernel's network file systems.
const MAGIC: &[(u32, &str)] = &[
    (0x6969, "nfs"),
    (0x517b, "smb"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x00c3_6400, "ceph"),
    (0x5346_414f, "afs"),
    (0x7375_7245, "coda"),
    (0x0102_1997, "9p"),
    (0x0bd0_0bd0, "lustre"),
];

/// Magic number of file systems that a program of the user serves.
const FUSE: u32 = 0x6573_5546;

/// Programs that serve what lies behind a network.
const REMOTE_FUSE: &[&str] = &[
    "afp",
    "blobfuse",
    "ceph",
    "curlftpfs",
    "davfs",
    "gcsfuse",
    "gluster",
    "goofys",
    "hdfs",
    "juicefs",
    "mountpoint-s3",
    "nfs",
    "rclone",
    "s3",
    "seaweedfs",
    "smb",
    "sshfs",
    "webdav",
];

/// The kind of network file system that a path lies on, if it does.
pub(super) fn network_file_system(path: &Path) -> io::Result<Option<String>> {
    let stat = statfs(path)?;
    // The field has another type on each architecture; the magic numbers have 32 bits.
    let magic = (stat.f_type & 0xffff_ffff) as u32;
    if magic != FUSE {
        return Ok(by_magic(magic));
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    Ok(by_mount(&mounts, path))
}

fn by_magic(magic: u32) -> Option<String> {
    let found = MAGIC.iter().find(|(known, _)| *known == magic);
    found.map(|(_, name)| (*name).to_owned())
}

/// What serves the innermost mount above a path, if that is remote.
fn by_mount(mounts: &str, path: &Path) -> Option<String> {
    let (_, (kind, source)) = mounts
        .lines()
        .filter_map(|line| {
            let (before, after) = line.split_once(" - ")?;
            let point = unescape(before.split(' ').nth(4)?);
            let mut after = after.split(' ');
            let kind = (after.next()?, after.next()?);
            path.starts_with(&point).then_some((point, kind))
        })
        // Of two mounts on one point the later one is seen.
        .max_by_key(|(point, _)| point.len())?;
    // Some programs give their name as the kind, others only as what is mounted.
    let program = match kind.strip_prefix("fuse.") {
        Some(program) => program,
        None if kind == "fuse" => source,
        None => return None,
    };
    let remote = REMOTE_FUSE.iter().any(|name| program.contains(name));
    remote.then(|| kind.to_owned())
}

/// Blanks and backslashes in mount points are written in octal.
fn unescape(text: &str) -> String {
    [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_their_magic_number() {
        assert_eq!(by_magic(0x6969).as_deref(), Some("nfs"));
        assert_eq!(by_magic(0xff53_4d42).as_deref(), Some("cifs"));
        for local in [0xef53, 0x0102_1994, 0x9123_683e, 0x5846_5342, 0x794c_7630] {
            assert_eq!(by_magic(local), None, "{local:x}");
        }
    }

    #[test]
    fn fuse_is_refused_where_it_is_remote() {
        let mounts = "\
22 1 8:1 / / rw - ext4 /dev/sda1 rw
40 22 0:40 / /mnt/far\\040away rw,nosuid - fuse.sshfs me@host:/ rw
41 22 0:41 / /mnt/near rw,nosuid - fuseblk /dev/sdb1 rw
42 41 0:42 / /mnt/near/bucket rw - fuse s3fs rw
";
        let kind = |path: &str| by_mount(mounts, Path::new(path));
        assert_eq!(kind("/mnt/far away/x").as_deref(), Some("fuse.sshfs"));
        assert_eq!(kind("/mnt/near/x"), None);
        assert_eq!(kind("/mnt/near/bucket").as_deref(), Some("fuse"));
        assert_eq!(kind("/mnt/nearby"), None);
    }

    #[test]
    fn the_directory_for_temporary_files_is_local() {
        assert_eq!(network_file_system(&std::env::temp_dir()).unwrap(), None);
    }
}
