//! Making text of a plan harmless within ours.

use std::fmt::Write;

/// The text with everything that could break a line, a terminal or a code fence written as an
/// escape: control characters, invisible and direction-changing ones, and backticks.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            _ if is_harmful(character) => {
                write!(escaped, "\\u{{{:x}}}", u32::from(character)).expect("text takes all");
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

fn is_harmful(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '`' | '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn harmful_characters_become_escapes() {
        let text = "a[\"x\ny\"]\r\t\u{1b}[31m`\u{202e}\u{85}\u{2028}ä";
        let expect = r#"a["x\ny"]\r\t\u{1b}[31m\u{60}\u{202e}\u{85}\u{2028}ä"#;
        assert_eq!(escaped(text), expect);
    }
}
