//! Diagnostics with the line they are about.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use groundplan_workflow::{
    diagnostic::{Diagnostic, Severity},
    read::SourceFile,
};

use super::style::Paint;

/// All diagnostics without colours.
pub(crate) fn text(diagnostics: &[Diagnostic], files: &[SourceFile]) -> String {
    painted(diagnostics, files, Paint::plain())
}

/// All diagnostics, one after the other, with an empty line between them.
pub(crate) fn painted(diagnostics: &[Diagnostic], files: &[SourceFile], paint: Paint) -> String {
    let renderer = if paint.has_colours() {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let shown: Vec<String> = diagnostics
        .iter()
        .map(|diagnostic| one(diagnostic, files, &renderer))
        .collect();
    shown.join("\n\n")
}

fn one(diagnostic: &Diagnostic, files: &[SourceFile], renderer: &Renderer) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Notice => Level::NOTE,
    };
    let title = level
        .primary_title(diagnostic.message.as_str())
        .id(diagnostic.code.as_str());
    let source = files.iter().find(|file| file.name == diagnostic.file);
    let text = source
        .map(|file| String::from_utf8_lossy(&file.bytes))
        .unwrap_or_default();
    let mut groups = vec![match diagnostic.position {
        Some(position) if !text.is_empty() => {
            let start = (position.offset as usize).min(text.len());
            let end = (start + (position.length as usize).max(1)).min(text.len());
            let mark = AnnotationKind::Primary.span(floor(&text, start)..floor(&text, end));
            title.element(
                Snippet::source(text.as_ref())
                    .path(diagnostic.file.as_str())
                    .annotation(mark),
            )
        }
        Some(_) | None => {
            Group::with_title(title).element(Level::NOTE.message(format!("in {}", diagnostic.file)))
        }
    }];
    if let Some(hint) = &diagnostic.hint {
        groups.push(Group::with_title(
            Level::HELP.secondary_title(hint.as_str()),
        ));
    }
    renderer.render(&groups)
}

/// The nearest character boundary at or before a byte.
fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
