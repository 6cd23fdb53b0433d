//! Telling who waits for a lock that its holder is a run which nobody drives.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use groundplan_controller::Controller;
use groundplan_engine::{id::RunId, sync::LockKey};

use super::drive::say;
use crate::{commands::runs::driver, failure::Failure, terminal::LiveHandle};

/// Time between two looks.
const BETWEEN: Duration = Duration::from_secs(1);

/// Looks after those who hold what a run waits for, as long as it waits: what ended of them is
/// recorded, which may free the lock, and of each that nobody drives a person is told once.
pub(super) async fn watch(
    controller: Controller,
    run: RunId,
    waiting: Arc<AtomicBool>,
    handle: Option<LiveHandle>,
) {
    let mut told = BTreeSet::new();
    loop {
        tokio::time::sleep(BETWEEN).await;
        if waiting.load(Ordering::Relaxed) {
            // What cannot be learned now may be learned at the next look.
            let _ = look(&controller, &run, &mut told, handle.as_ref()).await;
        }
    }
}

async fn look(
    controller: &Controller,
    run: &RunId,
    told: &mut BTreeSet<RunId>,
    handle: Option<&LiveHandle>,
) -> Result<(), Failure> {
    let mut holders = controller.lock_holders(run).await?;
    holders.remove(run);
    for (holder, lock) in holders {
        if driver(controller, &holder).await?.is_some() {
            told.remove(&holder);
            continue;
        }
        controller.record(&holder).await?;
        let row = controller.ports().store.find_run(&holder.0).await?;
        if row.finished_at.is_none() && told.insert(holder) {
            say(handle, undriven(&row.name, &lock));
        }
    }
    Ok(())
}

fn undriven(run: &str, lock: &LockKey) -> String {
    let lock = lock.0.rsplit('/').next().unwrap_or(&lock.0);
    format!(
        "nobody drives run {run}, which holds mutex {lock}; go on with it: groundplan run --resume {run}"
    )
}
