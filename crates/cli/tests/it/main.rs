//! The command as a person calls it: exit codes, output, files.
#![expect(
    clippy::print_stderr,
    reason = "a test that cannot run here says so on standard error"
)]

mod bad_documents;
mod bad_machine;
mod bad_values;
mod data_directory;
mod demo;
mod documents;
mod history;
mod kills;
mod locks;
mod machine;
mod masking;
mod place;
mod processes;
mod seed;
mod ssh_server;
mod stops;
mod streams;
