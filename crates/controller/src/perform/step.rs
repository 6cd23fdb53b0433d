//! Starting steps, hearing of them, stopping them.

use std::sync::Arc;

use groundplan_engine::{id::StepId, report::StepReport};
use groundplan_ports::{
    error::PortError,
    runner::{Observation, Runner, StepSpec},
    secrets::SecretValue,
};
use tokio::{sync::mpsc::UnboundedSender, task::JoinHandle};

/// What a step's task tells the loop.
#[derive(Debug)]
pub(crate) enum News {
    /// The runner took the step.
    Accepted {
        /// Which step.
        step: StepId,
        /// Number of the action that asked for it, where one did.
        action: Option<u64>,
    },
    /// The runner said something.
    Observed {
        /// Which step.
        step: StepId,
        /// What it said; the report is present.
        report: StepReport,
        /// Sensitive outputs by name.
        sensitive: std::collections::BTreeMap<String, SecretValue>,
    },
    /// The runner failed; the step itself may be well.
    Failed {
        /// Which step.
        step: StepId,
        /// Why.
        error: PortError,
    },
}

/// How a task gets hold of its step.
#[derive(Debug)]
pub(crate) enum Hold {
    /// Start it, or attach if it was started before.
    Start(Box<StepSpec>, Option<u64>),
    /// Take up what an earlier process started, with what its output is masked for.
    Attach(Vec<(String, SecretValue)>),
}

/// Starts or takes up a step and passes on every report until it has ended.
pub(crate) fn follow(
    runner: Arc<dyn Runner>,
    step: StepId,
    hold: Hold,
    news: UnboundedSender<News>,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        if let Err(error) = hold_and_observe(runner.as_ref(), &step, hold, &news).await {
            // The loop is gone when nobody listens; the step goes on under its supervisor.
            let _ = news.send(News::Failed { step, error });
        }
    })
}

async fn hold_and_observe(
    runner: &dyn Runner,
    step: &StepId,
    hold: Hold,
    news: &UnboundedSender<News>,
) -> Result<(), PortError> {
    let action = match hold {
        Hold::Start(spec, action) => {
            runner.start(*spec).await?;
            action
        }
        Hold::Attach(needles) => {
            runner.attach(step, needles).await?;
            None
        }
    };
    if news
        .send(News::Accepted {
            step: step.clone(),
            action,
        })
        .is_err()
    {
        return Ok(());
    }
    let mut seen = None;
    loop {
        let Observation { report, sensitive } = runner.observe(step, seen.as_ref()).await?;
        let Some(report) = report else { continue };
        let ended = matches!(report, StepReport::Ended(_));
        let observed = News::Observed {
            step: step.clone(),
            report: report.clone(),
            sensitive,
        };
        if news.send(observed).is_err() || ended {
            return Ok(());
        }
        seen = Some(report);
    }
}
