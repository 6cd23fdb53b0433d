//! Colours, where somebody sees them and does not mind them.

use std::io::IsTerminal;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What a piece of text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Went well.
    Good,
    /// Went wrong.
    Bad,
    /// Needs attention.
    Warn,
    /// Is going on.
    Busy,
    /// Matters less.
    Faint,
    /// Matters more.
    Strong,
}

/// Paints, or does not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    colours: bool,
}

impl Paint {
    /// For a stream: colours only on a terminal, and never where `NO_COLOR` is set.
    pub(crate) fn for_stream(stream: &impl IsTerminal) -> Self {
        Paint {
            colours: stream.is_terminal() && crate::config::colours_wanted(),
        }
    }

    /// Without colours.
    pub(crate) fn plain() -> Self {
        Paint { colours: false }
    }

    /// Whether there are colours.
    pub(crate) fn has_colours(self) -> bool {
        self.colours
    }

    /// The text in its style.
    pub(crate) fn with(self, style: Style, text: impl AsRef<str>) -> String {
        let text = text.as_ref();
        if !self.colours || text.is_empty() {
            return text.to_owned();
        }
        let code = match style {
            Style::Good => "32",
            Style::Bad => "1;31",
            Style::Warn => "33",
            Style::Busy => "36",
            Style::Faint => "2",
            Style::Strong => "1",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// A text that a tool wrote, made safe for a terminal: no control characters, no escapes, `***` for
/// sensitive values.
pub(crate) fn harmless(text: &str) -> String {
    let text = groundplan_store::without_tokens(text);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\u{1b}' => skip_escape(&mut chars),
            '\t' => out.push(' '),
            _ if char.is_control() => {}
            // Marks that reorder or hide what stands around them.
            '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}' => {}
            _ => out.push(char),
        }
    }
    out
}

/// The first line of a text that has more of them.
pub(crate) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn skip_escape(chars: &mut std::str::Chars<'_>) {
    let mut rest = chars.clone();
    if rest.next() == Some('[') {
        for char in rest.by_ref() {
            if ('\u{40}'..='\u{7e}').contains(&char) {
                break;
            }
        }
        *chars = rest;
    }
}

/// Columns that a text takes on a terminal; wide characters take two.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// A text cut to a number of columns, with a mark where it was cut.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut room = columns.saturating_sub(1);
    let mut short = String::new();
    for char in text.chars() {
        let Some(left) = room.checked_sub(char.width().unwrap_or_default()) else {
            break;
        };
        room = left;
        short.push(char);
    }
    short.push('…');
    short
}

/// A text in lines of so many columns at most where its words allow it.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one from the first");
        if line.is_empty() {
            line.push_str(word);
        } else if width(line) + 1 + width(word) <= columns {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// Milliseconds as a person says them: `0.3s`, `12s`, `4m07s`, `2h05m`.
pub(crate) fn duration(millis: i64) -> String {
    let millis = millis.max(0);
    let seconds = millis / 1000;
    match seconds {
        0..10 => format!("{seconds}.{}s", millis % 1000 / 100),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_like_speech() {
        for (millis, text) in [
            (0, "0.0s"),
            (349, "0.3s"),
            (9_999, "9.9s"),
            (12_000, "12s"),
            (247_000, "4m07s"),
            (7_500_000, "2h05m"),
        ] {
            assert_eq!(duration(millis), text);
        }
    }

    #[test]
    fn escapes_and_controls_of_tools_do_not_reach_the_terminal() {
        assert_eq!(harmless("\x1b[31mred\x1b[0m\r\n\tx\x07\u{202e}"), "red x");
        assert_eq!(harmless("a\x1b]0;title"), "a]0;title");
    }

    #[test]
    fn a_long_text_is_wrapped_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("incomprehensible", 4), ["incomprehensible"]);
        assert_eq!(wrapped("", 4), [""]);
    }

    #[test]
    fn a_cut_text_shows_that_it_was_cut() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
    }
}
