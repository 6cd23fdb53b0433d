//! Virtual time on tokio's paused clock: it jumps to the next timer when nothing else can happen.

use async_trait::async_trait;
use groundplan_engine::time::Timestamp;
use groundplan_ports::clock::Clock;
use tokio::time::{Duration, Instant};

/// A clock that starts at a fixed time. Meant for runtimes with `start_paused`.
#[derive(Clone, Copy, Debug)]
pub struct VirtualClock {
    origin: Instant,
    epoch: Timestamp,
}

impl VirtualClock {
    /// A clock that shows `epoch` now.
    pub fn starting_at(epoch: Timestamp) -> Self {
        VirtualClock {
            origin: Instant::now(),
            epoch,
        }
    }
}

#[async_trait]
impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        let elapsed = self.origin.elapsed().as_millis();
        self.epoch
            .plus_millis(i64::try_from(elapsed).expect("a test ends before time does"))
    }

    async fn sleep_until(&self, at: Timestamp) {
        let left = u64::try_from(at.0 - self.now().0).unwrap_or(0);
        tokio::time::sleep(Duration::from_millis(left)).await;
    }
}
