//! Finding a tool: the machine configuration, then the cache, then `PATH`.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use super::{
    bounded,
    cache::{Cache, is_executable},
    error::ToolError,
    tool::{Product, Tool},
    version::Version,
};

/// How long a tool may take to say its version. checkov takes seconds on a cold disk.
const VERSION_LIMIT: Duration = Duration::from_secs(60);

/// Where to look.
#[derive(Clone, Debug)]
pub struct Search {
    /// Paths that the machine configuration names.
    pub configured: BTreeMap<Tool, PathBuf>,
    /// The cache of obtained tools.
    pub cache: Cache,
    /// The value of `PATH`.
    pub search_path: OsString,
}

/// Where a tool was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The machine configuration names it.
    Configured,
    /// Obtained by us.
    Cache,
    /// In `PATH`.
    SearchPath,
}

/// A tool that is there and usable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// What was looked for.
    pub tool: Tool,
    /// What it really is.
    pub product: Product,
    /// The program, an absolute path with links resolved.
    pub path: PathBuf,
    /// Its version; `None` where nobody asked it (see [`Located::ask_version`]).
    pub version: Option<Version>,
    /// Where it was found.
    pub place: Place,
    /// Files and folders that a sandbox must show, read-only and at the same path, beside the
    /// system's own, for the program to work.
    pub needs: Vec<PathBuf>,
}

/// Finds a tool and sees to it that it is not too old. Fast: a tool from the cache is not run, one
/// from elsewhere only where a minimum version or the product is in question.
///
/// # Errors
/// *Missing*, *configured but unusable*, *too old*, or it does not say its version.
pub fn locate(tool: Tool, search: &Search) -> Result<Located, ToolError> {
    let (path, place) = find(tool, search)?;
    let path = path
        .canonicalize()
        .map_err(|source| ToolError::run(path.display().to_string(), source))?;
    let mut located = Located {
        tool,
        product: Product::Itself,
        needs: needs(&path, tool, place, search),
        version: None,
        place,
        path,
    };
    match (tool, place) {
        (_, Place::Cache) => {
            located.version = tool.pinned().and_then(Version::in_word);
            if tool == Tool::Tofu {
                located.product = Product::OpenTofu;
            }
        }
        (Tool::Tofu | Tool::Git | Tool::Bwrap, _) => located.ask_version(search)?,
        (Tool::Tflint | Tool::Checkov, _) => {}
    }
    Ok(located)
}

impl Located {
    /// Runs the program to learn its version and product, unless they are known.
    ///
    /// # Errors
    /// The program does not run, does not say its version, or is too old.
    pub fn ask_version(&mut self, search: &Search) -> Result<(), ToolError> {
        if self.version.is_none() {
            let (product, version) = ask(self.tool, &self.path, &search.search_path)?;
            self.product = product;
            self.version = Some(version);
        }
        match (self.version, self.tool.minimum(self.product)) {
            (Some(found), Some(minimum)) if found < minimum => Err(ToolError::TooOld {
                tool: self.tool,
                path: self.path.clone(),
                found,
                minimum,
            }),
            _ => Ok(()),
        }
    }
}

fn find(tool: Tool, search: &Search) -> Result<(PathBuf, Place), ToolError> {
    if let Some(path) = search.configured.get(&tool) {
        if !is_executable(path) {
            return Err(ToolError::ConfiguredUnusable {
                tool,
                path: path.clone(),
            });
        }
        return Ok((path.clone(), Place::Configured));
    }
    if let Some(path) = search.cache.program(tool) {
        return Ok((path, Place::Cache));
    }
    // Every folder for `tofu` before any for `terraform`: the name decides, not the order of PATH.
    tool.executables()
        .iter()
        .find_map(|name| in_search_path(name, &search.search_path))
        .map(|path| (path, Place::SearchPath))
        .ok_or(ToolError::Missing { tool })
}

/// The first executable of a name in the absolute folders of a `PATH`.
pub(crate) fn in_search_path(name: &str, search_path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(search_path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|path| is_executable(path))
}

/// Asks a program what it is.
pub(super) fn ask(
    tool: Tool,
    path: &Path,
    search_path: &OsStr,
) -> Result<(Product, Version), ToolError> {
    let argument = match tool {
        Tool::Tofu => "version",
        Tool::Tflint | Tool::Checkov | Tool::Git | Tool::Bwrap => "--version",
    };
    let mut command = Command::new(path);
    // An empty environment: no TF_CLI_ARGS, TF_LOG or plugin settings can change the answer.
    command
        .arg(argument)
        .env_clear()
        .env("PATH", search_path)
        .env("CHECKPOINT_DISABLE", "1")
        .env("HOME", "/nonexistent")
        .current_dir("/");
    let finished = bounded::run(&mut command, VERSION_LIMIT)
        .map_err(|source| ToolError::run(path.display().to_string(), source))?;
    let first = finished.stdout.lines().next().unwrap_or_default();
    let product = match tool {
        Tool::Tofu if first.starts_with("OpenTofu ") => Some(Product::OpenTofu),
        Tool::Tofu if first.starts_with("Terraform ") => Some(Product::Terraform),
        Tool::Tofu => None,
        Tool::Tflint | Tool::Checkov | Tool::Git | Tool::Bwrap => Some(Product::Itself),
    };
    match (product, Version::in_line(first)) {
        (Some(product), Some(version)) if finished.status.success() => Ok((product, version)),
        _ => Err(ToolError::NoVersion {
            path: path.to_owned(),
            said: first_words(&finished),
        }),
    }
}

fn first_words(finished: &bounded::Finished) -> String {
    let said = if finished.stdout.trim().is_empty() {
        &finished.stderr
    } else {
        &finished.stdout
    };
    said.trim().chars().take(120).collect()
}

/// Folders that every sandbox shows.
const SYSTEM: [&str; 5] = ["/usr", "/bin", "/sbin", "/lib", "/lib64"];

fn is_of_system(path: &Path) -> bool {
    SYSTEM.iter().any(|folder| path.starts_with(folder))
}

fn needs(path: &Path, tool: Tool, place: Place, search: &Search) -> Vec<PathBuf> {
    let mut needs = Vec::new();
    let cached = match place {
        Place::Cache => search.cache.folder(tool),
        Place::Configured | Place::SearchPath => None,
    };
    // The venv is beside `bin` in our cache, and around `bin` in one made by hand.
    let (whole, venv) = match cached.and_then(|folder| folder.canonicalize().ok()) {
        Some(folder) => (folder.clone(), Some(folder.join("venv"))),
        None => {
            let around = path.parent().and_then(Path::parent).map(Path::to_owned);
            match around.filter(|folder| folder.join("pyvenv.cfg").is_file()) {
                Some(folder) => (folder.clone(), Some(folder)),
                None => (path.to_owned(), None),
            }
        }
    };
    if !is_of_system(&whole) {
        needs.push(whole);
    }
    let python = venv.and_then(|venv| venv.join("bin/python").canonicalize().ok());
    if let Some(python) = python.filter(|python| !is_of_system(python)) {
        // <prefix>/bin/python3 needs <prefix>/lib.
        needs.extend(python.parent().and_then(Path::parent).map(Path::to_owned));
    }
    needs
}

/// What is known of a tool.
#[derive(Debug)]
pub struct Listed {
    /// Which one.
    pub tool: Tool,
    /// What needs it.
    pub needed_by: &'static str,
    /// Where it is, its version included; or why it cannot be used.
    pub found: Result<Located, ToolError>,
}

/// What is known of every tool. Runs each one that does not come from the cache.
#[must_use]
pub fn list(search: &Search) -> Vec<Listed> {
    Tool::ALL
        .into_iter()
        .map(|tool| Listed {
            tool,
            needed_by: tool.needed_by(),
            found: locate(tool, search).and_then(|mut located| {
                located.ask_version(search)?;
                Ok(located)
            }),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt as _};

    struct Machine {
        folder: tempfile::TempDir,
    }

    impl Machine {
        fn new() -> Self {
            Machine {
                folder: tempfile::tempdir().unwrap(),
            }
        }

        fn program(&self, path: &str, script: &str) -> PathBuf {
            let path = self.folder.path().canonicalize().unwrap().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        }

        fn search(&self, folders: &[&str]) -> Search {
            let folders = folders.iter().map(|name| self.folder.path().join(name));
            Search {
                configured: BTreeMap::new(),
                cache: Cache::new(self.folder.path().join("cache")),
                search_path: std::env::join_paths(folders).unwrap(),
            }
        }
    }

    #[test]
    fn the_configuration_comes_before_the_cache_and_the_cache_before_path() {
        let machine = Machine::new();
        let mut search = machine.search(&["bin"]);
        let error = locate(Tool::Tofu, &search).unwrap_err();
        assert!(matches!(error, ToolError::Missing { tool: Tool::Tofu }));
        let in_path = machine.program("bin/tofu", "echo OpenTofu v1.10.2");
        let located = locate(Tool::Tofu, &search).unwrap();
        assert_eq!(located.path, in_path);
        assert_eq!(located.place, Place::SearchPath);
        assert_eq!(located.version, Some(Version::new(1, 10, 2)));
        assert_eq!(located.needs, [in_path]);
        let cached = machine.program("cache/tools/tofu/1.12.6/bin/tofu", "exit 1");
        let located = locate(Tool::Tofu, &search).unwrap();
        assert_eq!(located.path, cached);
        assert_eq!(located.place, Place::Cache);
        assert_eq!(located.version, Some(Version::new(1, 12, 6)));
        let named = machine.program("elsewhere/tofu", "echo OpenTofu v1.11.0");
        search.configured.insert(Tool::Tofu, named.clone());
        let located = locate(Tool::Tofu, &search).unwrap();
        assert_eq!(located.path, named);
        assert_eq!(located.place, Place::Configured);
    }

    #[test]
    fn a_configured_path_that_is_not_there_is_an_error_even_with_one_in_path() {
        let machine = Machine::new();
        machine.program("bin/tflint", "echo TFLint version 0.64.0");
        let mut search = machine.search(&["bin"]);
        search
            .configured
            .insert(Tool::Tflint, machine.folder.path().join("gone"));
        let error = locate(Tool::Tflint, &search).unwrap_err();
        assert!(matches!(error, ToolError::ConfiguredUnusable { .. }));
        assert_eq!(
            error.hint().unwrap(),
            "correct or remove `tools.tflint` in the machine configuration"
        );
    }

    #[test]
    fn tofu_comes_before_terraform_in_any_order_of_folders() {
        let machine = Machine::new();
        machine.program("first/terraform", "echo Terraform v1.11.4");
        let tofu = machine.program("second/tofu", "echo OpenTofu v1.12.6");
        let search = machine.search(&["first", "second"]);
        assert_eq!(locate(Tool::Tofu, &search).unwrap().path, tofu);
    }

    #[test]
    fn terraform_is_named_as_what_it_is_under_either_name() {
        let machine = Machine::new();
        machine.program("a/terraform", "echo Terraform v1.5.0");
        machine.program("b/tofu", "echo Terraform v1.11.4; echo on linux_amd64");
        for folder in ["a", "b"] {
            let located = locate(Tool::Tofu, &machine.search(&[folder])).unwrap();
            assert_eq!(located.product.name(located.tool), "Terraform", "{folder}");
        }
    }

    #[test]
    fn what_is_too_old_is_refused_with_both_versions() {
        let machine = Machine::new();
        machine.program("bin/terraform", "echo Terraform v1.4.7");
        machine.program("bin/git", "echo git version 2.38.9");
        let search = machine.search(&["bin"]);
        for (tool, found, minimum) in [
            (Tool::Tofu, "1.4.7", "1.5.0"),
            (Tool::Git, "2.38.9", "2.39.0"),
        ] {
            let message = locate(tool, &search).unwrap_err().to_string();
            assert!(message.contains(found), "{message}");
            assert!(message.contains(minimum), "{message}");
        }
    }

    #[test]
    fn a_wrapper_that_prints_lines_of_its_own_is_found_out() {
        let machine = Machine::new();
        machine.program(
            "bin/tofu",
            "echo '[command] tofu version'; echo OpenTofu v1.12.6",
        );
        let error = locate(Tool::Tofu, &machine.search(&["bin"])).unwrap_err();
        assert!(error.to_string().contains("[command] tofu version"));
        assert!(error.hint().unwrap().contains("wrapper"));
    }

    #[test]
    fn settings_of_the_caller_do_not_reach_the_question() {
        let machine = Machine::new();
        machine.program(
            "bin/tofu",
            "if env | grep -q ^TF_; then exit 1; fi; echo OpenTofu v1.12.6",
        );
        let search = machine.search(&["bin", "/usr/bin", "/bin"]);
        locate(Tool::Tofu, &search).unwrap();
    }

    #[test]
    fn a_virtual_environment_is_needed_whole_with_its_python() {
        let machine = Machine::new();
        machine.program("venv/bin/checkov", "echo 3.3.30");
        fs::write(machine.folder.path().join("venv/pyvenv.cfg"), "").unwrap();
        machine.program("python/bin/python3", "exit 0");
        let root = machine.folder.path().canonicalize().unwrap();
        std::os::unix::fs::symlink(
            root.join("python/bin/python3"),
            root.join("venv/bin/python"),
        )
        .unwrap();
        let located = locate(Tool::Checkov, &machine.search(&["venv/bin"])).unwrap();
        assert_eq!(located.needs, [root.join("venv"), root.join("python")]);
    }

    #[test]
    fn every_tool_is_listed_with_what_needs_it() {
        let machine = Machine::new();
        machine.program("bin/bwrap", "echo bubblewrap 0.8.0");
        let listed = list(&machine.search(&["bin"]));
        assert_eq!(listed.len(), Tool::ALL.len());
        for entry in &listed {
            assert!(!entry.needed_by.is_empty());
            match (&entry.found, entry.tool) {
                (Ok(located), Tool::Bwrap) => {
                    assert_eq!(located.version, Some(Version::new(0, 8, 0)));
                }
                (Err(error), tool) => {
                    assert!(tool != Tool::Bwrap, "{error}");
                    assert!(error.hint().unwrap().contains(tool.way_out()));
                }
                (Ok(located), _) => panic!("{located:?} is not on this machine"),
            }
        }
    }
}
