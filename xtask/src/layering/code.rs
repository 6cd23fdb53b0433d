//! What the code of each crate may not say, where a manifest cannot tell.
//!
//! Clippy's per-crate lists catch the same through resolved paths; these rules read the text, know
//! tests from product, and hold where Clippy is not run.

use crate::{
    source::{RustFile, numbered},
    tidy::Fault,
};

const CORE_FOLDERS: [&str; 4] = [
    "crates/workflow",
    "crates/engine",
    "crates/delivery",
    "crates/redaction",
];

/// Modules and types of the standard library through which a core would touch the world, or lose
/// its determinism.
const NOT_IN_CORES: [&str; 10] = [
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "SystemTime",
    "Instant::now",
    "HashMap",
    "HashSet",
    "::now()",
];

/// Folders and files whose product may start processes.
const MAY_START_PROCESSES: [&str; 5] = [
    "crates/runners/",
    "crates/forges/src/git",
    "testkit/",
    "xtask/",
    // What the demonstration types in a colleague's name, printed before it runs.
    "crates/cli/src/commands/demo",
];

/// Folders that may make a committed action.
const MAY_COMMIT: [&str; 3] = ["crates/store/", "crates/ports/src/store.rs", "testkit/"];

/// Folders that may hold SQL.
const MAY_HOLD_SQL: [&str; 2] = ["crates/store/", "xtask/src/layering/"];

const SQL: [&str; 6] = [
    "SELECT ",
    "INSERT INTO ",
    "DELETE FROM ",
    "CREATE TABLE ",
    "ALTER TABLE ",
    "PRAGMA ",
];

/// Every fault of one file.
pub(crate) fn faults(file: &RustFile) -> Vec<Fault> {
    [
        impure_core(file),
        process_started(file),
        commit_forged(file),
        sql_outside_the_store(file),
    ]
    .concat()
}

/// A core touches no file, socket, clock, environment, process or thread, and keeps its order.
fn impure_core(file: &RustFile) -> Vec<Fault> {
    if !CORE_FOLDERS.contains(&file.folder()) {
        return Vec::new();
    }
    file.product_lines()
        .flat_map(|(line, code)| {
            let spelled = NOT_IN_CORES.into_iter().filter(|word| code.contains(word));
            spelled
                .chain(grouped(code, &["fs", "net", "env", "process", "thread"]))
                .map(move |word| Fault::at(file, line, format!("a core may not use `{word}`")))
        })
        .collect()
}

/// Words of the list in `std::{…}` on this line.
fn grouped<'word>(code: &str, words: &[&'word str]) -> Vec<&'word str> {
    let Some((_, group)) = code.split_once("std::{") else {
        return Vec::new();
    };
    let names: Vec<&str> = group
        .split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
        .collect();
    words
        .iter()
        .filter(|word| names.contains(word))
        .copied()
        .collect()
}

/// Only runners, git and the repository's own tools start processes.
fn process_started(file: &RustFile) -> Vec<Fault> {
    if MAY_START_PROCESSES
        .iter()
        .any(|folder| file.path.starts_with(folder))
    {
        return Vec::new();
    }
    file.product_lines()
        .filter(|(_, code)| names_a_command(code))
        .map(|(line, _)| {
            Fault::at(
                file,
                line,
                "only `runners` and `forges::git` may start processes",
            )
        })
        .collect()
}

fn names_a_command(code: &str) -> bool {
    code.split("process::").skip(1).any(|after| {
        let group = after
            .strip_prefix('{')
            .and_then(|group| group.split('}').next());
        let names = group.unwrap_or_else(|| {
            let end = after.find(|letter: char| !letter.is_alphanumeric());
            &after[..end.unwrap_or(after.len())]
        });
        names.split(',').any(|name| name.trim() == "Command")
    })
}

/// An action is performable only once the store has committed it.
fn commit_forged(file: &RustFile) -> Vec<Fault> {
    if MAY_COMMIT
        .iter()
        .any(|folder| file.path.starts_with(folder))
    {
        return Vec::new();
    }
    numbered(&file.code)
        .filter(|(_, code)| code.contains("Committed::by_store"))
        .map(|(line, _)| Fault::at(file, line, "only the store makes a `Committed` action"))
        .collect()
}

/// SQL is written in the store and nowhere else.
fn sql_outside_the_store(file: &RustFile) -> Vec<Fault> {
    if MAY_HOLD_SQL
        .iter()
        .any(|folder| file.path.starts_with(folder))
    {
        return Vec::new();
    }
    let code = file.text.lines().zip(file.product.lines());
    code.zip(1..)
        .filter(|((text, _), _)| !text.trim_start().starts_with("//"))
        .filter(|((text, _), _)| SQL.iter().any(|word| text.contains(word)))
        .filter(|_| !file.is_test())
        .map(|(_, line)| Fault::at(file, line, "SQL belongs to the store"))
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
    fn a_core_that_reads_a_file_is_found() {
        check(
            "crates/engine/src/run.rs",
            "fn f() {\n    std::fs::read(\"x\");\n}\n",
            &["crates/engine/src/run.rs:2: a core may not use `std::fs`"],
        );
        check(
            "crates/engine/src/run.rs",
            "use std::{env, fmt};\n",
            &["crates/engine/src/run.rs:1: a core may not use `env`"],
        );
    }

    #[test]
    fn a_core_that_asks_the_time_or_loses_order_is_found() {
        check(
            "crates/workflow/src/a.rs",
            "use std::collections::HashMap;\nlet t = Timestamp::now();\n",
            &[
                "crates/workflow/src/a.rs:1: a core may not use `HashMap`",
                "crates/workflow/src/a.rs:2: a core may not use `::now()`",
            ],
        );
    }

    #[test]
    fn tests_and_comments_of_a_core_are_free() {
        let text = "// std::fs\n#[cfg(test)]\nmod tests {\n use std::fs;\n}\n";
        check("crates/engine/src/run.rs", text, &[]);
        check("crates/engine/tests/it/main.rs", "use std::fs;\n", &[]);
        check("crates/store/src/a.rs", "use std::fs;\n", &[]);
    }

    #[test]
    fn a_process_started_in_the_wrong_place_is_found() {
        for text in [
            "use std::process::Command;\n",
            "use tokio::process::{Child, Command};\n",
        ] {
            check(
                "crates/controller/src/a.rs",
                text,
                &[
                    "crates/controller/src/a.rs:1: only `runners` and `forges::git` may start processes",
                ],
            );
            check("crates/runners/src/a.rs", text, &[]);
            check("crates/forges/src/git.rs", text, &[]);
        }
        check(
            "crates/cli/src/main.rs",
            "use std::process::ExitCode;\n",
            &[],
        );
    }

    #[test]
    fn a_forged_commit_is_found_even_in_a_test() {
        let text = "Committed::by_store(1, a, b);\n";
        check(
            "crates/controller/tests/it/main.rs",
            text,
            &["crates/controller/tests/it/main.rs:1: only the store makes a `Committed` action"],
        );
        check("crates/store/src/journal.rs", text, &[]);
    }

    #[test]
    fn sql_outside_the_store_is_found() {
        check(
            "crates/cli/src/a.rs",
            "f(\"SELECT 1\");\n",
            &["crates/cli/src/a.rs:1: SQL belongs to the store"],
        );
        check("crates/store/src/a.rs", "f(\"SELECT 1\");\n", &[]);
    }
}
