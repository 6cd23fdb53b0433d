//! `groundplan lint`: every fault of every file at once.

use std::path::{Path, PathBuf};

use groundplan_workflow::{
    diagnostic::{Diagnostic, Severity},
    lint,
    read::SourceFile,
};

use crate::{
    arguments::{Lint, LintFormat},
    exit::Exit,
    failure::Failure,
    terminal::{self, diagnostics, style::Paint},
};

/// Lints files and prints what was found.
pub(crate) fn lint(arguments: &Lint) -> Result<Exit, Failure> {
    let mut files = Vec::new();
    for path in sources(&arguments.files)? {
        let bytes = std::fs::read(&path).map_err(|error| {
            Failure::user(format!("cannot read `{}`", path.display())).because(error)
        })?;
        files.push(SourceFile::new(path.display().to_string(), bytes));
    }
    let found = lint::lint(&files);
    match arguments.format {
        LintFormat::Json => {
            terminal::line(
                serde_json::to_string_pretty(&found).expect("diagnostics have a JSON form"),
            );
        }
        LintFormat::Text => print(&found, &files),
    }
    let worst = found.iter().map(|found| found.severity).max();
    Ok(match worst {
        Some(Severity::Error) => Exit::Lint,
        Some(Severity::Warning) if arguments.strict => Exit::Lint,
        Some(Severity::Warning | Severity::Notice) | None => Exit::Done,
    })
}

fn print(found: &[Diagnostic], files: &[SourceFile]) {
    let paint = Paint::for_stream(&std::io::stdout());
    if !found.is_empty() {
        terminal::line(diagnostics::painted(found, files, paint));
        terminal::line("");
    }
    let count = |severity| {
        found
            .iter()
            .filter(|found| found.severity == severity)
            .count()
    };
    let say = |number: usize, word: &str| {
        format!("{number} {word}{}", if number == 1 { "" } else { "s" })
    };
    terminal::line(format!(
        "{}: {}, {}, {}",
        say(files.len(), "file"),
        say(count(Severity::Error), "error"),
        say(count(Severity::Warning), "warning"),
        say(count(Severity::Notice), "notice"),
    ));
}

/// The files themselves, and every YAML and JSON file of the directories among them.
fn sources(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut sources = Vec::new();
    for path in given {
        if path.is_dir() {
            let before = sources.len();
            documents_below(path, &mut sources)?;
            if sources.len() == before {
                return Err(Failure::user(format!(
                    "`{}` holds no .yaml, .yml or .json file",
                    path.display()
                )));
            }
        } else {
            sources.push(path.clone());
        }
    }
    Ok(sources)
}

fn documents_below(directory: &Path, sources: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let unreadable = |error: std::io::Error| {
        Failure::user(format!(
            "cannot read the directory `{}`",
            directory.display()
        ))
        .because(error)
    };
    let mut entries = std::fs::read_dir(directory)
        .map_err(unreadable)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(unreadable)?;
    entries.sort();
    for entry in entries {
        let name = entry
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        if entry.is_dir() && !entry.is_symlink() && !name.starts_with('.') {
            documents_below(&entry, sources)?;
        } else if [".yaml", ".yml", ".json"]
            .iter()
            .any(|end| name.ends_with(end))
        {
            sources.push(entry);
        }
    }
    Ok(())
}
