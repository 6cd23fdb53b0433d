//! Where rules put what they find.

use super::model::At;
use crate::diagnostic::{Diagnostic, Position, Severity};
use crate::read::ReadDocument;

/// The findings of one document.
pub(super) struct Report<'a> {
    read: &'a ReadDocument,
    found: Vec<Diagnostic>,
}

impl<'a> Report<'a> {
    pub(super) fn new(read: &'a ReadDocument) -> Self {
        Report {
            read,
            found: Vec::new(),
        }
    }

    /// The document that places are of.
    pub(super) fn read(&self) -> &'a ReadDocument {
        self.read
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
