//! Contract suites: one per port, run on each implementation by its own crate's tests.
//!
//! Each suite is a list of cases, async functions that take a fixture.
//! [`store_contract!`](crate::store_contract) and its like make a test of every case, so
//! that a failure names what does not hold.

pub mod blobs;
pub mod logs;
pub mod runner;
pub mod secrets;
pub mod store;

/// Makes a `#[tokio::test]` of every case of a suite. Used by the macros of the suites.
#[doc(hidden)]
#[macro_export]
macro_rules! contract_cases {
    ($suite:ident, $fixture:expr, $($case:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let fixture = $fixture;
                $crate::contract::$suite::$case(&fixture).await;
            }
        )+
    };
}
