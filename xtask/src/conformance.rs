//! `cargo xtask conformance`: how much of Argo's behaviour, as the shared tables state it, holds here.
//!
//! The tables of the small languages, of lint and of locks are read by tests of their crates; this
//! runs them and shows the numbers that they print. The documents of kind `run` are run by the real
//! binary with the process runner, each in a data directory of its own; see `run.rs`. Absent data is
//! said to be absent, and is no failure.

mod claims;
mod run;
mod stand_ins;
mod table;
mod tests_of;

use std::path::{Path, PathBuf};

use crate::{
    failure::{Failure, Outcome},
    workspace::Workspace,
};

/// What a kind came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Score {
    /// One line each, ready to be printed.
    pub(crate) lines: Vec<String>,
    /// Whether anything failed.
    pub(crate) failed: bool,
}

/// The kinds, the slow one last.
const KINDS: [&str; 8] = [
    "when",
    "depends",
    "template-tags",
    "aggregates",
    "lint",
    "sync",
    "lock-names",
    "run",
];

/// What the words after `conformance` ask for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Request {
    data: Option<PathBuf>,
    kind: Option<&'static str>,
    only: Vec<String>,
}

/// Runs all kinds, or one, and prints their numbers.
pub(crate) fn run(workspace: &Workspace, words: &[&str]) -> Outcome {
    let request = parse(words)?;
    let data = match &request.data {
        Some(path) => path.clone(),
        None => shared(workspace).join("conformance/argo"),
    };
    if !data.is_dir() {
        println!("not run: no conformance data at `{}`", data.display());
        return Ok(());
    }
    let kinds = KINDS
        .iter()
        .filter(|kind| request.kind.is_none_or(|only| only == **kind));
    let mut lines = Vec::new();
    let mut failed = Vec::new();
    for kind in kinds {
        println!("=== {kind}");
        let score = match *kind {
            "run" => run::run(workspace, &data, &request.only)?,
            table => tests_of::run(workspace, &data, table)?,
        };
        lines.extend(score.lines);
        if score.failed {
            failed.push(*kind);
        }
    }
    println!("\n{}", lines.join("\n"));
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(format!("failed: {}", failed.join(", ")))),
    }
}

/// Where data beside the workspace lies.
fn shared(workspace: &Workspace) -> PathBuf {
    match std::env::var_os("GROUNDPLAN_SHARED") {
        Some(path) => PathBuf::from(path),
        None => workspace
            .root()
            .parent()
            .unwrap_or(Path::new("/"))
            .join("shared"),
    }
}

fn parse(words: &[&str]) -> Outcome<Request> {
    let mut request = Request::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || {
            let missing = || Failure::new(format!("`{word}` needs a value"));
            words.next().copied().ok_or_else(missing)
        };
        match *word {
            "--data" => request.data = Some(PathBuf::from(value()?)),
            "--kind" => {
                let kind = value()?;
                let known = KINDS.iter().find(|known| **known == kind);
                request.kind = Some(known.ok_or_else(|| {
                    Failure::new(format!("no kind `{kind}`"))
                        .hint(format!("the kinds are {}", KINDS.join(", ")))
                })?);
            }
            option if option.starts_with('-') => {
                return Err(Failure::new(format!("no option `{option}`")).hint(
                    "usage: cargo xtask conformance [--data DIR] [--kind KIND] [DOCUMENT…]",
                ));
            }
            document => request.only.push(document.to_owned()),
        }
    }
    if !request.only.is_empty() {
        match request.kind {
            None | Some("run") => request.kind = Some("run"),
            Some(kind) => {
                return Err(Failure::new(format!(
                    "kind `{kind}` has no documents to choose"
                )));
            }
        }
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_documents_are_read() {
        let request = parse(&["--data", "/d", "hello-world"]).expect("good words");
        let expected = Request {
            data: Some("/d".into()),
            kind: Some("run"),
            only: vec!["hello-world".to_owned()],
        };
        assert_eq!(request, expected);
    }

    #[test]
    fn wrong_words_are_refused_with_the_known_ones() {
        let failure = parse(&["--kind", "wehn"]).expect_err("no such kind");
        assert!(failure.to_string().contains("the kinds are when, depends"));
        assert!(parse(&["--kind"]).is_err());
        assert!(parse(&["--all"]).is_err());
        assert!(parse(&["--kind", "sync", "hello-world"]).is_err());
    }
}
