//! Providers from a folder of this machine, and the configuration file that says so.

use std::{
    ffi::OsStr,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use super::{
    cache::Cache,
    error::ToolError,
    go_modules::{self, Fetching},
    progress::{Progress, Tell},
    release::this_target,
};

/// The version of the time provider that is built.
pub const TIME_PROVIDER_VERSION: &str = "0.14.2";

/// The addresses that the time provider is served as: OpenTofu's and Terraform's.
const TIME_PROVIDER: [&str; 2] = [
    "registry.opentofu.org/hashicorp/time",
    "registry.terraform.io/hashicorp/time",
];

/// Builds the official time provider from its Go module into the cache's filesystem mirror, unless
/// it is there. Answers the mirror's folder. It is what tests and examples use as a real provider.
///
/// # Errors
/// No Go toolchain, the build fails, or the cache cannot be written.
pub fn sync_time_provider(
    cache: &Cache,
    search_path: &OsStr,
    offline: bool,
    tell: &mut Tell<'_>,
) -> Result<PathBuf, ToolError> {
    let mirror = cache.providers();
    let place = |address: &str| {
        mirror
            .join(address)
            .join(TIME_PROVIDER_VERSION)
            .join(this_target().replace('/', "_"))
    };
    let name = format!("terraform-provider-time_v{TIME_PROVIDER_VERSION}");
    let lock = cache.lock(|| tell(Progress::WaitsForOther))?;
    if TIME_PROVIDER
        .iter()
        .all(|address| place(address).join(&name).is_file())
    {
        return Ok(mirror);
    }
    let go = go_modules::toolchain(search_path)?;
    let fetching = if offline {
        Fetching::Forbidden
    } else {
        Fetching::Allowed
    };
    let work = lock.staging()?;
    let built = lock.staging()?;
    let program = built.path().join(&name);
    go_modules::build(
        go_modules::TIME_PROVIDER,
        &go,
        fetching,
        work.path(),
        &program,
        tell,
    )?;
    for address in TIME_PROVIDER {
        let copy = lock.staging()?;
        let to = copy.path().join(&name);
        fs::hard_link(&program, &to).map_err(|source| ToolError::write(to, source))?;
        copy.publish_bare(&place(address))?;
    }
    tell(Progress::Installed {
        tool: go_modules::TIME_PROVIDER.name,
        version: TIME_PROVIDER_VERSION,
    });
    Ok(mirror)
}

/// Where providers come from beside a filesystem mirror.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// From their registries, those that the mirror does not have.
    Registries,
    /// From nowhere: nothing leaves the machine.
    Nowhere,
}

/// The text of a CLI configuration file (`TF_CLI_CONFIG_FILE`) for OpenTofu and Terraform. Without
/// a mirror it only keeps the tool from asking for news of itself.
#[must_use]
pub fn cli_config(mirror: Option<&Path>, elsewhere: Elsewhere) -> String {
    let mut text = String::from("disable_checkpoint = true\n");
    if mirror.is_none() && elsewhere == Elsewhere::Registries {
        return text;
    }
    text.push_str("provider_installation {\n");
    if let Some(mirror) = mirror {
        let path = quoted(&mirror.display().to_string());
        let include = match elsewhere {
            Elsewhere::Registries => TIME_PROVIDER.map(quoted).join(", "),
            Elsewhere::Nowhere => quoted("*/*/*"),
        };
        let _ = write!(
            text,
            "  filesystem_mirror {{\n    path    = {path}\n    include = [{include}]\n  }}\n"
        );
    }
    if elsewhere == Elsewhere::Registries {
        let exclude = TIME_PROVIDER.map(quoted).join(", ");
        let _ = write!(text, "  direct {{\n    exclude = [{exclude}]\n  }}\n");
    }
    text.push_str("}\n");
    text
}

/// Writes [`cli_config`] to a file.
///
/// # Errors
/// The file cannot be written.
pub fn write_cli_config(
    path: &Path,
    mirror: Option<&Path>,
    elsewhere: Elsewhere,
) -> Result<(), ToolError> {
    fs::write(path, cli_config(mirror, elsewhere)).map_err(|source| ToolError::write(path, source))
}

/// A string as HCL writes it, with nothing in it that would be evaluated.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            // `${` and `%{` begin a template; doubled, they do not.
            '$' | '%' if rest.peek() == Some(&'{') => out.extend([c, c]),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_never_evaluated() {
        assert_eq!(quoted(r#"/a "b" \c"#), r#""/a \"b\" \\c""#);
        assert_eq!(quoted("/${x}/%{y}/$z/50%"), r#""/$${x}/%%{y}/$z/50%""#);
    }
}
