//! One file a command.

mod config;
mod demo;
mod doctor;
mod explain;
mod lint;
mod logs;
mod run;
mod runs;
mod summarize;
mod tools;

use crate::{
    arguments::{Arguments, Command},
    exit::Exit,
    failure::Failure,
};

/// Runs a command.
pub(crate) fn run(arguments: Arguments) -> Result<Exit, Failure> {
    let global = &arguments.global;
    match arguments.command {
        Command::Run(run) => run::run(global, run),
        Command::Lint(lint) => lint::lint(&lint),
        Command::Explain { code } => explain::explain(code.as_deref()),
        Command::Runs { command } => runs::runs(global, command),
        Command::Logs(logs) => logs::logs(global, &logs),
        Command::Summarize(arguments) => summarize::summarize(global, &arguments),
        Command::Demo(demo) => demo::demo(global, &demo),
        Command::Tools { command } => tools::tools(global, command),
        Command::Doctor => doctor::doctor(global),
        Command::Config { command } => config::config(global, &command),
    }
}
