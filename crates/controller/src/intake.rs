//! What arrives for a run from outside, before any turn.

use groundplan_engine::{
    id::RunId,
    input::{Input, NewRun},
};
use groundplan_ports::store::{AggregateId, AggregateKind, Incoming};
use serde::{Deserialize, Serialize};

use crate::{
    codec,
    controller::Controller,
    error::{Error, While},
    settings::RunSettings,
};

/// A run to begin, with what the person chose for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// What the engine is given.
    pub run: NewRun,
    /// What the person chose.
    pub settings: RunSettings,
}

/// What the store keeps for a run until a turn consumes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Envelope {
    /// A new run.
    Submit(Box<Submission>),
    /// An input of the engine.
    Input(Box<Input>),
}

/// The aggregate of a run.
pub(crate) fn aggregate_of(run: &RunId) -> AggregateId {
    AggregateId {
        kind: AggregateKind::Run,
        key: run.0.clone(),
    }
}

/// The one lock space.
pub(crate) fn lock_space() -> AggregateId {
    AggregateId {
        kind: AggregateKind::LockSpace,
        key: "locks".to_owned(),
    }
}

impl Controller {
    /// Stores a run that is to begin. Submitting the same run again changes nothing.
    pub async fn submit(&self, submission: Submission) -> Result<(), Error> {
        let run = submission.run.id.clone();
        self.deliver(
            &run,
            "submit".to_owned(),
            Envelope::Submit(Box::new(submission)),
        )
        .await
    }

    /// Asks for a run to stop; whoever drives it hears of it soon. Asking again changes nothing.
    pub async fn request_stop(&self, run: &RunId) -> Result<(), Error> {
        self.deliver(
            run,
            "stop".to_owned(),
            Envelope::Input(Box::new(Input::Stop)),
        )
        .await
    }

    async fn deliver(
        &self,
        run: &RunId,
        delivery: String,
        envelope: Envelope,
    ) -> Result<(), Error> {
        let body = codec::encode(&envelope, self.ports.blobs.as_ref()).await?;
        let incoming = Incoming {
            aggregate: aggregate_of(run),
            delivery,
            body,
        };
        self.ports
            .store
            .receive(incoming)
            .await
            .doing(|| format!("cannot store an input of run `{run}`"))?;
        Ok(())
    }
}
