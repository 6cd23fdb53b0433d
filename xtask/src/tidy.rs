//! Rules of the repository that no compiler knows. Each is a function from a file to its faults.

pub(crate) mod rust;
pub(crate) mod text;

use std::fmt;

use crate::{docs, failure::Outcome, layering, source::RustFile, workspace::Workspace};

/// One breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    path: String,
    line: usize,
    message: String,
}

impl Fault {
    /// In a Rust file.
    pub(crate) fn at(file: &RustFile, line: usize, message: impl Into<String>) -> Self {
        Fault::new(&file.path, line, message)
    }

    /// In any file.
    pub(crate) fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Fault {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Faults of the manifests and of what crates say in code.
pub(crate) fn layering_faults(workspace: &Workspace) -> Outcome<Vec<String>> {
    let mut faults = layering::faults(&workspace.members()?);
    for file in rust_files(workspace)? {
        faults.extend(layering::code::faults(&file).iter().map(Fault::to_string));
    }
    Ok(faults)
}

/// Faults of all files against the rules of this module and its children.
pub(crate) fn faults(workspace: &Workspace) -> Outcome<Vec<String>> {
    let files = workspace.files()?;
    let mut faults = text::licence_missing(&files);
    for path in &files {
        faults.extend(rust::name_says_nothing(path));
        if let Ok(content) = workspace.read(path) {
            faults.extend(text::faults(path, &content));
            if path.ends_with(".md") {
                faults.extend(docs::broken_links(workspace.root(), path, &content));
            }
        }
    }
    for file in rust_files(workspace)? {
        faults.extend(rust::faults(&file));
    }
    Ok(faults.iter().map(Fault::to_string).collect())
}

fn rust_files(workspace: &Workspace) -> Outcome<Vec<RustFile>> {
    workspace
        .files()?
        .into_iter()
        .filter(|path| path.ends_with(".rs"))
        .map(|path| Ok(RustFile::new(&path, &workspace.read(&path)?)))
        .collect()
}
