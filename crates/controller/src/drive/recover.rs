//! Taking up a run where an earlier process left it.

use groundplan_engine::{id::StepId, input::Input, report::StepReport};

use crate::{
    error::{Error, While},
    perform::{secrets::open_tokens, step::Hold},
    step_spec::needles,
};

use super::{Drive, Mode, gather::Inputs, steps};

impl Drive<'_> {
    /// Loads the run, takes what waits for it, and gets hold of what runs.
    pub(super) async fn recover(&mut self) -> Result<(), Error> {
        let loaded = self.controller.load_run(&self.id).await?;
        self.run = loaded.run;
        self.revision = loaded.revision;
        self.wake_at = loaded.timer;
        if self.run.is_created() {
            let store = &self.controller.ports.store;
            let row = store
                .find_run(&self.id.0)
                .await
                .doing(|| format!("cannot find run `{}`", self.id))?;
            self.settings = self.controller.settings(&row)?;
        }
        self.perform(loaded.actions).await?;
        if self.mode == Mode::Drive {
            self.attach_running().await?;
        }
        self.archive_ended();
        let mut gathered = Inputs::default();
        self.take_stored(&mut gathered).await?;
        if !gathered.inputs.is_empty() {
            self.recovered = self.take_turn(gathered).await?;
        }
        Ok(())
    }

    /// Takes up every step that was started before; those whose start is not settled are started
    /// again, which attaches too.
    async fn attach_running(&mut self) -> Result<(), Error> {
        let mut running: Vec<StepId> = steps::live(&self.run);
        running.retain(|step| !self.ready.iter().any(|ready| ready.request.step == *step));
        if running.is_empty() {
            return Ok(());
        }
        self.ensure_secrets().await?;
        self.open_handed_over().await?;
        let secrets = self.secrets.as_ref();
        let needles = needles(secrets.expect("secrets were looked up just now"));
        for step in running {
            self.follow(step, Hold::Attach(needles.clone()));
        }
        Ok(())
    }

    /// Opens every sensitive output that a step was given, as the driver before us did when it
    /// started them: the output of steps is masked for these as well.
    async fn open_handed_over(&mut self) -> Result<(), Error> {
        let secrets = self.secrets.as_mut();
        let sealed = &mut secrets.expect("secrets were looked up just now").sealed;
        let begun = self.run.nodes().filter(|node| !node.executions.is_empty());
        let inputs = begun.flat_map(|node| &node.inputs);
        let text: String = inputs.map(|input| format!("{}\n", input.value)).collect();
        open_tokens(self.controller.ports.secrets.as_ref(), &text, sealed).await
    }

    /// Archives logs that an earlier process had no time for.
    fn archive_ended(&mut self) {
        let ended: Vec<StepId> = steps::ended(&self.run);
        for step in ended {
            self.archive(step);
        }
    }

    /// Looks once at what every running step came to.
    pub(super) async fn record_once(&mut self) -> Result<(), Error> {
        let mut inputs = Vec::new();
        let running: Vec<StepId> = steps::live(&self.run);
        for step in running {
            let runner = &self.controller.ports.runner;
            let seen = runner
                .peek(&step)
                .await
                .doing(|| format!("cannot look at step `{step}`"))?;
            if let Some(report @ StepReport::Ended(_)) = seen.report
                && seen.sensitive.is_empty()
            {
                inputs.push(Input::StepReported { step, report });
            }
        }
        if !inputs.is_empty() {
            self.take_turn(Inputs {
                inputs,
                consumed: Vec::new(),
            })
            .await?;
        }
        self.finish().await
    }
}
