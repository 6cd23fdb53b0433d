//! Set-up, check, tidy, layering, generate: everything the repository does to itself.
//!
//! `cargo xtask test` prepares a machine and runs the whole gate; `cargo xtask check` is the gate
//! alone. Each rule of the gate is a small function beside a test that shows it failing. Nothing
//! here is part of the product. Read first: `check.rs` (the stages) and `tidy.rs` (the rules).
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command for people: its output is the terminal"
)]

mod argo_fields;
mod bench;
mod cache;
mod check;
mod conformance;
mod deny;
mod docs;
mod failure;
mod generate;
mod junit;
mod layering;
mod process;
mod setup;
mod soak;
mod source;
mod summary;
mod tidy;
mod tools;
mod workspace;

use std::process::ExitCode;

use failure::{Failure, Outcome};
use workspace::Workspace;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test                 set up what the tests need, then run the whole gate
  check [STAGE…]       the gate, or some of its stages; assumes the set-up
  setup                the set-up alone
  tools                the real tools (tofu, tflint, checkov) into the user's cache
  generate [--check]   write the generated files, or compare them
  argo-fields [--check]  the table of Argo's fields from Argo's own Go types (needs Go)
  conformance [--data DIR] [--kind KIND] [DOCUMENT…]
                       how much of Argo's behaviour holds, n of m by kind
  soak                 long seeds, kills, advisories: what is too slow for the gate
  bench                each bench as a ratio against its baseline of the same run";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match dispatch(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Runs the command that the words name.
fn dispatch(words: &[&str]) -> Outcome {
    let workspace = Workspace::here()?;
    match words {
        ["test"] => {
            let not_run = setup::run(&workspace)?;
            check::run(&workspace, &[], not_run)
        }
        ["check", stages @ ..] => check::run(&workspace, stages, Vec::new()),
        ["setup"] => {
            for reason in setup::run(&workspace)? {
                println!("not run: {reason}");
            }
            Ok(())
        }
        ["tools"] => tools::sync(&workspace),
        ["generate"] => generate::write(&workspace),
        ["generate", "--check"] => generate::compare(&workspace),
        ["argo-fields"] => argo_fields::write(&workspace),
        ["argo-fields", "--check"] => argo_fields::compare(&workspace),
        ["soak"] => soak::run(&workspace),
        ["conformance", words @ ..] => conformance::run(&workspace, words),
        ["bench"] => bench::run(&workspace),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => Err(Failure::usage(USAGE)),
    }
}
