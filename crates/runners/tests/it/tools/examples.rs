//! The examples of the repository: what the real tools say of them is known.

#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use groundplan_runners::tools::Tool;
use groundplan_workflow::{
    diagnostic::Severity,
    read::{SourceFile, read},
};

use super::real::tool;

const ROOTS: [&str; 3] = ["terraform", "terraform/region-1", "terraform/region-2"];

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// A copy of the repository that may be changed.
struct Repository {
    folder: tempfile::TempDir,
}

impl Repository {
    fn copy() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let copied = Command::new("cp")
            .arg("-R")
            .arg(examples().join("infrastructure/."))
            .arg(folder.path())
            .status()
            .unwrap();
        assert!(copied.success());
        Repository { folder }
    }

    fn path(&self, path: &str) -> String {
        self.folder.path().join(path).display().to_string()
    }

    fn replace(&self, path: &str, from: &str, to: &str) {
        let path = self.folder.path().join(path);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replace(from, to)).unwrap();
    }

    fn run(&self, wanted: Tool, root: &str, arguments: &[&str]) -> Output {
        Command::new(tool(wanted).path)
            .args(arguments)
            .current_dir(self.folder.path().join(root))
            .env_remove("TF_CLI_CONFIG_FILE")
            .env("NO_COLOR", "1")
            .output()
            .unwrap()
    }

    fn variables(&self, environment: &str, root: &str) -> String {
        self.path(&format!("environments/{environment}/{root}.tfvars"))
    }

    fn scan(&self, root: &str) -> Output {
        let arguments = [
            "--skip-download",
            "--quiet",
            "--compact",
            "--directory",
            ".",
            "--output",
            "json",
            "--external-checks-dir",
            &self.path("policies"),
            "--var-file",
            &self.variables("stage", root),
        ];
        self.run(Tool::Checkov, root, &arguments)
    }
}

fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8(both).unwrap()
}

fn assert_passes(output: &Output) {
    assert!(output.status.success(), "{}", text(output));
}

#[test]
fn every_root_is_formatted_valid_clean_and_plans_in_every_environment() {
    let repository = Repository::copy();
    assert_passes(&repository.run(Tool::Tofu, ".", &["fmt", "-check", "-recursive"]));
    for root in ROOTS {
        let state = format!("-backend-config=path={}", repository.path("state"));
        let init = ["init", "-input=false", "-lockfile=readonly", &state];
        assert_passes(&repository.run(Tool::Tofu, root, &init));
        assert_passes(&repository.run(Tool::Tofu, root, &["validate"]));
        let config = format!("--config={}", repository.path(".tflint.hcl"));
        assert_passes(&repository.run(Tool::Tflint, root, &[&config]));
        for environment in ["stage", "prod"] {
            let variables = format!("-var-file={}", repository.variables(environment, root));
            let plan = ["plan", "-input=false", "-detailed-exitcode", &variables];
            let output = repository.run(Tool::Tofu, root, &plan);
            assert_eq!(output.status.code(), Some(2), "{}", text(&output));
            assert!(!text(&output).contains("Warning"), "{}", text(&output));
        }
    }
}

#[test]
fn the_scan_evaluates_checks_and_finds_what_the_readme_says() {
    let repository = Repository::copy();
    let clean = repository.scan("terraform");
    assert_passes(&clean);
    assert!(text(&clean).contains("\"passed\": 22,"), "{}", text(&clean));
    repository.replace(
        "terraform/region-1/main.tf",
        "port = 9090, from = \"10.20.0.0/16\"",
        "port = 9090, from = \"0.0.0.0/0\"",
    );
    repository.replace("environments/stage/terraform.tfvars", "30", "7");
    let found = repository.scan("terraform");
    assert_eq!(found.status.code(), Some(1), "{}", text(&found));
    for id in ["CKV2_SHOP_1", "CKV2_SHOP_2"] {
        assert!(text(&found).contains(id), "{}", text(&found));
    }
}

#[test]
fn the_linter_finds_what_the_readme_says() {
    let repository = Repository::copy();
    let more = repository.folder.path().join("terraform/variables.tf");
    let text_of = fs::read_to_string(&more).unwrap();
    let unused = "variable \"unused\" {\n  description = \"Nothing.\"\n  type = string\n}\n";
    fs::write(&more, format!("{text_of}\n{unused}")).unwrap();
    let config = format!("--config={}", repository.path(".tflint.hcl"));
    let found = repository.run(Tool::Tflint, "terraform", &[&config]);
    assert_eq!(found.status.code(), Some(2), "{}", text(&found));
    assert!(text(&found).contains("terraform_unused_declarations"));
}

#[test]
fn the_documents_are_read_without_a_fault() {
    for name in ["pull-request", "apply", "drift"] {
        let path = examples().join(format!("workflows/{name}.yaml"));
        let file = read(&SourceFile::new(name, fs::read(path).unwrap()));
        assert_eq!(file.documents.len(), 1, "{name}");
        assert!(file.documents[0].refused.is_empty(), "{name}");
        for diagnostic in &file.diagnostics {
            assert_eq!(diagnostic.severity, Severity::Notice, "{diagnostic:#?}");
        }
    }
}

/// Field case B2: what goes wrong in scripts that look at exit codes.
#[test]
fn no_script_of_the_documents_can_lose_an_exit_code() {
    for name in ["pull-request", "apply", "drift"] {
        let path = examples().join(format!("workflows/{name}.yaml"));
        let file = read(&SourceFile::new(name, fs::read(path).unwrap()));
        for template in &file.documents[0].spec().templates {
            let Some(script) = &template.script else {
                continue;
            };
            let source = &script.source;
            let name = &template.name;
            assert!(source.starts_with("set -eu\n"), "{name}");
            for line in source.lines() {
                // A pipe hides the code of its left side; `|| true` hides any; `$?` read on a line
                // of its own comes too late under `set -e`.
                assert!(
                    !line.contains(" | ") || line.contains(")"),
                    "{name}: {line}"
                );
                assert!(!line.contains("|| true"), "{name}: {line}");
                let reads = line.contains("$?");
                let in_place = line.contains("|| ") || line.trim_start().ends_with("=$?");
                assert!(!reads || in_place, "{name}: {line}");
                assert!(
                    !line.contains("export ") && !line.contains("local "),
                    "{name}: {line}"
                );
                // No value of a parameter is ever part of a script's text (field case I3).
                assert!(!line.contains("{{"), "{name}: {line}");
            }
        }
    }
}
