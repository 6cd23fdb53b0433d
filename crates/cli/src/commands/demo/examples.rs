//! The examples, inside this program: an installed one has no repository beside it.

use std::path::Path;

use crate::failure::Failure;

/// A file of `examples/`: its path there and its text.
pub(super) type Example = (&'static str, &'static str);

macro_rules! example {
    ($path:literal) => {
        (
            $path,
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../examples/",
                $path
            )),
        )
    };
}

/// The infrastructure repository and the workflow documents.
pub(super) const EXAMPLES: &[Example] = &[
    example!("infrastructure/.gitignore"),
    example!("infrastructure/.tflint.hcl"),
    example!("infrastructure/environments/prod/terraform.tfvars"),
    example!("infrastructure/environments/prod/terraform/region-1.tfvars"),
    example!("infrastructure/environments/prod/terraform/region-2.tfvars"),
    example!("infrastructure/environments/stage/terraform.tfvars"),
    example!("infrastructure/environments/stage/terraform/region-1.tfvars"),
    example!("infrastructure/environments/stage/terraform/region-2.tfvars"),
    example!("infrastructure/modules/service/main.tf"),
    example!("infrastructure/modules/service/outputs.tf"),
    example!("infrastructure/modules/service/variables.tf"),
    example!("infrastructure/modules/service/versions.tf"),
    example!("infrastructure/policies/audit-log-retention.yaml"),
    example!("infrastructure/policies/open-ports.yaml"),
    example!("infrastructure/terraform/main.tf"),
    example!("infrastructure/terraform/outputs.tf"),
    example!("infrastructure/terraform/region-1/main.tf"),
    example!("infrastructure/terraform/region-1/outputs.tf"),
    example!("infrastructure/terraform/region-1/variables.tf"),
    example!("infrastructure/terraform/region-1/versions.tf"),
    example!("infrastructure/terraform/region-2/main.tf"),
    example!("infrastructure/terraform/region-2/outputs.tf"),
    example!("infrastructure/terraform/region-2/variables.tf"),
    example!("infrastructure/terraform/region-2/versions.tf"),
    example!("infrastructure/terraform/variables.tf"),
    example!("infrastructure/terraform/versions.tf"),
    example!("workflows/apply.yaml"),
    example!("workflows/drift.yaml"),
    example!("workflows/pull-request.yaml"),
];

/// Writes the files of a folder of `examples/` into a directory.
pub(super) fn write(folder: &str, directory: &Path) -> Result<(), Failure> {
    for (path, text) in EXAMPLES {
        if let Ok(path) = Path::new(path).strip_prefix(folder) {
            write_file(&directory.join(path), text)?;
        }
    }
    Ok(())
}

/// Writes a file and the folders above it.
pub(super) fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    let above = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(above)
        .and_then(|()| std::fs::write(path, text))
        .map_err(|error| Failure::user(format!("cannot write `{}`", path.display())).because(error))
}

/// The text of a file.
pub(super) fn text(path: &str) -> &'static str {
    EXAMPLES
        .iter()
        .find(|(known, _)| *known == path)
        .map(|(_, text)| *text)
        .expect("the demo asks for files that are among the examples")
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::PathBuf};

    use super::*;

    fn files_below(directory: &Path, found: &mut BTreeSet<PathBuf>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path.file_name().unwrap() != ".terraform" {
                    files_below(&path, found);
                }
            } else {
                found.insert(path);
            }
        }
    }

    #[test]
    fn every_example_is_inside_the_program() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        let mut found = BTreeSet::new();
        files_below(&root.join("infrastructure"), &mut found);
        files_below(&root.join("workflows"), &mut found);
        let known: BTreeSet<PathBuf> = EXAMPLES.iter().map(|(path, _)| root.join(path)).collect();
        assert_eq!(found, known);
    }
}
