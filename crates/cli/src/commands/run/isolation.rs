//! Whether steps of a run get a sandbox.

use groundplan_controller::{Submission, preflight};
use groundplan_ports::runner::{Isolation, Runner};
use groundplan_workflow::document::AnyString;

use crate::{
    arguments::Run,
    compose::Composition,
    config::Machine,
    failure::Failure,
    terminal::{self, style::first_line},
};

/// File of the data directory that remembers a person's consent to go without.
const CONSENT: &str = "no-sandbox-allowed";

/// Whether there is a sandbox: the machine has one, or the person goes without.
pub(super) async fn choose(
    composition: &Composition,
    machine: &Machine,
    arguments: &Run,
) -> Result<bool, Failure> {
    if arguments.no_sandbox {
        return Ok(false);
    }
    let capabilities = composition.runner_port().capabilities().await?;
    if capabilities.isolations.contains(&Isolation::Sandbox) {
        return Ok(true);
    }
    let consent = machine.data_dir.value.join(CONSENT);
    if consent.exists() {
        terminal::note(
            "warning: no sandbox on this machine; steps run as ordinary processes of yours",
        );
        return Ok(false);
    }
    let refusal = capabilities
        .notices
        .iter()
        // The way out is said once, below.
        .map(|notice| first_line(notice))
        .fold(
            Failure::user("there is no usable sandbox on this machine"),
            Failure::because,
        )
        .with_hint("repair it (`groundplan doctor` says how), or add `--no-sandbox`");
    if !terminal::can_ask() {
        return Err(refusal);
    }
    terminal::error(&refusal);
    if !terminal::ask("Run steps as ordinary processes of yours, here and from now on?") {
        return Err(refusal);
    }
    std::fs::write(&consent, "").map_err(|error| {
        Failure::user(format!(
            "cannot remember the answer in `{}`",
            consent.display()
        ))
        .because(error)
    })?;
    Ok(false)
}

/// Makes a run fit for going without a sandbox: parameters that are mount paths get the volumes'
/// real folders; what cannot do without is refused.
pub(crate) fn fit(submission: &mut Submission, composition: &Composition) -> Result<(), Failure> {
    let workflow = &mut submission.run.workflow;
    let parameters = preflight::mount_parameters(workflow).map_err(|faults| {
        faults
            .iter()
            .fold(
                Failure::user("the document needs a sandbox"),
                Failure::because,
            )
            .with_hint("run it with a sandbox, or let the mount path come from a parameter")
    })?;
    for (parameter, volume) in parameters {
        let directory = match submission.settings.volumes.get(&volume) {
            Some(directory) => directory.clone(),
            None => composition
                .runner
                .claim_directory(&submission.run.id, &volume),
        };
        let value = AnyString::from(directory.display().to_string());
        let arguments = &mut workflow.spec.arguments.parameters;
        match arguments
            .iter_mut()
            .find(|argument| argument.name == parameter)
        {
            Some(argument) => argument.value = Some(value),
            None => arguments.push(groundplan_workflow::document::Parameter {
                name: parameter,
                value: Some(value),
                ..Default::default()
            }),
        }
    }
    Ok(())
}
