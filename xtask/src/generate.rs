//! Files, or parts of files, that are written from something else in the tree.

use std::fs;

use crate::{
    argo_fields,
    failure::{Failure, Outcome},
    junit::Counts,
    layering,
    workspace::Workspace,
};

/// A generated part of a document, between two marks.
struct Part {
    path: &'static str,
    mark: &'static str,
    text: fn() -> String,
}

const PARTS: [Part; 1] = [Part {
    path: "docs/architecture.md",
    mark: "arrows",
    text: arrows_table,
}];

/// Writes what is out of date.
pub(crate) fn write(workspace: &Workspace) -> Outcome {
    for part in &PARTS {
        let old = workspace.read(part.path)?;
        let new = filled(&old, part)?;
        if new != old {
            fs::write(workspace.root().join(part.path), new)
                .map_err(|error| Failure::new(format!("cannot write `{}`: {error}", part.path)))?;
            println!("wrote `{}` in {}", part.mark, part.path);
        }
    }
    Ok(())
}

/// Fails where a committed part is not what would be written.
pub(crate) fn compare(workspace: &Workspace) -> Outcome {
    for part in &PARTS {
        let old = workspace.read(part.path)?;
        if filled(&old, part)? != old {
            return Err(
                Failure::new(format!("`{}` in {} is out of date", part.mark, part.path))
                    .hint("`cargo xtask generate` writes it"),
            );
        }
    }
    Ok(())
}

/// The stage of the gate: our own parts, and the table of Argo's fields where Go is there.
pub(crate) fn check(workspace: &Workspace) -> Outcome<Counts> {
    compare(workspace)?;
    let not_run = match argo_fields::reason_not_to_run(workspace) {
        Some(reason) => vec![format!("argo-fields: {reason}")],
        None => argo_fields::compare(workspace).map(|()| Vec::new())?,
    };
    Ok(Counts {
        passed: 1,
        failed: 0,
        not_run,
    })
}

/// The document with the part's text between its marks.
fn filled(document: &str, part: &Part) -> Outcome<String> {
    let open = format!("<!-- generated: {} -->\n", part.mark);
    let close = format!("<!-- end: {} -->", part.mark);
    let missing = || Failure::new(format!("`{}` has no marks for `{}`", part.path, part.mark));
    let (before, rest) = document.split_once(&open).ok_or_else(missing)?;
    let (_, after) = rest.split_once(&close).ok_or_else(missing)?;
    Ok(format!("{before}{open}{}{close}{after}", (part.text)()))
}

/// Which crate may use which, from the table that the layering test enforces.
fn arrows_table() -> String {
    let mut table = String::from(
        "| crate | layer | may use of ours | its tests also |\n| --- | --- | --- | --- |\n",
    );
    for line in layering::ARROWS {
        let testkit = (line.layer != layering::Layer::Tooling).then_some("testkit");
        let tests: Vec<&str> = testkit
            .into_iter()
            .chain(line.tests_use.iter().copied())
            .collect();
        table.push_str(&format!(
            "| `{}` | {} | {} | {} |\n",
            line.name,
            line.layer.word(),
            names(line.uses),
            names(&tests),
        ));
    }
    table
}

fn names(names: &[&str]) -> String {
    match names {
        [] => "–".to_owned(),
        names => names
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: Part = Part {
        path: "a.md",
        mark: "b",
        text: || "new\n".to_owned(),
    };

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let old = "x\n<!-- generated: b -->\nold\n<!-- end: b -->\ny\n";
        let new = filled(old, &PART).expect("the marks are there");
        assert_eq!(new, "x\n<!-- generated: b -->\nnew\n<!-- end: b -->\ny\n");
        assert_eq!(filled(&new, &PART).expect("the marks are there"), new);
    }

    #[test]
    fn a_document_without_marks_is_a_failure() {
        assert!(filled("x\n", &PART).is_err());
    }
}
