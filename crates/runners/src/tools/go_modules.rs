//! Tools built from Go modules.
//!
//! Each has a small module of ours under `tools/` in the repository, whose `go.mod` and `go.sum`
//! pin every version and digest. They are part of this binary, so that an installed one can build
//! without the repository.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use super::{
    bounded,
    error::ToolError,
    locate::in_search_path,
    progress::{Progress, Tell, Way},
    version::Version,
};

/// The oldest toolchain that can fetch the one a module asks for.
const OLDEST: Version = Version::new(1, 21, 0);

/// A module of ours that pins a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Module {
    /// The name to show.
    pub(super) name: &'static str,
    /// The pinned module and version, to show and to note.
    pub(super) pinned: &'static str,
    /// The package to build.
    package: &'static str,
    /// Linker flags.
    linker: &'static str,
    files: [(&'static str, &'static str); 3],
}

macro_rules! files {
    ($folder:literal) => {
        [
            (
                "go.mod",
                include_str!(concat!("../../../../tools/", $folder, "/go.mod")),
            ),
            (
                "go.sum",
                include_str!(concat!("../../../../tools/", $folder, "/go.sum")),
            ),
            (
                "tools.go",
                include_str!(concat!("../../../../tools/", $folder, "/tools.go")),
            ),
        ]
    };
}

/// OpenTofu. Without the flag it calls itself a development version.
pub(super) const TOFU: Module = Module {
    name: "tofu",
    pinned: "github.com/opentofu/opentofu@v1.12.6",
    package: "github.com/opentofu/opentofu/cmd/tofu",
    linker: "-s -w -X github.com/opentofu/opentofu/version.dev=no",
    files: files!("tofu"),
};

/// tflint.
pub(super) const TFLINT: Module = Module {
    name: "tflint",
    pinned: "github.com/terraform-linters/tflint@v0.64.0",
    package: "github.com/terraform-linters/tflint",
    linker: "-s -w",
    files: files!("tflint"),
};

/// The time provider.
pub(super) const TIME_PROVIDER: Module = Module {
    name: "provider time",
    pinned: "github.com/hashicorp/terraform-provider-time@v0.14.2",
    package: "github.com/hashicorp/terraform-provider-time",
    linker: "-s -w",
    files: files!("provider-time"),
};

/// Whether modules may be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fetching {
    /// Yes.
    Allowed,
    /// Only what Go has already is used.
    Forbidden,
}

/// The Go toolchain of a `PATH`.
pub(super) fn toolchain(search_path: &OsStr) -> Result<PathBuf, ToolError> {
    let go = in_search_path("go", search_path).ok_or(ToolError::NoGo)?;
    let mut command = Command::new(&go);
    command
        .arg("version")
        .env("GOTOOLCHAIN", "local")
        .current_dir("/");
    let finished = bounded::run(&mut command, Duration::from_secs(60))
        .map_err(|source| ToolError::run("go version", source))?;
    match Version::in_line(&finished.stdout) {
        Some(found) if found >= OLDEST => Ok(go),
        found => Err(ToolError::GoTooOld {
            found,
            minimum: OLDEST,
        }),
    }
}

/// Builds a module's program into the file `to`. `work` is an empty folder for its sources.
pub(super) fn build(
    module: Module,
    go: &Path,
    fetching: Fetching,
    work: &Path,
    to: &Path,
    tell: &mut Tell<'_>,
) -> Result<(), ToolError> {
    for (name, content) in module.files {
        let path = work.join(name);
        fs::write(&path, content).map_err(|source| ToolError::write(path, source))?;
    }
    tell(Progress::Started {
        tool: module.name,
        way: Way::GoModules,
        from: module.pinned,
    });
    let mut command = Command::new(go);
    command
        .args([
            "build",
            "-v",
            "-mod=readonly",
            "-trimpath",
            "-buildvcs=false",
        ])
        .args(["-ldflags", module.linker])
        .arg("-o")
        .arg(to)
        .arg(module.package)
        .current_dir(work)
        // Official releases are built without C as well; and no compiler for C is needed.
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .env("GO111MODULE", "on")
        .env_remove("GOOS")
        .env_remove("GOARCH")
        .env_remove("GOFLAGS");
    if fetching == Fetching::Forbidden {
        command.env("GOPROXY", "off").env("GOTOOLCHAIN", "local");
    }
    bounded::run_telling("go build", command, &mut |line| {
        tell(Progress::Line {
            tool: module.name,
            line,
        });
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_pin_what_they_say() {
        for module in [TOFU, TFLINT, TIME_PROVIDER] {
            let (path, version) = module.pinned.split_once('@').unwrap();
            let [(_, requirements), (_, sums), _] = module.files;
            assert!(
                requirements.contains(&format!("{path} {version}")),
                "{}",
                module.name
            );
            assert!(
                sums.contains(&format!("{path} {version} h1:")),
                "{}",
                module.name
            );
            assert!(module.package.starts_with(path), "{}", module.name);
        }
    }
}
