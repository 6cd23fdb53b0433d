//! Being woken by changes in a step's directory and by the end of a process.
//!
//! All directories are watched through one inotify instance that lives as long as the runner: closing
//! one makes the kernel wait, for longer than a short step takes.

use std::{
    collections::BTreeMap,
    io,
    mem::MaybeUninit,
    os::fd::OwnedFd,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use tokio::{
    io::{Interest, unix::AsyncFd},
    sync::Notify,
    task::JoinHandle,
};

/// Watches directories. Made at first use, within the runtime that then tells of changes.
#[derive(Debug, Default)]
pub(crate) struct Watcher(Mutex<Option<(Arc<Shared>, JoinHandle<()>)>>);

#[derive(Debug)]
struct Shared {
    descriptor: AsyncFd<OwnedFd>,
    /// Who wants to know of each watched directory.
    watches: Mutex<BTreeMap<i32, Vec<Arc<Notify>>>>,
}

/// Wakes when files of a directory change, come or go.
#[derive(Debug)]
pub(crate) struct Watch {
    shared: Arc<Shared>,
    number: i32,
    changed: Arc<Notify>,
}

impl Watcher {
    /// Watches a directory from now on.
    pub(crate) fn watch(&self, directory: &Path) -> io::Result<Watch> {
        let mut place = lock(&self.0);
        let shared = match &*place {
            Some((shared, task)) if !task.is_finished() => shared.clone(),
            _ => {
                let flags = CreateFlags::NONBLOCK | CreateFlags::CLOEXEC;
                let shared = Arc::new(Shared {
                    descriptor: readable(inotify::init(flags)?)?,
                    watches: Mutex::default(),
                });
                let task = tokio::spawn(dispatch(shared.clone()));
                place.insert((shared, task)).0.clone()
            }
        };
        drop(place);
        let changed = Arc::new(Notify::new());
        let flags = WatchFlags::MODIFY
            | WatchFlags::CREATE
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        let number = {
            // The lock is held over both, as the one who drops the last watch of a directory does.
            let mut watches = lock(&shared.watches);
            let number = inotify::add_watch(shared.descriptor.get_ref(), directory, flags)?;
            watches.entry(number).or_default().push(changed.clone());
            number
        };
        Ok(Watch {
            shared,
            number,
            changed,
        })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if let Some((_, task)) = lock(&self.0).take() {
            task.abort();
        }
    }
}

impl Watch {
    /// Waits for a change since the last call. Cancelled, no change is lost.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut watches = lock(&self.shared.watches);
        let Some(waiting) = watches.get_mut(&self.number) else {
            return;
        };
        waiting.retain(|one| !Arc::ptr_eq(one, &self.changed));
        if waiting.is_empty() {
            watches.remove(&self.number);
            // It fails where the directory is gone, and the watch with it.
            let _ = inotify::remove_watch(self.shared.descriptor.get_ref(), self.number);
        }
    }
}

/// Tells everybody who waits. It ends where the kernel gives no events any more.
async fn dispatch(shared: Arc<Shared>) {
    while let Ok(mut guard) = shared.descriptor.readable().await {
        let mut space = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(shared.descriptor.get_ref(), &mut space);
        loop {
            match reader.next() {
                Ok(event) => shared.tell(event.wd()),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => {
                    guard.clear_ready();
                    break;
                }
                Err(_) => {
                    shared.tell(EVERYBODY);
                    return;
                }
            }
        }
    }
}

/// The number that the kernel gives when it lost events.
const EVERYBODY: i32 = -1;

impl Shared {
    fn tell(&self, number: i32) {
        for (watch, waiting) in &*lock(&self.watches) {
            if number == *watch || number == EVERYBODY {
                waiting.iter().for_each(|one| one.notify_one());
            }
        }
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

#[expect(
    deprecated,
    reason = "unsound only for types that do not own their descriptor; the replacement is unsafe"
)]
fn readable(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(descriptor, Interest::READABLE)
}

/// Locks; every change under these locks is whole at each step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
