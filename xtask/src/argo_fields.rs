//! The table of Argo's fields, made by a small Go program from Argo's own types.

use std::{fs, path::PathBuf};

use crate::{
    failure::{Failure, Outcome},
    process,
    workspace::Workspace,
};

const PROGRAM: &str = "xtask/argo-fields";
const TABLE: &str = "crates/workflow/src/fields/argo.tsv";

/// Writes the table.
pub(crate) fn write(workspace: &Workspace) -> Outcome {
    let table = made(workspace)?;
    fs::write(workspace.root().join(TABLE), table)
        .map_err(|error| Failure::new(format!("cannot write `{TABLE}`: {error}")))?;
    println!("wrote {TABLE}");
    Ok(())
}

/// Fails where the committed table is not what the types say.
pub(crate) fn compare(workspace: &Workspace) -> Outcome {
    let committed = workspace.read(TABLE)?;
    match made(workspace)? == committed.as_bytes() {
        true => Ok(()),
        false => Err(
            Failure::new(format!("`{TABLE}` is not what Argo's types say"))
                .hint("`cargo xtask argo-fields` writes it"),
        ),
    }
}

/// Why the comparison cannot be made here, if it cannot.
pub(crate) fn reason_not_to_run(workspace: &Workspace) -> Option<String> {
    let folder = folder(workspace);
    if !folder.join("go.mod").is_file() {
        return Some(format!("`{PROGRAM}` is not there"));
    }
    if !process::is_installed("go") {
        return Some("no Go toolchain on `PATH`".to_owned());
    }
    let mut download = process::program("go", &folder);
    match process::succeeds(download.args(["mod", "download"])) {
        true => None,
        false => Some("its Go modules cannot be downloaded".to_owned()),
    }
}

fn made(workspace: &Workspace) -> Outcome<Vec<u8>> {
    process::output(process::program("go", &folder(workspace)).args(["run", "-mod=readonly", "."]))
}

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.root().join(PROGRAM)
}
