//! Test data that lies beside the repository, where it is present.

#![expect(
    clippy::disallowed_methods,
    reason = "the data lie beside the workspace"
)]

use std::path::{Path, PathBuf};

use groundplan_workflow::read::SourceFile;

/// The path of this name in the shared data, or `None` with a word on standard error.
pub(crate) fn path(name: &str) -> Option<PathBuf> {
    let root = match std::env::var_os("GROUNDPLAN_SHARED") {
        Some(path) => PathBuf::from(path),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
    };
    let path = root.join(name);
    if path.exists() {
        Some(path)
    } else {
        say(&format!("not run: no test data at `{}`", path.display()));
        None
    }
}

/// The text of a file.
pub(crate) fn text(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a file of the shared data is text")
}

/// Every document of a folder, in order of the names.
pub(crate) fn documents(folder: &Path) -> Vec<SourceFile> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a folder of the shared data can be read")
        .map(|entry| entry.expect("an entry can be read").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "yaml")
        })
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let name = path
                .file_name()
                .expect("a file has a name")
                .to_string_lossy();
            SourceFile::new(name, text(path))
        })
        .collect()
}

/// A line for the person who reads the test's output.
#[expect(
    clippy::print_stderr,
    reason = "a test says what it measured and what it did not run"
)]
pub(crate) fn say(line: &str) {
    eprintln!("{line}");
}
