//! A light reading of shell text: which variables and paths it uses, and which it makes itself. It
//! errs on the side of silence.

use std::collections::BTreeSet;

/// A variable that is read, at a byte offset of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Read<'t> {
    pub(super) name: &'t str,
    /// The text of the reference, such as `${isPR}`.
    pub(super) piece: &'t str,
}

/// What a shell text uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage<'t> {
    /// Variables read without a default, in the order of their first use.
    pub(super) reads: Vec<Read<'t>>,
    /// Variables that the text sets.
    pub(super) sets: BTreeSet<&'t str>,
    /// Whether it takes in another file, which may set anything.
    pub(super) sources: bool,
    /// Words that are paths, in order.
    pub(super) paths: Vec<PathWord<'t>>,
}

/// A word of a command that is an absolute path or begins with `~/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathWord<'t> {
    pub(super) text: &'t str,
    pub(super) role: Role,
}

/// What a command does with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It is run.
    Program,
    /// It is made or written.
    Made,
    /// It is read, as far as can be told.
    Used,
}

/// Reads a shell text.
pub(super) fn read(text: &str) -> Usage<'_> {
    let mut usage = Usage::default();
    for line in commands(text) {
        command(&line, &mut usage);
    }
    variables(text, &mut usage);
    usage
}

/// Commands that make what they are given.
const MAKERS: [&str; 14] = [
    "mkdir", "touch", "tee", "cp", "mv", "ln", "install", "rsync", "unzip", "tar", "git", "rm",
    "curl", "wget",
];

fn command<'t>(words: &[Word<'t>], usage: &mut Usage<'t>) {
    let mut program: Option<&str> = None;
    let mut redirected = false;
    for word in words {
        match word {
            Word::Redirect => {
                redirected = true;
                continue;
            }
            Word::Plain(text) => {
                let assigned = assignment(text);
                if let Some(name) = assigned {
                    usage.sets.insert(name);
                }
                if let Some(role) = role(program, redirected, assigned.is_some())
                    && is_path(text)
                {
                    usage.paths.push(PathWord { text, role });
                }
                match program {
                    None if assigned.is_none() && !redirected && !is_keyword(text) => {
                        program = Some(text);
                        usage.sources |= matches!(*text, "." | "source");
                    }
                    Some(
                        "read" | "export" | "local" | "declare" | "typeset" | "readonly"
                        | "getopts" | "mapfile" | "readarray" | "for" | "select" | "unset",
                    ) if is_name(text) => {
                        usage.sets.insert(text);
                    }
                    _ => {}
                }
                redirected = false;
            }
        }
    }
}

fn role(program: Option<&str>, redirected: bool, assigned: bool) -> Option<Role> {
    match program {
        _ if assigned => None,
        _ if redirected => Some(Role::Made),
        None => Some(Role::Program),
        Some(program) => {
            let base = program.rsplit('/').next().unwrap_or(program);
            Some(if MAKERS.contains(&base) {
                Role::Made
            } else {
                Role::Used
            })
        }
    }
}

/// The name that a word such as `A=b` or `A+=b` sets.
fn assignment(word: &str) -> Option<&str> {
    let (name, _) = word.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split('[').next().unwrap_or(name);
    is_name(name).then_some(name)
}

fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Words after which a command begins.
fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "if" | "then"
            | "else"
            | "elif"
            | "do"
            | "while"
            | "until"
            | "!"
            | "{"
            | "}"
            | "time"
            | "fi"
            | "done"
            | "esac"
            | "exec"
            | "sudo"
            | "env"
            | "command"
            | "nohup"
    )
}

fn is_path(word: &str) -> bool {
    let rest = match word.strip_prefix("~/") {
        Some(rest) => rest,
        None => match word.strip_prefix('/') {
            Some(rest) => rest,
            None => return false,
        },
    };
    !rest.is_empty()
        && rest
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | '+' | '@'))
}

/// A word of a command, quotes removed where they enclose all of it.
enum Word<'t> {
    Plain(&'t str),
    /// `>` or `>>`: the next word is written to.
    Redirect,
}

/// The text as commands of words. Quoted stretches hold together; comments are left out.
fn commands(text: &str) -> Vec<Vec<Word<'_>>> {
    let mut commands = Vec::new();
    let mut words = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if bytes.get(at + 1) == Some(&b'\n') => at += 2,
            b' ' | b'\t' | b'\r' => at += 1,
            b'#' => at += text[at..].find('\n').unwrap_or(text.len() - at),
            b'>' => {
                at += 1;
                while matches!(bytes.get(at), Some(b'>' | b'|')) {
                    at += 1;
                }
                // `2>&1` writes to no file.
                if bytes.get(at) != Some(&b'&') {
                    words.push(Word::Redirect);
                }
            }
            b'\n' | b';' | b'|' | b'&' | b'(' | b')' | b'`' | b'<' => {
                at += 1;
                if bytes[at - 1] != b'<' {
                    commands.push(std::mem::take(&mut words));
                }
            }
            _ => {
                let end = word_end(text, at);
                words.push(Word::Plain(unquote(&text[at..end])));
                at = end;
            }
        }
    }
    commands.push(words);
    commands
}

/// Where the word that begins here ends.
fn word_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            quote @ (b'\'' | b'"') => {
                at += 1;
                while at < bytes.len() && bytes[at] != quote {
                    at += if quote == b'"' && bytes[at] == b'\\' {
                        2
                    } else {
                        1
                    };
                }
                at += 1;
            }
            b' ' | b'\t' | b'\r' | b'\n' | b';' | b'|' | b'&' | b'(' | b')' | b'<' | b'>'
            | b'`' => break,
            _ => at += 1,
        }
    }
    let mut end = at.min(text.len()).max(start + 1);
    while !text.is_char_boundary(end) {
        end += 1;
    }
    end
}

fn unquote(word: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = word
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
            && !inner.contains(quote)
        {
            return inner;
        }
    }
    word
}

/// Finds the variables that the text reads.
fn variables<'t>(text: &'t str, usage: &mut Usage<'t>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut quoted = false;
    let mut word_starts = true;
    while at < bytes.len() {
        let starts = std::mem::replace(&mut word_starts, false);
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => {
                quoted = !quoted;
                at += 1;
            }
            b'\'' if !quoted => at += 2 + text[at + 1..].find('\'').unwrap_or(text.len()),
            b'#' if starts && !quoted => at += text[at..].find('\n').unwrap_or(text.len()),
            b'$' => at += reference(&text[at..], usage),
            b'<' if !quoted && text[at..].starts_with("<<") => at += heredoc(&text[at..]),
            byte => {
                word_starts = matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'(');
                at += 1;
            }
        }
    }
}

/// Reads what follows a `$`; answers how far to go on.
fn reference<'t>(text: &'t str, usage: &mut Usage<'t>) -> usize {
    let braced = text.starts_with("${");
    let start = if braced { 2 } else { 1 };
    let name_length = text[start..]
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(text.len() - start);
    let name = &text[start..start + name_length];
    if !is_name(name) {
        return start;
    }
    let mut end = start + name_length;
    if braced {
        let rest = &text[end..];
        let guarded = rest.starts_with([':', '-', '+', '=', '?']) && !rest.starts_with(":0");
        if rest.starts_with(":=") || rest.starts_with('=') {
            usage.sets.insert(name);
        }
        if guarded {
            return end;
        }
        end += rest.find('}').map_or(0, |close| close + 1);
    }
    if !usage.reads.iter().any(|read| read.name == name) {
        usage.reads.push(Read {
            name,
            piece: &text[..end],
        });
    }
    start + name_length
}

/// Skips a here-document whose delimiter is quoted, since nothing in it is replaced.
fn heredoc(text: &str) -> usize {
    let rest = text[2..].trim_start_matches('-').trim_start_matches(' ');
    let Some(quote) = rest.chars().next().filter(|c| matches!(c, '\'' | '"')) else {
        return 2;
    };
    let Some(length) = rest[1..].find(quote) else {
        return 2;
    };
    let delimiter = &rest[1..=length];
    let Some(body) = text.find('\n') else {
        return 2;
    };
    let mut at = body + 1;
    for line in text[body + 1..].split_inclusive('\n') {
        at += line.len();
        if line.trim() == delimiter {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(text: &str) -> Vec<&str> {
        let usage = read(text);
        usage
            .reads
            .iter()
            .map(|read| read.name)
            .filter(|name| !usage.sets.contains(name))
            .collect()
    }

    #[test]
    fn variables_that_nothing_sets_are_found() {
        assert_eq!(reads("git checkout $GIT_COMMIT;"), ["GIT_COMMIT"]);
        assert_eq!(reads("if [ \"${isPR}\" == \"true\" ]"), ["isPR"]);
        assert_eq!(reads("A=1\nexport B=2; echo $A ${B}x \"$C\""), ["C"]);
        assert_eq!(
            reads("for i in 1 2; do echo $i; done; read x y; echo $y"),
            [""; 0]
        );
        assert_eq!(reads("echo ${A:-b} ${B-} ${C:?no} ${D:=x} $D"), [""; 0]);
        assert_eq!(reads("echo '$A' \\$B # $C\necho $(cat $D)"), ["D"]);
        assert_eq!(reads("echo $? $1 $@ $$ $((1 + 2)) ${#}"), [""; 0]);
        assert_eq!(reads("cat <<'EOF'\n$A\nEOF\necho $B"), ["B"]);
        assert_eq!(reads("cat <<EOF\n$A\nEOF\n"), ["A"]);
        assert_eq!(reads("arr+=(x); echo ${arr[0]}"), [""; 0]);
    }

    #[test]
    fn paths_have_their_roles() {
        let paths = |text| {
            read(text)
                .paths
                .into_iter()
                .map(|word| (word.text, word.role))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            paths("ssh-add /root/.ssh/key; ssh-keyscan x > /root/.ssh/known_hosts;"),
            [
                ("/root/.ssh/key", Role::Used),
                ("/root/.ssh/known_hosts", Role::Made)
            ]
        );
        assert_eq!(
            paths("mkdir -p \"/a/b\" && cd /a/b && /bin/x ~/.netrc 2>&1"),
            [
                ("/a/b", Role::Made),
                ("/a/b", Role::Used),
                ("/bin/x", Role::Program),
                ("~/.netrc", Role::Used)
            ]
        );
        assert_eq!(paths("awk '/x y/ {print}' | sed s/a/b/"), []);
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        for text in [
            "\\",
            "'",
            "\"$",
            "${",
            "$",
            "<<'",
            "é'é",
            "a\\",
            ">",
            "${a",
            "\u{1F600}$é",
        ] {
            read(text);
        }
    }
}
