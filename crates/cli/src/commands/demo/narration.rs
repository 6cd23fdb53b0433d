//! What the demo tells: headings, what happens, what to look at.

use crate::terminal::{
    self,
    style::{Paint, Style, harmless},
};

/// Columns that text is set in.
const COLUMNS: usize = 96;

fn paint() -> Paint {
    Paint::for_stream(&std::io::stdout())
}

/// The title of a part.
pub(super) fn heading(text: &str) {
    let (columns, _) = terminal::size();
    let width = columns.clamp(20, COLUMNS);
    let rule = "─".repeat(width.saturating_sub(text.chars().count() + 4));
    let paint = paint();
    terminal::line("");
    terminal::line(format!(
        "{} {} {}",
        paint.with(Style::Busy, "──"),
        paint.with(Style::Strong, text),
        paint.with(Style::Busy, rule)
    ));
}

/// A line of the story.
pub(super) fn say(text: &str) {
    terminal::line(text);
}

/// A fact of what the demo works with.
pub(super) fn fact(name: &str, text: &str) {
    terminal::line(format!(
        "{} {text}",
        paint().with(Style::Faint, format!("{name:<8}"))
    ));
}

/// A command that is run now, or that a person can run.
pub(super) fn command(line: &str) {
    let paint = paint();
    terminal::line(format!(
        "{} {}",
        paint.with(Style::Faint, "  $"),
        paint.with(Style::Busy, line)
    ));
}

/// Something that a tool wrote.
pub(super) fn quote(line: &str) {
    let paint = paint();
    terminal::line(format!(
        "{} {}",
        paint.with(Style::Faint, "  │"),
        harmless(line)
    ));
}

/// What came of something, and what it means.
pub(super) fn verdict(style: Style, word: &str, meaning: &str) {
    let glyph = match style {
        Style::Good => "✔",
        Style::Bad => "✖",
        Style::Warn | Style::Busy | Style::Faint | Style::Strong => "▲",
    };
    let paint = paint();
    terminal::line("");
    terminal::line(format!(
        "{} {meaning}",
        paint.with(style, format!("{glyph} {word}:"))
    ));
}

/// A warning that nobody overlooks.
pub(super) fn warn(text: &str) {
    let paint = paint();
    terminal::line(paint.with(Style::Bad, format!("WARNING: {text}")));
}

/// A word as a shell reads it back.
pub(super) fn quoted(word: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "-_./=:@%+,".contains(char);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        for (word, shown) in [
            ("-p", "-p"),
            ("x=1/y", "x=1/y"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), shown);
        }
    }
}
