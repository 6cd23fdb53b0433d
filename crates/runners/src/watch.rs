//! Being woken by changes in a step's directory and by the end of a process.

use std::{
    io,
    mem::MaybeUninit,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use tokio::io::{Interest, unix::AsyncFd};

#[expect(
    deprecated,
    reason = "unsound only for types that do not own their descriptor; the replacement is unsafe"
)]
fn readable(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(descriptor, Interest::READABLE)
}

/// Wakes when files of a directory change, come or go.
#[derive(Debug)]
pub(crate) struct Watch {
    descriptor: AsyncFd<OwnedFd>,
    /// A file to watch once it is there.
    later: Option<PathBuf>,
}

impl Watch {
    /// Watches everything that happens in a directory.
    pub(crate) fn of_changes(directory: &Path) -> io::Result<Self> {
        let watch = Watch::new()?;
        watch.add(directory, WatchFlags::MODIFY | Watch::NAMES)?;
        Ok(watch)
    }

    /// Watches a step's directory for reports and its status: not for what it prints.
    pub(crate) fn of_reports(directory: &Path) -> io::Result<Self> {
        let watch = Watch::new()?;
        watch.add(directory, Watch::NAMES)?;
        match watch.add(&directory.join("status"), WatchFlags::MODIFY) {
            // It is watched once it is there.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Watch {
                later: Some(directory.join("status")),
                ..watch
            }),
            Err(error) => Err(error),
            Ok(()) => Ok(watch),
        }
    }

    const NAMES: WatchFlags = WatchFlags::CREATE
        .union(WatchFlags::MOVED_TO)
        .union(WatchFlags::DELETE_SELF)
        .union(WatchFlags::MOVE_SELF);

    fn new() -> io::Result<Self> {
        let descriptor = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        Ok(Watch {
            descriptor: readable(descriptor)?,
            later: None,
        })
    }

    fn add(&self, path: &Path, flags: WatchFlags) -> io::Result<()> {
        inotify::add_watch(self.descriptor.get_ref(), path, flags)?;
        Ok(())
    }

    /// Waits for a change since the last call. Cancelled, no change is lost.
    pub(crate) async fn changed(&mut self) -> io::Result<()> {
        let mut guard = self.descriptor.readable().await?;
        let mut space = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(self.descriptor.get_ref(), &mut space);
        loop {
            match reader.next() {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => {
                    guard.clear_ready();
                    break;
                }
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(path) = self.later.take()
            && self.add(&path, WatchFlags::MODIFY).is_err()
        {
            self.later = Some(path);
        }
        Ok(())
    }
}

/// Wakes when a process ends.
#[derive(Debug)]
pub(crate) struct EndOfProcess(AsyncFd<OwnedFd>);

impl EndOfProcess {
    /// Of the process behind a pidfd.
    pub(crate) fn new(handle: OwnedFd) -> io::Result<Self> {
        readable(handle).map(EndOfProcess)
    }

    /// Waits until it has ended; afterwards it answers at once.
    pub(crate) async fn ended(&self) -> io::Result<()> {
        // Readiness is not cleared: a process that ended stays so.
        self.0.readable().await.map(|_| ())
    }
}
