//! Looking up everything secret that a run may use.

use groundplan_engine::run::Run;
use groundplan_ports::{
    error::ErrorKind,
    secrets::{SecretScope, SecretValue, Secrets},
};

use crate::{
    controller::Controller,
    error::{Error, While},
    preflight,
    step_spec::SecretSet,
};

impl Controller {
    /// Every value that a run may use, and with it everything its outputs are masked for.
    ///
    /// # Errors
    /// *Not found* naming the object and key where a reference that is not optional has no value.
    pub(crate) async fn secrets_of(&self, run: &Run) -> Result<SecretSet, Error> {
        let mut set = SecretSet {
            passed_variables: self.options.passed_variables.clone(),
            ..SecretSet::default()
        };
        let Some(workflow) = run.created().map(|new| &new.workflow) else {
            return Ok(set);
        };
        let scope = SecretScope {
            namespace: workflow.metadata.namespace.clone(),
        };
        for needed in preflight::needed_references(workflow) {
            match self.ports.secrets.resolve(&scope, &needed.reference).await {
                Ok(values) => {
                    set.references.insert(needed.reference, values);
                }
                Err(error) if needed.optional && error.kind == ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(error).doing(|| {
                        format!("cannot look up what template `{}` needs", needed.template)
                    });
                }
            }
        }
        Ok(set)
    }
}

/// The values behind every token of sealed outputs within a text, added to what is known.
pub(crate) async fn open_tokens(
    secrets: &dyn Secrets,
    text: &str,
    known: &mut Vec<(String, SecretValue)>,
) -> Result<(), Error> {
    for (token, value) in secrets
        .open(text)
        .await
        .doing(|| "cannot open a sensitive output".to_owned())?
    {
        if !known.iter().any(|(existing, _)| *existing == token) {
            known.push((token, value));
        }
    }
    Ok(())
}
