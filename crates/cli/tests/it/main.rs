//! The command as a person calls it: exit codes, output, files.

mod demo;
mod machine;
