//! The real tools in the user's cache. Where they are not there yet, they are obtained here, which
//! takes minutes once.

#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use groundplan_runners::tools::{
    Cache, Located, Place, Product, Search, SyncOptions, Tool,
    cache::Origin,
    locate,
    provider::{Elsewhere, sync_time_provider, write_cli_config},
    release, sync,
};

/// The user's cache.
pub(crate) fn cache() -> Cache {
    let variable = |name| std::env::var_os(name);
    Cache::of_user(
        variable("XDG_CACHE_HOME").as_deref(),
        variable("HOME").as_deref(),
    )
    .expect("tests run with a home")
}

pub(crate) fn search() -> Search {
    Search {
        configured: Default::default(),
        cache: cache(),
        search_path: std::env::var_os("PATH").unwrap_or_default(),
    }
}

/// A tool from the cache, obtained if it is not there.
pub(crate) fn tool(tool: Tool) -> Located {
    static SYNCED: OnceLock<()> = OnceLock::new();
    SYNCED.get_or_init(|| {
        let options = SyncOptions {
            from: None,
            offline: false,
            releases: release::pinned(),
            ca_bundle: None,
            search_path: search().search_path,
        };
        let synced = sync(&Tool::OBTAINABLE, &cache(), &options, &mut |_| {}).unwrap();
        for one in synced {
            if let Err(error) = one.outcome {
                panic!("`{}` cannot be had: {error}", one.tool);
            }
        }
    });
    locate(tool, &search()).unwrap()
}

#[test]
fn obtained_tools_are_found_in_the_cache_and_say_the_pinned_version() {
    for wanted in Tool::OBTAINABLE {
        let located = tool(wanted);
        assert_eq!(located.place, Place::Cache);
        assert_eq!(
            located.version.unwrap().to_string(),
            wanted.pinned().unwrap()
        );
        assert!(cache().origin(wanted).is_some());
    }
    assert_eq!(tool(Tool::Tofu).product, Product::OpenTofu);
    let mut command = Command::new(tool(Tool::Tofu).path);
    let says = command.arg("version").env_clear().output().unwrap();
    let says = String::from_utf8(says.stdout).unwrap();
    assert!(says.starts_with("OpenTofu v1.12.6\n"), "{says}");
}

#[test]
fn checkov_keeps_to_its_own_packages() {
    let checkov = tool(Tool::Checkov);
    assert!(matches!(
        cache().origin(Tool::Checkov),
        Some(Origin::PythonPackages { .. })
    ));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("checkov.py"), "raise SystemExit(9)\n").unwrap();
    let output = Command::new(&checkov.path)
        .arg("--version")
        .env("PYTHONPATH", folder.path())
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "3.3.30");
}

#[test]
fn a_real_provider_comes_from_the_mirror() {
    let search = search();
    let mirror = sync_time_provider(&cache(), &search.search_path, false, &mut |_| {}).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("tofurc");
    write_cli_config(&config, Some(&mirror), Elsewhere::Nowhere).unwrap();
    let root = folder.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(
        root.join("main.tf"),
        r#"
terraform {
  required_providers {
    time = { source = "hashicorp/time", version = "0.14.2" }
  }
}

resource "time_static" "now" {}
"#,
    )
    .unwrap();
    tofu(&root, &config, &["init", "-input=false"]);
    tofu(&root, &config, &["apply", "-auto-approve", "-input=false"]);
    assert!(root.join(".terraform.lock.hcl").is_file());
    let state = fs::read_to_string(root.join("terraform.tfstate")).unwrap();
    assert!(state.contains("time_static"), "{state}");
}

fn tofu(root: &Path, config: &PathBuf, arguments: &[&str]) {
    let output = Command::new(tool(Tool::Tofu).path)
        .args(arguments)
        .current_dir(root)
        .env("TF_CLI_CONFIG_FILE", config)
        .env("TF_IN_AUTOMATION", "1")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "tofu {arguments:?}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
