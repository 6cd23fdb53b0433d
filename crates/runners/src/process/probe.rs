//! Whether the sandbox works here.

use std::process::{Command, Stdio};

use groundplan_ports::runner::{Capabilities, Isolation};

use super::Options;

/// Tries the sandbox once.
pub(super) fn capabilities(options: &Options) -> Capabilities {
    let tried = Command::new(&options.bubblewrap)
        .args([
            "--unshare-user",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
        ])
        .args(["--cap-drop", "ALL", "--new-session", "--as-pid-1"])
        .args(["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"])
        .args(["--", "true"])
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .stdin(Stdio::null())
        .output();
    let said = match tried {
        Ok(output) if output.status.success() => {
            return Capabilities {
                isolations: vec![Isolation::Sandbox, Isolation::None],
                notices: Vec::new(),
            };
        }
        Ok(output) => match String::from_utf8_lossy(&output.stderr).trim() {
            "" => format!("`{}`: {}", options.bubblewrap.display(), output.status),
            said => said.to_owned(),
        },
        Err(error) => format!("`{}`: {error}", options.bubblewrap.display()),
    };
    Capabilities {
        isolations: vec![Isolation::None],
        notices: vec![format!(
            "the sandbox does not work here: {said}\n\
             hint: `groundplan doctor` says how to make it work"
        )],
    }
}
