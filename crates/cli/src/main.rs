//! The `groundplan` command: configuration, composition, commands, terminal output, exit codes.
//!
//! Read first: [`arguments::Arguments`] (what can be asked for) and `compose.rs` (how the parts are
//! put together).

mod arguments;
mod clock;
mod commands;
mod compose;
mod config;
mod exit;
mod failure;
mod terminal;

use std::process::ExitCode;

use groundplan_runners::{init, supervisor};

fn main() -> ExitCode {
    // Hidden subcommands are started for every step: they go before everything that costs time.
    let mut words = std::env::args_os().skip(1);
    match words.next().as_deref().and_then(|word| word.to_str()) {
        Some(supervisor::SUBCOMMAND) => supervisor::main(words),
        Some(init::SUBCOMMAND) => init::main(),
        Some(_) | None => match arguments::parse() {
            Ok(arguments) => exit::code(commands::run(arguments)),
            Err(instead) => exit::instead(&instead),
        },
    }
}
