//! Rules for every text file.

use super::Fault;

/// This file names what it forbids.
const THIS_FILE: &str = "xtask/src/tidy/text.rs";

/// Hosts of package registries: clients know theirs, and a mirror replaces them. Put together from
/// parts, so that not even this file names one.
const REGISTRY_HOSTS: [&str; 6] = [
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("static.crates", ".io"),
    concat!("proxy.golang", ".org"),
    concat!("sum.golang", ".org"),
    concat!("registry.npmjs", ".org"),
];

/// Written by tools, which name the registry that they took a package from.
const LOCK_FILES: [&str; 2] = ["Cargo.lock", "package-lock.json"];

/// Folders that exist on one machine only.
const MACHINE_FOLDERS: [&str; 4] = ["/work/", "/root/.cargo", "/root/.rustup", "/root/go/"];

/// Files whose spaces at line ends mean something.
const RECORDED: [&str; 5] = ["/fixtures/", "/testdata/", ".snap", ".diff", ".golden"];

/// Every fault of one file.
pub(crate) fn faults(path: &str, content: &str) -> Vec<Fault> {
    [
        space_at_line_end(path, content),
        last_line_open(path, content),
        conflict_left(path, content),
        registry_named(path, content),
        machine_named(path, content),
    ]
    .concat()
}

/// The licence is in the tree.
pub(crate) fn licence_missing(files: &[String]) -> Vec<Fault> {
    match files.iter().any(|path| path == "LICENSE") {
        true => Vec::new(),
        false => vec![Fault::new("LICENSE", 1, "the licence's text is missing")],
    }
}

/// Lines end with their last letter. In Rust rustfmt sees to it, and knows the texts in quotes.
fn space_at_line_end(path: &str, content: &str) -> Vec<Fault> {
    if path.ends_with(".rs") || RECORDED.iter().any(|place| path.contains(place)) {
        return Vec::new();
    }
    matching(path, content, "space at the end of the line", |line| {
        line.ends_with([' ', '\t', '\r'])
    })
}

/// The last line is closed.
fn last_line_open(path: &str, content: &str) -> Vec<Fault> {
    let recorded = RECORDED.iter().any(|place| path.contains(place));
    match recorded || content.is_empty() || content.ends_with('\n') {
        true => Vec::new(),
        false => vec![Fault::new(
            path,
            content.lines().count(),
            "no newline at the end",
        )],
    }
}

/// No merge is left half done.
fn conflict_left(path: &str, content: &str) -> Vec<Fault> {
    matching(path, content, "a conflict is left", |line| {
        line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ")
    })
}

/// No registry is named: the clients know theirs.
fn registry_named(path: &str, content: &str) -> Vec<Fault> {
    if path == THIS_FILE || LOCK_FILES.iter().any(|name| path.ends_with(name)) {
        return Vec::new();
    }
    matching(
        path,
        content,
        "names the host of a package registry",
        |line| REGISTRY_HOSTS.iter().any(|host| line.contains(host)),
    )
}

/// No folder of one machine is named.
fn machine_named(path: &str, content: &str) -> Vec<Fault> {
    if path == THIS_FILE {
        return Vec::new();
    }
    matching(path, content, "names a folder of one machine", |line| {
        MACHINE_FOLDERS
            .iter()
            .any(|folder| begins_a_path(line, folder))
    })
}

/// Whether the folder stands at the start of a path, not within one.
fn begins_a_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|letter| letter.is_alphanumeric() || "._-]}/>*".contains(letter))
    })
}

fn matching(path: &str, content: &str, message: &str, is: impl Fn(&str) -> bool) -> Vec<Fault> {
    let lines = content.split('\n').zip(1..);
    lines
        .filter(|(line, _)| is(line))
        .map(|(_, number)| Fault::new(path, number, message))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, content: &str, expected: &[&str]) {
        let found: Vec<String> = faults(path, content)
            .into_iter()
            .map(|fault| fault.to_string())
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn spaces_and_carriage_returns_at_line_ends_are_found() {
        check(
            "a.md",
            "a\nb \nc\r\n",
            &[
                "a.md:2: space at the end of the line",
                "a.md:3: space at the end of the line",
            ],
        );
        check("crates/a/tests/fixtures/a.txt", "b \n", &[]);
        check("crates/a/tests/it/a.rs", "f(\"\n \n\");\n", &[]);
    }

    #[test]
    fn an_open_last_line_is_found() {
        check("a.md", "a\nb", &["a.md:2: no newline at the end"]);
        check("a.md", "", &[]);
    }

    #[test]
    fn a_conflict_is_found() {
        check("a.md", "<<<<<<< ours\n", &["a.md:1: a conflict is left"]);
        check("a.md", "title\n=======\n", &[]);
    }

    #[test]
    fn a_registry_is_found_except_in_a_lock_file() {
        let line = concat!("from proxy.golang", ".org\n");
        check(
            "a.md",
            line,
            &["a.md:1: names the host of a package registry"],
        );
        check("Cargo.lock", line, &[]);
    }

    #[test]
    fn a_folder_of_one_machine_is_found() {
        for line in ["/work/tree\n", "see `/root/.cargo/bin`\n", "(/work/x)\n"] {
            check("a.md", line, &["a.md:1: names a folder of one machine"]);
        }
        for line in [
            "$X/work/tree\n",
            "[DIR]/work/a\n",
            "examples/work/a\n",
            "/root/.ssh/key\n",
            "/workdir/a\n",
        ] {
            check("a.md", line, &[]);
        }
    }

    #[test]
    fn the_licence_must_be_there() {
        assert_eq!(licence_missing(&["README.md".to_owned()]).len(), 1);
        assert!(licence_missing(&["LICENSE".to_owned()]).is_empty());
    }
}
