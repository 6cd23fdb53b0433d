//! Rules for Rust files.

use std::path::Path;

use super::Fault;
use crate::source::RustFile;

/// Lines of a file without its tests; more means two files in one.
const LONGEST_FILE: usize = 600;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 11] = [
    "common", "helper", "helpers", "manager", "managers", "misc", "service", "services", "types",
    "util", "utils",
];

/// Every fault of one file.
pub(crate) fn faults(file: &RustFile) -> Vec<Fault> {
    [
        module_doc_missing(file),
        file_too_long(file),
        test_ignored(file),
        test_sleeps(file),
        module_says_nothing(file),
    ]
    .concat()
}

/// Every file says what it is for.
fn module_doc_missing(file: &RustFile) -> Vec<Fault> {
    let first = file.text.lines().find(|line| !line.trim().is_empty());
    match first.is_some_and(|line| line.starts_with("//!")) {
        true => Vec::new(),
        false => vec![Fault::at(file, 1, "no module documentation (`//! …`)")],
    }
}

/// A file without its tests stays readable.
fn file_too_long(file: &RustFile) -> Vec<Fault> {
    let lines = file.text.lines().count() - file.test_lines().count();
    match file.is_test() || lines <= LONGEST_FILE {
        true => Vec::new(),
        false => vec![Fault::at(
            file,
            LONGEST_FILE,
            format!("{lines} lines without tests; at most {LONGEST_FILE}"),
        )],
    }
}

/// A test runs, or says why it did not.
fn test_ignored(file: &RustFile) -> Vec<Fault> {
    lines_with(
        file,
        "#[ignore",
        "no test is ignored: say \"not run: …\" and why",
    )
}

/// A test waits for what it waits for. One that sleeps for another reason (a simulated clock, a kill
/// at a random moment, the pause between two looks) says so in the line above: `// sleep: …`.
fn test_sleeps(file: &RustFile) -> Vec<Fault> {
    let lines: Vec<&str> = file.text.lines().collect();
    let explained = |line: usize| {
        let above = line.checked_sub(2).and_then(|above| lines.get(above));
        above.is_some_and(|above| above.trim_start().starts_with("// sleep: "))
    };
    file.test_lines()
        .filter(|(line, code)| code.contains("sleep(") && !explained(*line))
        .map(|(line, _)| {
            Fault::at(
                file,
                line,
                "a test does not sleep: wait for the thing itself",
            )
        })
        .collect()
}

/// A module inside a file has a telling name too.
fn module_says_nothing(file: &RustFile) -> Vec<Fault> {
    EMPTY_NAMES
        .iter()
        .flat_map(|name| {
            let opened = format!("mod {name} {{");
            lines_with(
                file,
                &opened,
                &format!("`{name}` says nothing: name the noun inside"),
            )
        })
        .collect()
}

/// A file's or folder's name tells what is inside.
pub(crate) fn name_says_nothing(path: &str) -> Vec<Fault> {
    if !path.ends_with(".rs") {
        return Vec::new();
    }
    let parts = Path::new(path).components();
    parts
        .filter_map(|part| Path::new(part.as_os_str()).file_stem()?.to_str())
        .filter(|stem| EMPTY_NAMES.contains(stem))
        .map(|stem| {
            Fault::new(
                path,
                1,
                format!("`{stem}` says nothing: name the noun inside"),
            )
        })
        .collect()
}

fn lines_with(file: &RustFile, word: &str, message: &str) -> Vec<Fault> {
    crate::source::numbered(&file.code)
        .filter(|(_, code)| code.contains(word))
        .map(|(line, _)| Fault::at(file, line, message))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: &[&str]) {
        let found: Vec<String> = faults(&RustFile::new(path, text))
            .into_iter()
            .map(|fault| fault.to_string())
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_file_without_documentation_is_found() {
        check("crates/a/src/b.rs", "//! B.\n\nfn b() {}\n", &[]);
        check(
            "crates/a/src/b.rs",
            "fn b() {}\n",
            &["crates/a/src/b.rs:1: no module documentation (`//! …`)"],
        );
    }

    #[test]
    fn only_lines_that_are_no_tests_count() {
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "f();\n".repeat(700));
        check("crates/a/src/b.rs", &format!("//! B.\n{tests}"), &[]);
        check(
            "crates/a/src/b.rs",
            &format!("//! B.\n{}", "f();\n".repeat(600)),
            &["crates/a/src/b.rs:600: 601 lines without tests; at most 600"],
        );
    }

    #[test]
    fn an_ignored_test_is_found() {
        check(
            "crates/a/tests/it/b.rs",
            "//! B.\n#[test]\n#[ignore]\nfn b() {}\n",
            &["crates/a/tests/it/b.rs:3: no test is ignored: say \"not run: …\" and why"],
        );
    }

    #[test]
    fn a_sleeping_test_is_found_and_a_sleeping_product_is_not() {
        let text =
            "//! B.\nfn b() { sleep(1); }\n#[cfg(test)]\nmod tests {\nfn c() { sleep(1); }\n}\n";
        check(
            "crates/a/src/b.rs",
            text,
            &["crates/a/src/b.rs:5: a test does not sleep: wait for the thing itself"],
        );
        check(
            "crates/a/tests/it/b.rs",
            "//! B.\nfn b() { f(\"sleep(1)\"); }\n",
            &[],
        );
        check(
            "crates/a/tests/it/b.rs",
            "//! B.\nfn b() {\n    // sleep: of the simulated clock\n    sleep(1);\n}\n",
            &[],
        );
    }

    #[test]
    fn names_that_say_nothing_are_found() {
        let path = "crates/a/src/utils.rs";
        let found = name_says_nothing(path);
        let expected = [Fault::new(
            path,
            1,
            "`utils` says nothing: name the noun inside",
        )];
        assert_eq!(found, expected);
        assert!(name_says_nothing("crates/a/src/journal.rs").is_empty());
        assert_eq!(name_says_nothing("crates/common/src/a.rs").len(), 1);
        check(
            "crates/a/src/b.rs",
            "//! B.\nmod util {\n}\n",
            &["crates/a/src/b.rs:2: `util` says nothing: name the noun inside"],
        );
    }
}
