//! Links between the documents, and from them into the code.

use std::path::{Path, PathBuf};

use crate::{source::numbered, tidy::Fault};

/// Links of a document that lead to no file, or to no heading of it.
pub(crate) fn broken_links(root: &Path, path: &str, content: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (line, text) in prose(content) {
        for (name, target) in links(text) {
            let message =
                broken(root, path, target).or_else(|| names_nothing(root, path, name, target));
            faults.extend(message.map(|message| Fault::new(path, line, message)));
        }
    }
    faults
}

/// Lines outside fenced blocks.
fn prose(content: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    numbered(content).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// Name and target of the line's links: `[name](target)`.
fn links(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.match_indices("](").filter_map(|(at, mark)| {
        let name = line[..at].rsplit('[').next()?;
        let target = line[at + mark.len()..].split([')', ' ']).next()?;
        Some((name, target))
    })
}

/// A link whose name is a path in code (`engine::decide`) leads to a file that has the last part of
/// it as an item.
fn names_nothing(root: &Path, path: &str, name: &str, target: &str) -> Option<String> {
    let code = name.strip_prefix('`')?.strip_suffix('`')?;
    let (_, item) = code.rsplit_once("::")?;
    if !target.ends_with(".rs") {
        return None;
    }
    let file = root.join(path).parent()?.join(target);
    let content = std::fs::read_to_string(file).ok()?;
    let kinds = ["fn", "struct", "enum", "trait", "mod"];
    let found = content
        .lines()
        .any(|line| kinds.iter().any(|kind| declares(line, kind, item)));
    let module = Path::new(target).with_extension("");
    let is_module = module.ends_with(item) || module.ends_with(format!("{item}/mod"));
    (!found && !is_module).then(|| format!("`{target}` has no `{item}`"))
}

/// Whether the line declares an item of this kind and name.
fn declares(line: &str, kind: &str, item: &str) -> bool {
    let words: Vec<&str> = line
        .split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
        .collect();
    words.windows(2).any(|pair| pair == [kind, item])
}

/// Why the target is broken, if it is. Addresses of other hosts are not followed.
fn broken(root: &Path, path: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let folder = root.join(path).parent().map(Path::to_path_buf)?;
    let there: PathBuf = match file {
        "" => root.join(path),
        file => folder.join(file),
    };
    if !there.exists() {
        return Some(format!("the link `{target}` leads nowhere"));
    }
    let outside = there.canonicalize().ok()?.strip_prefix(root).is_err();
    if outside {
        return Some(format!("the link `{target}` leaves the repository"));
    }
    let known = heading.is_empty() || !file.ends_with(".md") && !file.is_empty() || {
        let content = std::fs::read_to_string(&there).ok()?;
        content
            .lines()
            .filter_map(anchor)
            .any(|anchor| anchor == heading)
    };
    (!known).then(|| format!("the link `{target}` names no heading"))
}

/// The anchor of a heading, as forges make it.
fn anchor(line: &str) -> Option<String> {
    let title = line.trim_start_matches('#');
    let marks = line.len() - title.len();
    if !(1..=6).contains(&marks) || !title.starts_with(' ') {
        return None;
    }
    let letters = title.trim().to_lowercase();
    Some(
        letters
            .chars()
            .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter))
            .map(|letter| if letter == ' ' { '-' } else { letter })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(content: &str, expected: &[&str]) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .canonicalize()
            .expect("xtask is there");
        let found: Vec<String> = broken_links(&root, "notes.md", content)
            .into_iter()
            .map(|fault| fault.to_string())
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_link_to_a_file_resolves() {
        check(
            "see [the stages](src/check.rs) and [elsewhere](https://example.org/x)\n",
            &[],
        );
    }

    #[test]
    fn a_link_to_no_file_is_found() {
        check(
            "a\n[b](src/none.rs)\n",
            &["notes.md:2: the link `src/none.rs` leads nowhere"],
        );
    }

    #[test]
    fn a_link_out_of_the_repository_is_found() {
        check(
            "[b](../Cargo.toml)\n",
            &["notes.md:1: the link `../Cargo.toml` leaves the repository"],
        );
    }

    #[test]
    fn a_link_to_code_must_name_an_item_of_the_file() {
        check(
            "[`check::run`](src/check.rs) and [`xtask::check`](src/check.rs)\n",
            &[],
        );
        check(
            "[`check::walk`](src/check.rs)\n",
            &["notes.md:1: `src/check.rs` has no `walk`"],
        );
    }

    #[test]
    fn code_is_not_prose() {
        check("```\n[b](src/none.rs)\n```\n", &[]);
    }

    #[test]
    fn a_heading_gives_the_anchor_forges_give() {
        assert_eq!(
            anchor("## The road, as values").as_deref(),
            Some("the-road-as-values")
        );
        assert_eq!(anchor("#hash"), None);
    }
}
