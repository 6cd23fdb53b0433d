//! Space, and whether it can be written.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, StatVfsMountFlags, accessat, statvfs};

use super::{Check, Verdict};

const MIB: u64 = 1 << 20;

/// Below this nothing can be counted on.
const LEAST: u64 = 100 * MIB;

/// Below this a few runs fill it.
const COMFORTABLE: u64 = 1024 * MIB;

const LEAST_FILES: u64 = 1000;

pub(super) fn check(name: &str, folder: &Path) -> Check {
    let there = nearest(folder);
    let shown = folder.display();
    let stat = match statvfs(&there) {
        Ok(stat) => stat,
        Err(errno) => {
            let seen = format!("`{}` cannot be examined: {errno}", there.display());
            return Check::new(name, Verdict::Failure, seen)
                .with_fix([format!("ls -ld '{}'", there.display())]);
        }
    };
    if stat.f_flag.contains(StatVfsMountFlags::RDONLY) {
        let seen = format!("`{shown}` is on a file system that is read-only");
        return Check::new(name, Verdict::Failure, seen).with_fix(elsewhere());
    }
    if accessat(
        CWD,
        &there,
        Access::WRITE_OK | Access::EXEC_OK,
        AtFlags::EACCESS,
    )
    .is_err()
    {
        let seen = format!("`{}` cannot be written by this user", there.display());
        return Check::new(name, Verdict::Failure, seen).with_fix(elsewhere());
    }
    judge(
        name,
        folder,
        stat.f_bavail.saturating_mul(stat.f_frsize),
        files(&stat),
    )
}

/// Free files; `None` where the file system does not count them.
fn files(stat: &rustix::fs::StatVfs) -> Option<u64> {
    (stat.f_files > 0).then_some(stat.f_favail)
}

fn judge(name: &str, folder: &Path, bytes: u64, files: Option<u64>) -> Check {
    let seen = format!("{} free for `{}`", in_words(bytes), folder.display());
    let look = || {
        [format!(
            "df -h -i '{0}'; df -h '{0}'",
            nearest(folder).display()
        )]
    };
    if let Some(files) = files.filter(|files| *files < LEAST_FILES) {
        let seen = format!("{seen}, but only {files} more files");
        return Check::new(name, Verdict::Failure, seen).with_fix(look());
    }
    if bytes < LEAST {
        return Check::new(name, Verdict::Failure, seen).with_fix(look());
    }
    if bytes < COMFORTABLE {
        return Check::new(name, Verdict::Warning, seen).with_fix(look());
    }
    Check::new(name, Verdict::Ok, seen)
}

fn elsewhere() -> [String; 2] {
    [
        "# Choose another folder:".to_owned(),
        "export GROUNDPLAN_DATA_DIR=… XDG_CACHE_HOME=…".to_owned(),
    ]
}

fn in_words(bytes: u64) -> String {
    match bytes / MIB {
        mebibytes @ 0..1024 => format!("{mebibytes} MiB"),
        mebibytes => format!("{} GiB", mebibytes / 1024),
    }
}

/// The folder itself, or the nearest one above it that exists.
fn nearest(folder: &Path) -> PathBuf {
    folder
        .ancestors()
        .find(|path| path.exists())
        .map_or_else(|| PathBuf::from("/"), Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_space_is_a_warning_and_none_a_failure() {
        let of = |bytes, files| judge("disk", Path::new("/data"), bytes, files);
        assert_eq!(of(2048 * MIB, Some(100_000)).verdict, Verdict::Ok);
        assert_eq!(of(2048 * MIB, None).seen, "2 GiB free for `/data`");
        assert_eq!(of(500 * MIB, None).verdict, Verdict::Warning);
        assert_eq!(of(99 * MIB, None).verdict, Verdict::Failure);
        let no_files = of(2048 * MIB, Some(3));
        assert_eq!(no_files.verdict, Verdict::Failure);
        assert!(no_files.seen.ends_with("but only 3 more files"));
        assert!(!no_files.fix.is_empty());
    }

    #[test]
    fn a_folder_that_is_not_there_yet_is_judged_by_the_one_above() {
        let folder = tempfile::tempdir().unwrap();
        let check = check("disk", &folder.path().join("not/there/yet"));
        assert_ne!(check.verdict, Verdict::Failure, "{check:?}");
        assert!(check.seen.contains("not/there/yet"));
    }

    #[test]
    fn what_is_read_only_is_told() {
        let check = check("disk", Path::new("/proc/sys/nothing"));
        assert_eq!(check.verdict, Verdict::Failure, "{check:?}");
    }
}
