//! Where the demo plays: its directory, the repository in it, and runs of its documents.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use groundplan_controller::RunSettings;
use groundplan_engine::run::Run;
use groundplan_forges::git::{Git, GitOptions, Repository, Signature};
use groundplan_ports::{runner::Isolation, source_tree::SourceTree as _};
use groundplan_runners::tools::{Located, Tool, by_hand};
use groundplan_workflow::read::{SourceFile, read};
use tokio::runtime::Runtime;

use super::{examples, narration, tools::Kit};
use crate::{
    clock,
    commands::run::{drive, isolation, prepare},
    compose::{Choices, Composition, Starts, compose, runtime},
    config::Machine,
    exit::Exit,
    failure::Failure,
    terminal,
};

/// The roots of the example, those that others build on first.
pub(super) const ROOTS: [&str; 3] = ["terraform", "terraform/region-1", "terraform/region-2"];

/// The environment that the demo plays in.
const ENVIRONMENT: &str = "stage";

/// Everything that the story needs.
pub(super) struct Scene {
    pub(super) directory: PathBuf,
    pub(super) runtime: Runtime,
    pub(super) composition: Composition,
    pub(super) repository: Repository,
    pub(super) sandbox: bool,
    pub(super) kit: Kit,
    tofu: Located,
    machine: Machine,
}

/// A run that ended.
pub(super) struct Ended {
    pub(super) run: Run,
    pub(super) exit: Exit,
}

impl Scene {
    /// Sets everything up in an empty directory.
    pub(super) fn set(machine: &Machine, directory: PathBuf, kit: Kit) -> Result<Self, Failure> {
        let tofu = kit
            .get(Tool::Tofu)
            .cloned()
            .ok_or_else(|| lacks(Tool::Tofu))?;
        let git = kit
            .get(Tool::Git)
            .cloned()
            .ok_or_else(|| lacks(Tool::Git))?;
        let mut machine = machine.clone();
        machine.data_dir.value = directory.join("data");
        // What a person set for their own runs is none of the demo's.
        machine.key_file = None;
        for folder in ["infrastructure", "workflows", "state", "plans", "temporary"] {
            make(&directory.join(folder))?;
        }
        examples::write("infrastructure", &directory.join("infrastructure"))?;
        examples::write("workflows", &directory.join("workflows"))?;
        let runtime = runtime()?;
        let options = GitOptions {
            program: git.path,
            path: machine.search_path.clone(),
            environment: Vec::new(),
            temporary: directory.join("temporary"),
        };
        let (composition, repository, sandbox) = runtime.block_on(async {
            let choices = Choices {
                starts: Starts::Steps,
                ..Choices::default()
            };
            let composition = compose(&machine, choices).await?;
            let git = Git::open(options).await?;
            let repository = git.init(&directory.join("infrastructure"), "main").await?;
            let capabilities = composition.runner_port().capabilities().await?;
            let sandbox = capabilities.isolations.contains(&Isolation::Sandbox);
            Ok::<_, Failure>((composition, repository, sandbox))
        })?;
        Ok(Scene {
            directory,
            runtime,
            composition,
            repository,
            sandbox,
            kit,
            tofu,
            machine,
        })
    }

    /// Commits what changed among the repository's files and answers the commit's id.
    pub(super) fn commit(&self, message: &str) -> Result<String, Failure> {
        let signature = Signature {
            name: "Groundplan demo".to_owned(),
            email: "demo@localhost".to_owned(),
            seconds: clock::now().0 / 1000,
        };
        let committing = self.repository.commit_all(message, &signature);
        Ok(self.runtime.block_on(committing)?)
    }

    /// A fresh checkout of a revision, as a person has one.
    pub(super) fn check_out(&self, revision: &str, name: &str) -> Result<PathBuf, Failure> {
        let place = self.directory.join(name);
        self.runtime
            .block_on(self.repository.check_out(revision, &place))?;
        Ok(place)
    }

    /// Where the state of a root is.
    pub(super) fn state(&self, root: &str) -> PathBuf {
        let name = format!("state/{ENVIRONMENT}/{root}.tfstate");
        self.directory.join(name)
    }

    /// Applies a root by hand, with further arguments, and answers what the tool printed last.
    pub(super) fn apply_by_hand(
        &self,
        checkout: &Path,
        root: &str,
        more: &[&str],
    ) -> Result<Vec<String>, Failure> {
        let place = checkout.join(root);
        let state = self.state(root);
        self.tofu(
            &place,
            &[
                "init",
                "-no-color",
                &format!("-backend-config=path={}", state.display()),
            ],
        )?;
        let variables = format!("-var-file={}", variables_of(root));
        let mut arguments = vec!["apply", "-no-color", "-auto-approve", &variables];
        arguments.extend(more);
        self.tofu(&place, &arguments)
    }

    fn tofu(&self, place: &Path, arguments: &[&str]) -> Result<Vec<String>, Failure> {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let mut lines = Vec::new();
        by_hand(
            &self.tofu,
            &self.machine.search_path,
            place,
            &arguments,
            &mut |line| lines.push(line.to_owned()),
        )
        .map_err(|error| Failure::of(&error))?;
        Ok(lines)
    }

    /// The command line that runs a document as the demo does, from its directory.
    pub(super) fn command_line(&self, document: &str, parameters: &[(&str, String)]) -> String {
        let mut line = format!("groundplan run workflows/{document}.yaml");
        for (name, value) in parameters {
            line.push_str(&match *name {
                "repository" => " -p repository=\"$PWD/infrastructure\"".to_owned(),
                _ => format!(" -p {name}={}", narration::quoted(value)),
            });
        }
        for volume in volumes(document) {
            line.push_str(&format!(" --volume {volume}={volume}"));
        }
        line.push_str(" --bind-ro infrastructure");
        if !self.sandbox {
            line.push_str(" --no-sandbox");
        }
        line
    }

    /// The folder of this program, where a shell does not find it by its name.
    pub(super) fn folder_for_path(&self) -> Option<PathBuf> {
        let own = std::env::current_exe().and_then(|path| path.canonicalize());
        let own = own.ok()?;
        let found = self.machine.program("groundplan");
        match found.and_then(|path| path.canonicalize().ok()) {
            Some(found) if found == own => None,
            _ => own.parent().map(Path::to_owned),
        }
    }

    /// The repository, as documents take it.
    pub(super) fn repository_path(&self) -> String {
        self.directory.join("infrastructure").display().to_string()
    }

    /// Runs a document to its end before the person's eyes.
    pub(super) fn run(
        &self,
        document: &str,
        parameters: &[(&str, String)],
    ) -> Result<Ended, Failure> {
        narration::command(&self.command_line(document, parameters));
        let path = self.directory.join(format!("workflows/{document}.yaml"));
        let text = examples::text(&format!("workflows/{document}.yaml"));
        let source = SourceFile::new(path.display().to_string(), text.as_bytes().to_vec());
        let file = read(&source);
        // Its notices are the same at every run; `lint` shows them.
        let runnable = prepare::only_document(source, file)?;
        let settings = RunSettings {
            document: path.display().to_string(),
            volumes: volumes(document)
                .iter()
                .map(|name| ((*name).to_owned(), self.directory.join(name)))
                .collect::<BTreeMap<_, _>>(),
            read_only_paths: vec![self.directory.join("infrastructure")],
            sandbox: self.sandbox,
            network: self.machine.network.value,
            grace_millis: 300_000,
            ..RunSettings::default()
        };
        let parameters: Vec<(String, String)> = parameters
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        let mut submission = prepare::submission(&runnable, &parameters, &settings)?;
        for (task, _) in self.kit.tasks_not_run() {
            for template in submission.run.workflow.templates.values_mut() {
                if let Some(dag) = &mut template.dag {
                    dag.tasks.retain(|known| known.name != task);
                }
            }
        }
        if !self.sandbox {
            isolation::fit(&mut submission, &self.composition)?;
        }
        let id = submission.run.id.clone();
        self.runtime
            .block_on(self.composition.controller.submit(submission))?;
        let look = if terminal::is_watched() {
            drive::Look::Live
        } else {
            drive::Look::Brief
        };
        let exit = drive::watch(&self.runtime, &self.composition, &id, look)?;
        let run = self
            .runtime
            .block_on(self.composition.controller.history(&id.0))?
            .run;
        match exit {
            Exit::Interrupted | Exit::Detached => Err(Failure::user(format!(
                "the demo was stopped in run `{}`",
                run.name()
            ))
            .exiting(exit)
            .with_hint("`groundplan demo --clean` removes what it left")),
            _ => Ok(Ended { run, exit }),
        }
    }

    /// Shows what went wrong in a run.
    pub(super) fn show_failures(&self, ended: &Ended) -> Result<(), Failure> {
        let id = id_of(&ended.run);
        self.runtime
            .block_on(drive::failures(&self.composition, &id, &ended.run, 8))
    }

    /// What a step of a run printed.
    pub(super) fn log(&self, ended: &Ended, name: &str) -> Result<Vec<String>, Failure> {
        let Some(node) = ended.run.nodes().find(|node| node.display_name == name) else {
            return Ok(Vec::new());
        };
        let id = id_of(&ended.run);
        let reading = drive::last_lines(&self.composition, &id, node, 200);
        self.runtime.block_on(reading)
    }
}

fn id_of(run: &Run) -> groundplan_engine::id::RunId {
    run.created()
        .map(|new| new.id.clone())
        .expect("a run that ended was created")
}

fn lacks(tool: Tool) -> Failure {
    Failure::user(format!("the demo needs {tool}")).with_hint(format!("run `{}`", tool.way_out()))
}

/// The file of a root's variables, from the root.
pub(super) fn variables_of(root: &str) -> String {
    let up = "../".repeat(root.split('/').count());
    format!("{up}environments/{ENVIRONMENT}/{root}.tfvars")
}

/// Volumes of a document.
fn volumes(document: &str) -> &'static [&'static str] {
    match document {
        "drift" => &["state"],
        _ => &["state", "plans"],
    }
}

/// Makes a directory that only we may read.
pub(super) fn make(directory: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(|error| {
            Failure::user(format!("cannot make `{}`", directory.display())).because(error)
        })
}
