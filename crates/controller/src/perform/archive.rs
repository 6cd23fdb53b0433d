//! Taking an ended step's log into the archive, then forgetting the step.

use groundplan_engine::id::StepId;
use groundplan_ports::error::ErrorKind;

use crate::{
    controller::Ports,
    error::{Error, While},
};

/// Archives the log of an ended step and deletes what the runner has of it. Repeating it changes
/// nothing.
pub(crate) async fn archive(ports: &Ports, step: &StepId) -> Result<(), Error> {
    let known = ports
        .logs
        .record(step)
        .await
        .doing(|| format!("cannot look up the log of `{step}`"))?;
    if known.is_none() {
        match ports.runner.log(step).await {
            Ok(mut log) => {
                let closed = ports.logs.close(step, log.as_mut()).await;
                closed.doing(|| format!("cannot archive the log of `{step}`"))?;
            }
            // A step that never began has no log.
            Err(error) if error.kind == ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                return Err(error).doing(|| format!("cannot read the log of `{step}`"));
            }
        }
    }
    ports
        .runner
        .clean_up(step)
        .await
        .doing(|| format!("cannot clean up after `{step}`"))
}
