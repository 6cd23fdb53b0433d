//! The two hidden subcommands by themselves, for the tests of this crate.

use std::process::ExitCode;

use groundplan_runners::{init, supervisor};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let subcommand = arguments.next();
    match subcommand.as_ref().and_then(|name| name.to_str()) {
        Some(supervisor::SUBCOMMAND) => supervisor::main(arguments),
        Some(init::SUBCOMMAND) => init::main(),
        _ => ExitCode::from(64),
    }
}
