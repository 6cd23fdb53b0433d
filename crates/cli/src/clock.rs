//! The machine's clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use groundplan_engine::time::Timestamp;
use groundplan_ports::clock::Clock;

/// The machine's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemClock;

/// Now.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[async_trait::async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        now()
    }

    async fn sleep_until(&self, at: Timestamp) {
        let left = u64::try_from(at.0 - now().0).unwrap_or(0);
        tokio::time::sleep(Duration::from_millis(left)).await;
    }
}
