//! What can be asked for on the command line.

use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

/// Delivers OpenTofu and Terraform changes from pull request to production.
#[derive(Debug, Parser)]
#[command(name = "groundplan", version, about, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Where this installation keeps its things.
#[derive(Args, Clone, Debug)]
pub(crate) struct Global {
    /// Directory of the journal, logs and running steps [default: $XDG_DATA_HOME/groundplan].
    #[arg(long, value_name = "DIR", env = "GROUNDPLAN_DATA_DIR", global = true)]
    pub(crate) data_dir: Option<PathBuf>,
    /// Machine configuration [default: $XDG_CONFIG_HOME/groundplan/config.yaml].
    #[arg(long, value_name = "FILE", env = "GROUNDPLAN_CONFIG", global = true)]
    pub(crate) config: Option<PathBuf>,
    /// File of the key that encrypts what is stored [default: a file in the data directory].
    #[arg(
        long,
        value_name = "FILE",
        env = "GROUNDPLAN_KEY_FILE",
        global = true,
        hide = true
    )]
    pub(crate) key_file: Option<PathBuf>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a workflow document on this machine.
    Run(Run),
    /// Find every fault of documents at once.
    Lint(Lint),
    /// Explain a code that `lint` prints.
    Explain {
        /// The code, such as `unknown-field`; none lists all of them.
        code: Option<String>,
    },
    /// List runs, show one, or stop one.
    Runs {
        #[command(subcommand)]
        command: Option<Runs>,
    },
    /// Print what the steps of a run wrote.
    Logs(Logs),
    /// Summarize a plan: counts and addresses by action.
    Summarize(Summarize),
    /// Show how it all works, on a real repository with the real tools.
    Demo(Demo),
    /// Find or obtain the tools that steps call.
    Tools {
        #[command(subcommand)]
        command: Tools,
    },
    /// Check this machine.
    Doctor,
    /// The machine configuration.
    Config {
        #[command(subcommand)]
        command: Config,
    },
}

/// `run`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Run {
    /// The document: Workflow, CronWorkflow, WorkflowTemplate or ClusterWorkflowTemplate.
    #[arg(
        value_name = "FILE",
        required_unless_present = "resume",
        conflicts_with = "resume"
    )]
    pub(crate) file: Option<PathBuf>,
    /// Go on with a run that nobody drives.
    #[arg(long, value_name = "RUN")]
    pub(crate) resume: Option<String>,
    /// An argument of the document or an input of its entrypoint.
    #[arg(short = 'p', long = "parameter", value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// File (YAML or JSON) of parameters by name.
    #[arg(long, value_name = "FILE")]
    pub(crate) parameter_file: Option<PathBuf>,
    /// File of Kubernetes Secret and ConfigMap documents that only you can read.
    #[arg(long, value_name = "FILE")]
    pub(crate) secrets: Option<PathBuf>,
    /// Directory behind a volume or claim.
    #[arg(long = "volume", value_name = "NAME=DIR")]
    pub(crate) volumes: Vec<String>,
    /// Variable handed to every step, from this environment or with a value. Values of names that
    /// say SECRET, TOKEN, PASSW, KEY, CREDENTIAL or AUTH are masked in logs.
    #[arg(long = "pass-env", value_name = "NAME[=VALUE]")]
    pub(crate) pass_env: Vec<String>,
    /// Path of this machine that every step may read at the same place.
    #[arg(long = "bind-ro", value_name = "PATH")]
    pub(crate) bind_ro: Vec<PathBuf>,
    /// Run steps without a sandbox, as ordinary processes of yours.
    #[arg(long)]
    pub(crate) no_sandbox: bool,
    /// Steps that may run at once [default: twice the processors].
    #[arg(long, value_name = "N")]
    pub(crate) max_parallel: Option<std::num::NonZeroUsize>,
    /// Seconds that a step which was asked to stop may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub(crate) grace: u64,
    /// Print a stream of events as JSON lines.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `lint`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Lint {
    /// Documents, or directories of them.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Form of the answer.
    #[arg(long, value_enum, default_value_t = LintFormat::Text)]
    pub(crate) format: LintFormat,
    /// Let warnings count as errors.
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Form of lint's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LintFormat {
    /// For people.
    Text,
    /// For programs: a list of diagnostics.
    Json,
}

/// `runs …`.
#[derive(Debug, Subcommand)]
pub(crate) enum Runs {
    /// List runs, newest first.
    List {
        /// How many at most.
        #[arg(long, default_value_t = 20)]
        limit: usize,
    },
    /// Show a run: its tree, times, messages and values.
    Show {
        /// Id or name, or the beginning of one.
        run: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Ask a run to stop, gracefully.
    Stop {
        /// Id or name, or the beginning of one.
        run: String,
    },
}

/// `logs`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Logs {
    /// Id or name of the run, or the beginning of one.
    pub(crate) run: String,
    /// Node by name, display name or id; none means all of them.
    pub(crate) node: Option<String>,
    /// Go on until the run has ended.
    #[arg(short, long)]
    pub(crate) follow: bool,
}

/// `summarize`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Summarize {
    /// Plan JSON (`tofu show -json`), a plan file, or `-` for JSON on standard input.
    #[arg(value_name = "PLAN", default_value = "-")]
    pub(crate) plan: PathBuf,
    /// Exit with 2 where there is something to apply or the plan shows drift, and with 3 where it
    /// does not tell.
    #[arg(long)]
    pub(crate) detailed_exitcode: bool,
}

/// `demo`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Demo {
    /// Keep everything in this directory [default: a directory that the demo names].
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Delete what earlier demos left.
    #[arg(long, conflicts_with = "keep")]
    pub(crate) clean: bool,
}

/// `tools …`.
#[derive(Debug, Subcommand)]
pub(crate) enum Tools {
    /// Say of every tool its version, where it is, and what needs it.
    List,
    /// Obtain the pinned versions into the cache.
    Sync {
        /// A mirror: an address or a directory with the layout of the releases.
        #[arg(long, value_name = "URL|DIR")]
        from: Option<String>,
        /// Use nothing of the network.
        #[arg(long)]
        offline: bool,
    },
}

/// `config …`.
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Print every value and where it comes from.
    Show,
}

/// The command line, or what to print instead of running anything. A variable that is empty is
/// taken for one that is not set.
pub(crate) fn parse() -> Result<Arguments, clap::Error> {
    let mut command = Arguments::command().mut_args(|argument| {
        let is_empty = |name| std::env::var_os(name).is_some_and(|value| value.is_empty());
        match argument.get_env().is_some_and(is_empty) {
            true => argument.env(clap::builder::Resettable::Reset),
            false => argument,
        }
    });
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}
