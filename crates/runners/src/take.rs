//! Taking what a step left, so that it cannot make us read anything else.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::DirBuilderExt,
    },
    path::Path,
};

use rustix::{
    fs::{
        FileType, MemfdFlags, Mode, OFlags, ResolveFlags, fstat, memfd_create, mkdirat, open,
        openat, openat2,
    },
    io::Errno,
};

/// Most bytes of an output parameter.
pub(crate) const PARAMETER_LIMIT: u64 = 1 << 20;

/// Most bytes of standard output that are taken as the result: the last ones.
pub(crate) const RESULT_LIMIT: u64 = 256 << 10;

/// Why a file was not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TakeError {
    /// Nothing is there.
    #[error("it does not exist")]
    Missing,
    /// It is no file.
    #[error("it is {0}, not a regular file")]
    Kind(&'static str),
    /// It is too long.
    #[error("it is longer than {} KB", PARAMETER_LIMIT >> 10)]
    Length,
    /// The system refuses.
    #[error(transparent)]
    Io(io::Error),
}

/// Reads a file below a directory. Symbolic links are resolved as if the directory were `/`; what is
/// no regular file is not opened; it never blocks.
pub(crate) fn read_beneath(directory: &Path, relative: &str) -> Result<Vec<u8>, TakeError> {
    let from_errno = |error: Errno| match error {
        Errno::NOENT | Errno::NOTDIR => TakeError::Missing,
        Errno::LOOP => TakeError::Kind("a loop of links"),
        error => TakeError::Io(error.into()),
    };
    let relative = match relative.trim_start_matches('/') {
        "" => ".",
        relative => relative,
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let top = open(directory, flags, Mode::empty()).map_err(from_errno)?;
    let found = openat2(
        &top,
        relative,
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS,
    )
    .map_err(from_errno)?;
    let stat = fstat(&found).map_err(from_errno)?;
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => None,
        FileType::Directory => Some("a directory"),
        FileType::Fifo => Some("a FIFO"),
        FileType::Socket => Some("a socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Some("a device"),
        FileType::Symlink | FileType::Unknown => Some("something else"),
    };
    if let Some(kind) = kind {
        return Err(TakeError::Kind(kind));
    }
    // What was looked at is what is opened.
    let again = format!("/proc/self/fd/{}", found.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(open(again, flags, Mode::empty()).map_err(from_errno)?);
    let mut bytes = Vec::new();
    file.take(PARAMETER_LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(TakeError::Io)?;
    if bytes.len() as u64 > PARAMETER_LIMIT {
        return Err(TakeError::Length);
    }
    Ok(bytes)
}

/// Makes a directory and those below it. A step may have put a symbolic link in the way: that is
/// refused. A file at the end is left as it is.
pub(crate) fn make_beneath(directory: &Path, relative: &str) -> io::Result<()> {
    if !directory.exists() {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(directory)?;
    }
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut current = open(directory, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    for part in relative.split('/').filter(|part| !part.is_empty()) {
        match mkdirat(&current, part, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        current = openat(&current, part, flags, Mode::empty())?;
        if FileType::from_raw_mode(fstat(&current)?.st_mode) == FileType::Symlink {
            let said = format!("`{relative}` leads over a symbolic link");
            return Err(io::Error::other(said));
        }
    }
    Ok(())
}

/// An output as Argo takes it: one newline at the end is not part of it.
pub(crate) fn without_newline(bytes: &[u8]) -> &[u8] {
    bytes.strip_suffix(b"\n").unwrap_or(bytes)
}

/// The text of an output; what is no UTF-8 becomes U+FFFD.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The end of something longer: bytes that continue a character whose beginning was cut are left out.
pub(crate) fn from_character(bytes: &[u8]) -> &[u8] {
    let continued = bytes
        .iter()
        .take(3)
        .take_while(|&&byte| byte & 0xc0 == 0x80)
        .count();
    &bytes[continued..]
}

/// A file in memory, at its beginning.
pub(crate) fn in_memory(content: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("groundplan", MemfdFlags::CLOEXEC)?);
    file.write_all(content)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_stay_beneath_the_directory() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir(at("etc")).expect("it is made");
        std::fs::write(at("etc/shadow"), "of the step").expect("it is written");
        symlink("/etc/shadow", at("absolute")).expect("it is made");
        symlink("../../../../../etc/shadow", at("upwards")).expect("it is made");
        symlink("/etc/passwd", at("dangling")).expect("it is made");
        symlink("/proc/self/environ", at("process")).expect("it is made");
        for name in ["absolute", "upwards"] {
            let bytes = read_beneath(directory.path(), name).expect("it is taken");
            assert_eq!(bytes, b"of the step", "{name}");
        }
        for name in ["dangling", "process", "nothing", "etc/shadow/x"] {
            let error = read_beneath(directory.path(), name).expect_err("nothing is there");
            assert!(matches!(error, TakeError::Missing), "{name}: {error}");
        }
    }

    #[test]
    fn a_character_cut_at_the_beginning_is_left_out() {
        let text = "é".as_bytes();
        assert_eq!(from_character(&text[1..]), b"");
        assert_eq!(from_character(b"plain"), b"plain");
    }
}
