//! Reading files: text to positioned trees to typed documents, all faults at once.

mod compose;
mod documents;
mod limits;
mod scalar;
mod syntax;
mod tree;

pub use compose::Tree;
pub use documents::{Kind, ReadDocument, ReadFile, read, read_as};
pub use limits::Limits;
pub use tree::{Entry, Node, NodeValue, Part, Path};

use crate::diagnostic::{Diagnostic, Severity};

/// A file as the caller has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The name that diagnostics say.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl SourceFile {
    /// A file of this name and content.
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        SourceFile {
            name: name.into(),
            bytes: bytes.into(),
        }
    }
}

/// Reads every document of a file (YAML or JSON) as a tree, whatever its kind. A file that is
/// empty, binary or too large gives no tree and a diagnostic without a position.
pub fn trees(file: &SourceFile, limits: Limits) -> (Vec<Tree>, Vec<Diagnostic>) {
    let text = match text_of(file, limits) {
        Ok(text) => text,
        Err(diagnostic) => return (Vec::new(), vec![diagnostic]),
    };
    let (trees, mut diagnostics) = compose::compose(&file.name, text, limits);
    if trees.is_empty() && diagnostics.is_empty() {
        diagnostics.push(whole_file(
            file,
            "empty-file",
            "the file holds no document".to_owned(),
            Some("a Workflow begins with `apiVersion: argoproj.io/v1alpha1`"),
        ));
    }
    (trees, diagnostics)
}

fn text_of(file: &SourceFile, limits: Limits) -> Result<&str, Diagnostic> {
    if file.bytes.len() > limits.bytes {
        let message = format!(
            "the file has {} bytes, more than the {} that are read",
            file.bytes.len(),
            limits.bytes
        );
        return Err(whole_file(file, "document-too-large", message, None));
    }
    if file.bytes.starts_with(&[0xFF, 0xFE]) || file.bytes.starts_with(&[0xFE, 0xFF]) {
        return Err(whole_file(
            file,
            "binary-file",
            "the file is encoded in UTF-16".to_owned(),
            Some("save it as UTF-8"),
        ));
    }
    match std::str::from_utf8(&file.bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        Ok(_) => Err(whole_file(
            file,
            "binary-file",
            "the file is binary, not YAML or JSON".to_owned(),
            None,
        )),
        Err(error) => Err(whole_file(
            file,
            "binary-file",
            format!("byte {} of the file is not UTF-8", error.valid_up_to()),
            Some("a document is UTF-8 text"),
        )),
    }
}

fn whole_file(file: &SourceFile, code: &str, message: String, hint: Option<&str>) -> Diagnostic {
    Diagnostic {
        code: code.to_owned(),
        severity: Severity::Error,
        message,
        file: file.name.clone(),
        position: None,
        path: String::new(),
        hint: hint.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests;
