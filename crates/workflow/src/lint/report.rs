//! Where rules put what they find.

use super::model::At;
use crate::diagnostic::{Diagnostic, Position, Severity};
use crate::nearest::nearest;
use crate::read::ReadDocument;

/// The findings of one document.
pub(super) struct Report<'a> {
    read: &'a ReadDocument,
    found: Vec<Diagnostic>,
    hints: usize,
}

/// How many nearest names are looked for in one document. Each look is as long as the document, and
/// nobody reads more.
const HINTS: usize = 200;

impl<'a> Report<'a> {
    pub(super) fn new(read: &'a ReadDocument) -> Self {
        Report {
            read,
            found: Vec::new(),
            hints: 0,
        }
    }

    /// The document that places are of.
    pub(super) fn read(&self) -> &'a ReadDocument {
        self.read
    }

    /// The nearest of some names, while not too many were looked for.
    pub(super) fn nearest<'n>(
        &mut self,
        name: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) -> Option<&'n str> {
        self.hints += 1;
        if self.hints > HINTS {
            return None;
        }
        nearest(name, known)
    }

    pub(super) fn error(
        &mut self,
        code: &str,
        at: &At<'_>,
        message: String,
        hint: impl Into<Option<String>>,
    ) {
        self.add(
            Severity::Error,
            code,
            at,
            at.node.position,
            message,
            hint.into(),
        );
    }

    pub(super) fn warn(
        &mut self,
        code: &str,
        at: &At<'_>,
        message: String,
        hint: impl Into<Option<String>>,
    ) {
        self.add(
            Severity::Warning,
            code,
            at,
            at.node.position,
            message,
            hint.into(),
        );
    }

    /// The same at a place within the value.
    pub(super) fn add(
        &mut self,
        severity: Severity,
        code: &str,
        at: &At<'_>,
        position: Position,
        message: String,
        hint: Option<String>,
    ) {
        debug_assert!(
            super::explain(code).is_some(),
            "code `{code}` is not in the table"
        );
        self.found.push(Diagnostic {
            code: code.to_owned(),
            severity,
            message,
            file: self.read.file.clone(),
            position: Some(position),
            path: at.path.to_string(),
            hint,
        });
    }

    /// The first error, where there is one.
    pub(super) fn first_error(&self) -> Option<&Diagnostic> {
        self.found
            .iter()
            .find(|found| found.severity == Severity::Error)
    }

    pub(super) fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.found
    }
}
