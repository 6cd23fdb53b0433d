//! Rust source as the rules read it: without comments and strings, and with tests told apart.

/// A Rust file of the workspace.
#[derive(Debug)]
pub(crate) struct RustFile {
    /// Path relative to the root.
    pub(crate) path: String,
    /// The text as it is.
    pub(crate) text: String,
    /// The text with comments, strings and characters blanked; lines keep their numbers.
    pub(crate) code: String,
    /// The code that is not a test: blank where it is.
    pub(crate) product: String,
}

impl RustFile {
    /// Reads one file's text.
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let code = without_words(text);
        let product = match is_test_path(path) {
            true => blank(&code),
            false => without_tests(&code),
        };
        RustFile {
            path: path.to_owned(),
            text: text.to_owned(),
            code,
            product,
        }
    }

    /// The crate's folder: `crates/engine`, `testkit`, `xtask`.
    pub(crate) fn folder(&self) -> &str {
        let parts = if self.path.starts_with("crates/") {
            2
        } else {
            1
        };
        let end = self
            .path
            .match_indices('/')
            .nth(parts - 1)
            .map(|(at, _)| at);
        &self.path[..end.unwrap_or(self.path.len())]
    }

    /// Whether everything in it is test code.
    pub(crate) fn is_test(&self) -> bool {
        is_test_path(&self.path)
    }

    /// Lines of code that is a test, with their numbers from 1.
    pub(crate) fn test_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        numbered(&self.code)
            .zip(self.product.lines())
            .filter(|((_, code), product)| code != product)
            .map(|(line, _)| line)
    }

    /// Lines of code that is no test, with their numbers from 1.
    pub(crate) fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        numbered(&self.product)
    }
}

/// Lines with their numbers from 1.
pub(crate) fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, line))
}

fn is_test_path(path: &str) -> bool {
    let folders = ["/tests/", "/benches/"];
    folders.iter().any(|folder| path.contains(folder))
        || path.ends_with("/tests.rs")
        || path.ends_with("_tests.rs")
}

fn blank(code: &str) -> String {
    code.chars().map(blanked).collect()
}

fn blanked(letter: char) -> char {
    if letter == '\n' { '\n' } else { ' ' }
}

/// Blanks every item under `#[cfg(test)]` that has a body.
fn without_tests(code: &str) -> String {
    let mut kept = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find("#[cfg(test)]") {
        let (before, item) = rest.split_at(at);
        let end = end_of_item(item);
        kept.push_str(before);
        kept.push_str(&blank(&item[..end]));
        rest = &item[end..];
    }
    kept.push_str(rest);
    kept
}

/// Where the item at the start ends: after its body, or after its semicolon.
fn end_of_item(item: &str) -> usize {
    let mut depth = 0_usize;
    for (at, letter) in item.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    item.len()
}

/// Blanks comments, strings and characters.
fn without_words(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = ' ';
    while let Some(letter) = rest.chars().next() {
        let length = word_length(rest, before);
        if length > 0 {
            let (word, after) = rest.split_at(length);
            code.push_str(&blank(word));
            rest = after;
            before = ' ';
        } else {
            code.push(letter);
            rest = &rest[letter.len_utf8()..];
            before = letter;
        }
    }
    code
}

/// Length of the comment, string or character that starts here; 0 where none does.
fn word_length(rest: &str, before: char) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment_length(rest);
    }
    if rest.starts_with('"') {
        return string_length(rest);
    }
    if rest.starts_with('\'') {
        return character_length(rest);
    }
    let inside_name = before.is_alphanumeric() || before == '_';
    if rest.starts_with('r') && (!inside_name || matches!(before, 'b' | 'c')) {
        return raw_string_length(rest);
    }
    0
}

fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest[at..];
        if here.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

fn string_length(rest: &str) -> usize {
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// A character, or 0 where the quote begins a lifetime.
fn character_length(rest: &str) -> usize {
    let mut letters = rest.char_indices().skip(1);
    match letters.next() {
        Some((_, '\\')) => rest[2..]
            .char_indices()
            .skip(1)
            .find(|(_, letter)| *letter == '\'')
            .map_or(0, |(at, _)| at + 3),
        Some(_) => match letters.next() {
            Some((at, '\'')) => at + 1,
            _ => 0,
        },
        None => 0,
    }
}

fn raw_string_length(rest: &str) -> usize {
    let fences = rest[1..].bytes().take_while(|byte| *byte == b'#').count();
    let open = 1 + fences;
    if !rest[open..].starts_with('"') {
        return 0;
    }
    let close = format!("\"{}", "#".repeat(fences));
    rest[open + 1..]
        .find(&close)
        .map_or(rest.len(), |at| open + 1 + at + close.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        RustFile::new("crates/a/src/lib.rs", text).code
    }

    #[test]
    fn comments_and_strings_are_blanked_and_lines_keep_their_numbers() {
        assert_eq!(code("a // b\nc"), "a     \nc");
        assert_eq!(
            code("a /* b /* c */ d */ e"),
            format!("a {} e", " ".repeat(17))
        );
        assert_eq!(code(r#"f("x\"y", 1)"#), format!("f({}, 1)", " ".repeat(6)));
        assert_eq!(code("r#\"a\"b\"# + 1"), format!("{} + 1", " ".repeat(8)));
        assert_eq!(code("\"a\nb\"\nc"), "  \n  \nc");
    }

    #[test]
    fn characters_are_blanked_and_lifetimes_are_not() {
        assert_eq!(code(r"x('\'', 'a', '\n')"), "x(    ,    ,     )");
        assert_eq!(code("fn f<'a>(b: &'a str)"), "fn f<'a>(b: &'a str)");
    }

    #[test]
    fn names_that_end_in_r_begin_no_raw_string() {
        assert_eq!(code("for\"x\""), "for   ");
        assert_eq!(code("r#type"), "r#type");
    }

    #[test]
    fn a_test_module_is_not_product_and_what_follows_is() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() {}\n}\nfn c() {}\n";
        let file = RustFile::new("crates/a/src/lib.rs", text);
        let product: Vec<&str> = file.product.lines().map(str::trim).collect();
        assert_eq!(product, ["fn a() {}", "", "", "", "", "fn c() {}"]);
        let tests: Vec<usize> = file.test_lines().map(|(line, _)| line).collect();
        assert_eq!(tests, [2, 3, 4, 5]);
    }

    #[test]
    fn files_of_tests_have_no_product() {
        for path in ["crates/a/tests/it/main.rs", "crates/a/src/read/tests.rs"] {
            assert!(RustFile::new(path, "fn a() {}").product.trim().is_empty());
        }
    }

    #[test]
    fn the_folder_is_the_crates() {
        assert_eq!(
            RustFile::new("crates/a/src/lib.rs", "").folder(),
            "crates/a"
        );
        assert_eq!(RustFile::new("testkit/src/lib.rs", "").folder(), "testkit");
    }
}
