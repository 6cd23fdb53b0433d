//! Tools from official release archives.
//!
//! The digests below are what public lock files of several independent projects agree on for these
//! archives. A digest that is wrong refuses the archive; it never lets another one in. There is no
//! way to take an archive whose digest is not pinned: where none is, Go modules are the way.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::{
    cache::{Origin, Staging},
    download::{Client, Fetched},
    error::ToolError,
    progress::{Progress, Tell, Way},
    tool::Tool,
};

/// Where official releases are.
pub const OFFICIAL: &str = "https://github.com";

/// The most bytes that a program may have.
const PROGRAM_LIMIT: u64 = 1 << 30;

/// An archive that we know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Which tool is in it.
    pub tool: Tool,
    /// For which machine: operating system and architecture as Go names them.
    pub target: String,
    /// Its path below [`OFFICIAL`] or below a mirror of the same layout.
    pub path: String,
    /// Its SHA-256 in hexadecimal.
    pub sha256: String,
}

const PINNED: [(Tool, &str, &str, &str); 4] = [
    (
        Tool::Tofu,
        "linux/amd64",
        "opentofu/opentofu/releases/download/v1.12.6/tofu_1.12.6_linux_amd64.zip",
        "5dc43da4f750f33873dc25e94587128709e819e544b7be9016b255316153c3a8",
    ),
    (
        Tool::Tofu,
        "linux/arm64",
        "opentofu/opentofu/releases/download/v1.12.6/tofu_1.12.6_linux_arm64.zip",
        "e573979ba68a17fe7b881752051a694a7efcd970e39521f6a25775197861ed4d",
    ),
    (
        Tool::Tflint,
        "linux/amd64",
        "terraform-linters/tflint/releases/download/v0.64.0/tflint_linux_amd64.zip",
        "cca9d13e2e1d7a2c627af60ff899a3c9b74212899416aeb96ec764d2ef954537",
    ),
    (
        Tool::Tflint,
        "linux/arm64",
        "terraform-linters/tflint/releases/download/v0.64.0/tflint_linux_arm64.zip",
        "560da89aacf59389d4eb029730dd5b109b7288096c32f2726a0d9e783a5ea8eb",
    ),
];

/// The archives of the pinned versions.
#[must_use]
pub fn pinned() -> Vec<Release> {
    PINNED
        .into_iter()
        .map(|(tool, target, path, sha256)| Release {
            tool,
            target: target.to_owned(),
            path: path.to_owned(),
            sha256: sha256.to_owned(),
        })
        .collect()
}

/// This machine, as Go names it: `linux/amd64`.
#[must_use]
pub fn this_target() -> String {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{}/{architecture}", std::env::consts::OS)
}

/// Where files are taken from instead of the official places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mirror {
    /// An address below which paths are as below [`OFFICIAL`].
    Url(String),
    /// A folder with the same paths, or with the archives side by side; wheels of Python packages
    /// in its folder `wheels`.
    Folder(PathBuf),
}

impl Mirror {
    /// Reads what a person wrote after `--from`.
    #[must_use]
    pub fn from_argument(text: &str) -> Mirror {
        if text.starts_with("http://") || text.starts_with("https://") {
            Mirror::Url(text.trim_end_matches('/').to_owned())
        } else {
            Mirror::Folder(PathBuf::from(text))
        }
    }
}

/// Puts a tool together from its release.
pub(super) fn obtain(
    tool: Tool,
    releases: &[Release],
    mirror: Option<&Mirror>,
    client: &Client,
    staging: &Staging,
    tell: &mut Tell<'_>,
) -> Result<Origin, ToolError> {
    let target = this_target();
    let release = releases
        .iter()
        .find(|release| release.tool == tool && release.target == target)
        .ok_or(ToolError::NoRelease { tool, target })?;
    let archive = staging.path().join("archive.zip");
    let (source, fetched) = match mirror {
        Some(Mirror::Folder(folder)) => copy(folder, release, &archive)?,
        Some(Mirror::Url(base)) => download(base, release, &archive, client, tell)?,
        None => download(OFFICIAL, release, &archive, client, tell)?,
    };
    if fetched.sha256 != release.sha256 {
        return Err(ToolError::WrongDigest {
            url: source,
            expected: release.sha256.clone(),
            actual: fetched.sha256,
        });
    }
    unpack(&archive, tool, &source, &staging.program(tool)?)?;
    fs::remove_file(&archive).map_err(|error| ToolError::write(&archive, error))?;
    Ok(Origin::Release {
        url: source,
        sha256: fetched.sha256,
    })
}

fn download(
    base: &str,
    release: &Release,
    archive: &Path,
    client: &Client,
    tell: &mut Tell<'_>,
) -> Result<(String, Fetched), ToolError> {
    let url = format!("{base}/{}", release.path);
    let tool = release.tool.name();
    tell(Progress::Started {
        tool,
        way: Way::Release,
        from: &url,
    });
    let fetched = client.fetch(&url, archive, &mut |received, total| {
        tell(Progress::Bytes {
            tool,
            received,
            total,
        });
    })?;
    Ok((url, fetched))
}

fn copy(folder: &Path, release: &Release, archive: &Path) -> Result<(String, Fetched), ToolError> {
    let whole = folder.join(&release.path);
    let flat = whole.file_name().map(|name| folder.join(name));
    let source = flat.filter(|_| !whole.exists()).unwrap_or(whole);
    let name = source.display().to_string();
    let from = File::open(&source).map_err(|error| ToolError::run(&name, error))?;
    Fetched::copy(from, archive).map(|fetched| (name, fetched))
}

fn unpack(archive: &Path, tool: Tool, url: &str, program: &Path) -> Result<(), ToolError> {
    let bad = |reason: String| ToolError::Archive {
        url: url.to_owned(),
        member: tool.name().to_owned(),
        reason,
    };
    let file = File::open(archive).map_err(|error| ToolError::write(archive, error))?;
    let mut zip = zip::ZipArchive::new(file).map_err(|error| bad(error.to_string()))?;
    let member = zip
        .by_name(tool.name())
        .map_err(|error| bad(error.to_string()))?;
    if !member.is_file() || member.size() > PROGRAM_LIMIT {
        return Err(bad(format!(
            "it is no file of at most {PROGRAM_LIMIT} bytes"
        )));
    }
    let written = |error| ToolError::write(program, error);
    let mut out = File::create(program).map_err(written)?;
    // One byte more than allowed tells a lying size apart from an honest one.
    let mut limited = io::Read::take(member, PROGRAM_LIMIT + 1);
    let size = copy_telling_apart(&mut limited, &mut out).map_err(|fault| match fault {
        Fault::Read(error) => bad(error.to_string()),
        Fault::Write(error) => written(error),
    })?;
    if size > PROGRAM_LIMIT {
        return Err(bad(format!("it has more than {PROGRAM_LIMIT} bytes")));
    }
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).map_err(written)
}

enum Fault {
    Read(io::Error),
    Write(io::Error),
}

fn copy_telling_apart(from: &mut dyn io::Read, to: &mut dyn io::Write) -> Result<u64, Fault> {
    let mut buffer = vec![0; 128 * 1024];
    let mut size = 0;
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok(size),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Fault::Read(error)),
        };
        to.write_all(&buffer[..count]).map_err(Fault::Write)?;
        size += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pin_is_a_digest_of_the_pinned_version() {
        for release in pinned() {
            let version = release.tool.pinned().unwrap();
            assert!(
                release.path.contains(&format!("/v{version}/")),
                "{release:?}"
            );
            assert!(
                release
                    .path
                    .ends_with(&format!("{}.zip", release.target.replace('/', "_"))),
                "{release:?}"
            );
            assert_eq!(release.sha256.len(), 64);
            assert!(release.sha256.bytes().all(|byte| byte.is_ascii_hexdigit()));
            let same: Vec<_> = pinned()
                .into_iter()
                .filter(|other| other.sha256 == release.sha256)
                .collect();
            assert_eq!(same.len(), 1, "{release:?}");
        }
    }

    #[test]
    fn a_mirror_is_an_address_or_a_folder() {
        assert_eq!(
            Mirror::from_argument("https://mirror.example/github/"),
            Mirror::Url("https://mirror.example/github".to_owned())
        );
        assert_eq!(
            Mirror::from_argument("./files"),
            Mirror::Folder(PathBuf::from("./files"))
        );
    }
}
