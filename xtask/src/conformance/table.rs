//! Tables: one row a line, fields divided by tabs, names of the columns in the first line.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;

use crate::failure::{Failure, Outcome};

/// A field that says nothing.
const NOTHING: &str = "-";

/// A document of kind `run`, and what is expected of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Case {
    /// Name of its file.
    pub(super) file: String,
    /// Final phase, or `random`.
    pub(super) expected: String,
    /// What it takes beside processes.
    pub(super) needs: String,
    /// Assertions on the finished run.
    pub(super) checks: Vec<Value>,
    /// Files to be registered first.
    pub(super) library: Vec<String>,
}

/// Reads `expected.tsv`.
pub(super) fn cases(path: &Path) -> Outcome<Vec<Case>> {
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read `{}`: {error}", path.display())))?;
    rows(&text).iter().map(case).collect()
}

fn rows(text: &str) -> Vec<BTreeMap<&str, &str>> {
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    lines
        .map(|line| columns.iter().copied().zip(line.split('\t')).collect())
        .collect()
}

fn case(row: &BTreeMap<&str, &str>) -> Outcome<Case> {
    let field = |column: &str| match row.get(column).copied() {
        None | Some(NOTHING) => "",
        Some(value) => value,
    };
    let file = field("file").to_owned();
    let checks = match field("check_json") {
        "" => Vec::new(),
        json => serde_json::from_str(json).map_err(|error| {
            Failure::new(format!("the assertions of `{file}` are no JSON: {error}"))
        })?,
    };
    Ok(Case {
        expected: field("expected").to_owned(),
        needs: field("needs").to_owned(),
        library: field("library")
            .split([' ', ','])
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
        checks,
        file,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_dash_is_nothing() {
        let text = "file\texpected\tneeds\tcheck_json\tlibrary\n\
                    a.yaml\tSucceeded\tnone\t[{\"node\":\"A\"}]\t-\n\
                    b.yaml\tFailed\t-\t-\tone.yaml two.yaml\n";
        let found: Vec<Case> = rows(text)
            .iter()
            .map(|row| case(row).expect("a good row"))
            .collect();
        assert_eq!(found[0].checks.len(), 1);
        assert!(found[0].library.is_empty());
        assert!(found[1].checks.is_empty() && found[1].needs.is_empty());
        assert_eq!(found[1].library, ["one.yaml", "two.yaml"]);
    }
}
