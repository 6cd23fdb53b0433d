//! The time of day, for the controller and the simulator only.

use async_trait::async_trait;
use groundplan_engine::time::Timestamp;

/// A clock.
#[async_trait]
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;

    /// Returns at or after `at`. Cancelling it leaves nothing behind.
    async fn sleep_until(&self, at: Timestamp);
}
