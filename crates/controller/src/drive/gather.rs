//! What happened since the last turn: a closed set of sources.

use groundplan_engine::{input::Input, report::StepReport};
use groundplan_ports::{secrets::SecretValue, store::InputId};
use std::collections::BTreeMap;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::{
    codec,
    error::{Error, While},
    intake::Envelope,
    perform::step::News,
};

use super::{Control, Drive};

/// Inputs of a turn, and which stored ones are consumed by it.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    pub inputs: Vec<Input>,
    pub consumed: Vec<InputId>,
}

/// What gathering came to.
#[derive(Debug)]
pub(super) enum Gathered {
    /// Something for a turn.
    Inputs(Inputs),
    /// Nothing yet.
    Nothing,
    /// The person leaves.
    Detach,
}

impl Drive<'_> {
    /// Waits until something happened and answers all of it.
    pub(super) async fn gather(
        &mut self,
        controls: &mut UnboundedReceiver<Control>,
    ) -> Result<Gathered, Error> {
        let mut gathered = Inputs::default();
        self.take_news(None, &mut gathered).await?;
        if gathered.inputs.is_empty() {
            if let Some(detach) = self.wait(controls, &mut gathered).await? {
                return Ok(detach);
            }
            self.take_news(None, &mut gathered).await?;
        }
        self.keep_lease().await?;
        if self
            .wake_at
            .is_some_and(|at| at <= self.controller.ports.clock.now())
        {
            self.wake_at = None;
            gathered.inputs.push(Input::Tick);
        }
        Ok(if gathered.inputs.is_empty() {
            Gathered::Nothing
        } else {
            Gathered::Inputs(gathered)
        })
    }

    async fn wait(
        &mut self,
        controls: &mut UnboundedReceiver<Control>,
        gathered: &mut Inputs,
    ) -> Result<Option<Gathered>, Error> {
        let ports = self.controller.ports.clone();
        let wake_at = self.wake_at;
        let due = async {
            match wake_at {
                Some(at) => ports.clock.sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            control = controls.recv(), if !controls.is_closed() => return self.obey(control, gathered).await,
            news = self.heard.recv() => self.take_news(news, gathered).await?,
            hint = ports.store.wait_for_hint(self.controller.options.poll) => {
                hint.doing(|| "cannot wait for news of the store".to_owned())?;
                self.take_stored(gathered).await?;
            }
            () = due => {}
        }
        Ok(None)
    }

    async fn obey(
        &mut self,
        control: Option<Control>,
        gathered: &mut Inputs,
    ) -> Result<Option<Gathered>, Error> {
        match control {
            None => {}
            Some(Control::Detach) => return Ok(Some(Gathered::Detach)),
            Some(Control::Stop) => gathered.inputs.push(Input::Stop),
            Some(Control::Kill) => {
                for step in self.running.keys() {
                    let runner = &self.controller.ports.runner;
                    runner
                        .kill(step)
                        .await
                        .doing(|| format!("cannot kill `{step}`"))?;
                }
            }
        }
        Ok(None)
    }

    /// Turns everything that the step tasks said so far into inputs.
    async fn take_news(&mut self, first: Option<News>, gathered: &mut Inputs) -> Result<(), Error> {
        let mut next = first;
        loop {
            let news = match next.take() {
                Some(news) => news,
                None => match self.heard.try_recv() {
                    Ok(news) => news,
                    Err(_) => return Ok(()),
                },
            };
            match news {
                News::Accepted { step, action } => {
                    self.done.extend(action);
                    self.accepted.insert(step.clone());
                    if let Some((action, reason)) = self.stopping.remove(&step) {
                        self.stop_now(action, &step, reason).await?;
                    }
                }
                News::Observed {
                    step,
                    report,
                    sensitive,
                } => {
                    let report = self.sealed(report, sensitive).await?;
                    gathered.inputs.push(Input::StepReported { step, report });
                }
                News::Failed { step, error } => {
                    return Err(error).doing(|| format!("cannot run step `{step}`"));
                }
            }
        }
    }

    /// Puts tokens in the place of sensitive values, so that no event ever holds one.
    async fn sealed(
        &self,
        mut report: StepReport,
        sensitive: BTreeMap<String, SecretValue>,
    ) -> Result<StepReport, Error> {
        if let StepReport::Ended(end) = &mut report {
            for (name, value) in sensitive {
                let secrets = &self.controller.ports.secrets;
                let token = secrets
                    .seal(&value)
                    .await
                    .doing(|| format!("cannot seal output `{name}`"))?;
                if name == "result" {
                    end.result = Some(token);
                } else {
                    end.parameters.insert(name, token);
                }
            }
        }
        Ok(report)
    }

    /// Inputs that others left for this run.
    pub(super) async fn take_stored(&mut self, gathered: &mut Inputs) -> Result<(), Error> {
        let store = &self.controller.ports.store;
        let stored = store
            .waiting_inputs(&self.aggregate)
            .await
            .doing(|| format!("cannot read the inputs of run `{}`", self.id))?;
        for input in stored {
            let envelope = codec::decode(
                &input.body,
                self.controller.ports.blobs.as_ref(),
                "input",
                &self.id.0,
            )
            .await?;
            gathered.consumed.push(input.id);
            gathered.inputs.push(match envelope {
                Envelope::Input(input) => *input,
                Envelope::Submit(submission) => {
                    self.settings = submission.settings;
                    Input::Create(Box::new(submission.run))
                }
            });
        }
        Ok(())
    }

    async fn keep_lease(&mut self) -> Result<(), Error> {
        let controller = self.controller;
        let now = controller.ports.clock.now();
        let length = i64::try_from(controller.options.lease.as_millis()).unwrap_or(i64::MAX);
        if self.lease.until > now.plus_millis(length / 3 * 2) {
            return Ok(());
        }
        let renewed = controller
            .ports
            .store
            .renew(&self.lease, now.plus_millis(length))
            .await;
        self.lease = renewed.doing(|| format!("cannot renew the lease of run `{}`", self.id))?;
        Ok(())
    }
}
