//! From a file and what a person gave to a run that can be submitted.

use std::{collections::BTreeSet, path::Path};

use groundplan_controller::{Controller, RunSettings, Submission, preflight};
use groundplan_engine::input::NewRun;
use groundplan_ports::{error::ErrorKind, secrets::SecretScope};
use groundplan_workflow::{
    diagnostic::{Diagnostic, Severity},
    document::Document,
    lint::{Options as LintOptions, Purpose, lint_read},
    nearest::nearest,
    read::{ReadDocument, ReadFile, SourceFile, read as read_file},
    resolve,
};

use super::values;
use crate::{
    arguments::Run,
    clock,
    compose::volumes,
    config::{Machine, absolute},
    exit::Exit,
    failure::Failure,
    terminal::{self, diagnostics, style::Paint},
};

/// A file and the one document of it that can be run.
pub(crate) struct Runnable {
    pub(crate) source: SourceFile,
    pub(crate) document: ReadDocument,
}

/// Reads and lints a file that holds one document to run, with variables of these names passed to
/// its steps. Warnings and notices go to standard error.
pub(crate) fn read(path: &Path, passed: &[String], exit: Exit) -> Result<Runnable, Failure> {
    let bytes = std::fs::read(path).map_err(|error| {
        Failure::user(format!("cannot read `{}`", path.display()))
            .because(error)
            .with_hint("name a file that holds a workflow document")
    })?;
    of_source(
        SourceFile::new(path.display().to_string(), bytes),
        passed,
        exit,
    )
}

/// The same of bytes that are there already.
fn of_source(source: SourceFile, passed: &[String], exit: Exit) -> Result<Runnable, Failure> {
    let file = read_file(&source);
    let mut found = lint_read(
        std::slice::from_ref(&file),
        &LintOptions::new(Purpose::Lint),
    );
    found.retain(|found| !is_about_passed(found, passed));
    show(&source, &found, exit)?;
    only_document(source, file)
}

/// The one document of a file that was read.
pub(crate) fn only_document(source: SourceFile, file: ReadFile) -> Result<Runnable, Failure> {
    let mut documents = file.documents;
    let document = documents.pop().ok_or_else(|| {
        Failure::user(format!("`{}` holds no document that can be run", source.name))
            .with_hint("a document to run is a Workflow, CronWorkflow, WorkflowTemplate or ClusterWorkflowTemplate")
    })?;
    if !documents.is_empty() {
        return Err(Failure::user(format!(
            "`{}` holds {} documents",
            source.name,
            documents.len() + 1
        ))
        .with_hint("put the one to run into a file of its own"));
    }
    Ok(Runnable { source, document })
}

/// Whether it is said of a variable that nothing in the document sets, but the person does.
fn is_about_passed(found: &Diagnostic, passed: &[String]) -> bool {
    found.code == "unset-variable"
        && passed
            .iter()
            .any(|name| found.message.contains(&format!("`{name}`")))
}

/// Prints what is wrong; errors end it.
fn show(source: &SourceFile, found: &[Diagnostic], exit: Exit) -> Result<(), Failure> {
    if found.is_empty() {
        return Ok(());
    }
    let paint = Paint::for_stream(&std::io::stderr());
    terminal::note(diagnostics::painted(
        found,
        std::slice::from_ref(source),
        paint,
    ));
    let errors = found
        .iter()
        .filter(|found| found.severity == Severity::Error)
        .count();
    if errors == 0 {
        return Ok(());
    }
    let plural = if errors == 1 { "" } else { "s" };
    Err(Failure::user(format!(
        "`{}` cannot be run: {errors} error{plural}",
        source.name
    ))
    .exiting(exit))
}

/// What the person chose, so far as it is remembered with the run.
pub(super) fn settings(
    machine: &Machine,
    arguments: &Run,
    file: &Path,
    passed_variables: Vec<String>,
) -> Result<RunSettings, Failure> {
    let read_only_paths = arguments
        .bind_ro
        .iter()
        .map(|path| absolute(path))
        .collect::<Result<Vec<_>, _>>()?;
    for path in &read_only_paths {
        if !path.exists() {
            return Err(
                Failure::user(format!("`--bind-ro {}`: there is nothing", path.display()))
                    .with_hint("name a file or directory of this machine"),
            );
        }
    }
    Ok(RunSettings {
        document: file.display().to_string(),
        volumes: volumes(&arguments.volumes)?,
        passed_variables,
        read_only_paths,
        secrets_file: arguments.secrets.as_deref().map(absolute).transpose()?,
        sandbox: !arguments.no_sandbox,
        network: machine.network.value,
        grace_millis: arguments.grace.saturating_mul(1000),
        allowed_host_paths: machine.allowed_host_paths.value.clone(),
    })
}

/// A run that can be submitted.
pub(crate) fn submission(
    runnable: &Runnable,
    parameters: &[(String, String)],
    settings: &RunSettings,
) -> Result<Submission, Failure> {
    let now = clock::now();
    let metadata = runnable.document.metadata();
    let suffix = values::suffix()?;
    let name = match &runnable.document.document {
        // One document, many runs: as the cron controller and `argo submit --from` name them.
        _ if metadata.name.is_empty() && metadata.generate_name.is_empty() => {
            format!("run-{suffix}")
        }
        _ if metadata.name.is_empty() => format!("{}{suffix}", metadata.generate_name),
        Document::Workflow(_) => metadata.name.clone(),
        Document::CronWorkflow(_)
        | Document::WorkflowTemplate(_)
        | Document::ClusterWorkflowTemplate(_) => format!("{}-{suffix}", metadata.name),
    };
    let workflow = resolve::resolve(&runnable.document, parameters, &name).map_err(|faults| {
        let shown = diagnostics::text(&faults, std::slice::from_ref(&runnable.source));
        Failure::user(format!("`{}` cannot be run", runnable.source.name)).because(shown)
    })?;
    let id = super::new_run_id(now)?;
    let uid = uid(&values::random::<16>()?);
    let seed = u64::from_le_bytes(values::random::<8>()?);
    let run = NewRun {
        id,
        uid,
        created_at: now,
        seed,
        workflow,
    };
    Ok(Submission {
        run,
        settings: settings.clone(),
    })
}

/// Sees to it that every directory that was given is behind a volume or claim of the document.
pub(super) fn check_volumes(submission: &Submission) -> Result<(), Failure> {
    let workflow = &submission.run.workflow;
    let templates = workflow.templates.values();
    let volumes = templates
        .flat_map(|template| &template.volumes)
        .chain(&workflow.spec.volumes);
    let known: BTreeSet<&str> = volumes
        .flat_map(|volume| {
            let claim = volume.persistent_volume_claim.as_ref();
            let claim = claim.map(|claim| claim.claim_name.as_str());
            [Some(volume.name.as_str()), claim]
        })
        .flatten()
        .chain(
            workflow
                .spec
                .volume_claim_templates
                .iter()
                .map(|claim| claim.metadata.name.as_str()),
        )
        .collect();
    let given = submission.settings.volumes.keys();
    let Some(unknown) = given
        .into_iter()
        .find(|name| !known.contains(name.as_str()))
    else {
        return Ok(());
    };
    let hint = match nearest(unknown, known.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None if known.is_empty() => "it has no volumes; remove `--volume`".to_owned(),
        None => {
            let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            format!("its volumes are {}", known.join(", "))
        }
    };
    Err(Failure::user(format!("the document has no volume `{unknown}`")).with_hint(hint))
}

/// A random UUID.
fn uid(random: &[u8; 16]) -> String {
    let mut bytes = *random;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

/// Sees to it that every secret and config map is there before anything starts.
pub(crate) async fn check_secrets(
    controller: &Controller,
    submission: &Submission,
) -> Result<(), Failure> {
    let workflow = &submission.run.workflow;
    let scope = SecretScope {
        namespace: workflow.metadata.namespace.clone(),
    };
    let mut missing = Vec::new();
    for needed in preflight::needed_references(workflow) {
        match controller
            .ports()
            .secrets
            .resolve(&scope, &needed.reference)
            .await
        {
            Ok(_) => {}
            Err(error) if error.kind == ErrorKind::NotFound && needed.optional => {}
            Err(error) => missing.push(format!(
                "{error}, which template `{}` needs",
                needed.template
            )),
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let failure = Failure::user("not everything that the document refers to is there");
    let hint = "give a file of Secret and ConfigMap documents with `--secrets FILE`";
    Err(missing
        .into_iter()
        .fold(failure, Failure::because)
        .with_hint(hint))
}
