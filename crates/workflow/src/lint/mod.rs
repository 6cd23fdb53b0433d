//! Every fault of every document at once: what Argo rejects as errors, what is probably not meant
//! as warnings, what this machine ignores or refuses as notices. One rule a file.
//!
//! Rules work on positioned trees, not on typed documents, since these hold only what is supported
//! here.

mod codes;
mod globals;
mod library;
mod model;
mod report;
mod rules;
mod scope;
mod shell;
mod spot;

use std::collections::BTreeSet;

pub use codes::{CODES, Code, explain};
pub use library::Library;

use crate::diagnostic::Diagnostic;
use crate::read::{ReadDocument, ReadFile, SourceFile, read};
use globals::Globals;
use model::Home;
use report::Report;

/// What the documents are checked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be written well: arguments may still lack their values.
    Lint,
    /// To be stored or submitted: a stored workflow's arguments need values.
    Submit,
    /// To be started as they are.
    Start,
}

/// How documents are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What for.
    pub purpose: Purpose,
    /// Names of the parameters that are given beside the document.
    pub given: BTreeSet<String>,
}

impl Options {
    /// Options for a purpose, with no parameters given.
    pub fn new(purpose: Purpose) -> Self {
        Options {
            purpose,
            given: BTreeSet::new(),
        }
    }
}

/// Checks all documents of all files. References are resolved among the files given. Diagnostics
/// are ordered by file, then by place.
pub fn lint(files: &[SourceFile]) -> Vec<Diagnostic> {
    let files: Vec<ReadFile> = files.iter().map(read).collect();
    lint_read(&files, &Options::new(Purpose::Lint))
}

/// The same for files that were read already.
pub fn lint_read(files: &[ReadFile], options: &Options) -> Vec<Diagnostic> {
    let documents: Vec<&ReadDocument> = files.iter().flat_map(|file| &file.documents).collect();
    let mut found: Vec<Diagnostic> = files
        .iter()
        .flat_map(|file| file.diagnostics.iter().cloned())
        .collect();
    found.extend(judge(&documents, &documents, options));
    let order: Vec<&str> = documents.iter().map(|read| read.file.as_str()).collect();
    let rank = |file: &str| order.iter().position(|other| *other == file);
    found.sort_by_key(|diagnostic| {
        (
            rank(&diagnostic.file),
            diagnostic.file.clone(),
            diagnostic.position,
            std::cmp::Reverse(diagnostic.severity),
        )
    });
    found
}

/// Checks the rules of `judged` documents, with `known` ones to resolve references in. Notation
/// and fields were checked when they were read.
pub fn judge(
    judged: &[&ReadDocument],
    known: &[&ReadDocument],
    options: &Options,
) -> Vec<Diagnostic> {
    let library = Library::of(known);
    let mut found = Vec::new();
    for read in judged.iter().filter(|read| read.complete) {
        let home = Home::of(read);
        let subject = Subject {
            globals: Globals::of(&home, &library),
            home: &home,
            library: &library,
            judged: judged.iter().map(|read| identity(read)).collect(),
            options,
        };
        let mut report = Report::new(read);
        rules::check(&subject, &mut report);
        found.extend(report.into_diagnostics());
    }
    found
}

/// What tells one document from another.
fn identity(read: &ReadDocument) -> *const ReadDocument {
    std::ptr::from_ref(read)
}

/// The document that is checked, with all that its rules may look at.
struct Subject<'a> {
    home: &'a Home<'a>,
    library: &'a Library<'a>,
    globals: Globals,
    judged: BTreeSet<*const ReadDocument>,
    options: &'a Options,
}

impl Subject<'_> {
    /// Whether the document of these templates is checked by itself.
    fn is_judged(&self, home: &Home<'_>) -> bool {
        self.judged.contains(&identity(home.read))
    }
}
