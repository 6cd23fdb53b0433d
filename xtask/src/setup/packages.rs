//! The system's packages that tests need.

use std::path::Path;

use crate::{
    failure::{Failure, Outcome},
    process,
};

/// A package and how to see that what it brings is there.
struct Package {
    name: &'static str,
    needed_for: &'static str,
    present: fn() -> bool,
}

const PACKAGES: [Package; 7] = [
    Package {
        name: "git",
        needed_for: "checkouts, and the list of files",
        present: || process::is_installed("git"),
    },
    Package {
        name: "bubblewrap",
        needed_for: "the sandbox of steps",
        present: || process::is_installed("bwrap"),
    },
    Package {
        name: "busybox-static",
        needed_for: "the shell of the `alpine` and `busybox` images",
        present: || process::is_installed("busybox"),
    },
    Package {
        name: "openssh-client",
        needed_for: "cloning over SSH",
        present: || process::is_installed("ssh") && process::is_installed("ssh-keygen"),
    },
    Package {
        name: "openssh-server",
        needed_for: "the loopback server that clones are tested against",
        present: || process::is_installed("sshd"),
    },
    Package {
        name: "python3-venv",
        needed_for: "checkov and the gate's own tools",
        present: python_makes_environments,
    },
    Package {
        name: "ca-certificates",
        needed_for: "downloads over TLS",
        present: || Path::new("/etc/ssl/certs/ca-certificates.crt").exists(),
    },
];

fn python_makes_environments() -> bool {
    let mut python = process::program("python3", Path::new("/"));
    process::succeeds(python.args(["-c", "import ensurepip, venv"]))
}

/// Installs what is missing, or says what is and how to install it.
pub(crate) fn install_missing() -> Outcome {
    let missing: Vec<&Package> = PACKAGES
        .iter()
        .filter(|package| !(package.present)())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    for package in &missing {
        println!("missing: {} ({})", package.name, package.needed_for);
    }
    let names: Vec<&str> = missing.iter().map(|package| package.name).collect();
    let Some(rights) = Rights::here() else {
        return Err(by_hand(&names));
    };
    let update = process::run(rights.apt_get(&["update"]).env("LC_ALL", "C"));
    if let Err(failure) = update {
        println!("{failure}; going on with the lists that are there");
    }
    let words = [
        &["install", "--yes", "--no-install-recommends"],
        names.as_slice(),
    ]
    .concat();
    process::run(&mut rights.apt_get(&words)).map_err(|_| by_hand(&names))?;
    match PACKAGES.iter().find(|package| !(package.present)()) {
        None => Ok(()),
        Some(package) => Err(Failure::new(format!(
            "`{}` was installed and what it brings is still missing",
            package.name
        ))),
    }
}

fn by_hand(names: &[&str]) -> Failure {
    Failure::new(format!("the tests need {}", names.join(", "))).hint(format!(
        "as root: apt-get install --no-install-recommends {}; on another system, its packages of \
         the same programs",
        names.join(" ")
    ))
}

/// How packages can be installed here.
enum Rights {
    Root,
    Sudo,
}

impl Rights {
    /// None where there is no apt or neither right.
    fn here() -> Option<Rights> {
        let anywhere = Path::new("/");
        if !process::is_installed("apt-get") {
            return None;
        }
        let id = process::output(process::program("id", anywhere).arg("-u")).ok()?;
        if id.trim_ascii() == b"0" {
            return Some(Rights::Root);
        }
        process::succeeds(process::program("sudo", anywhere).args(["-n", "true"]))
            .then_some(Rights::Sudo)
    }

    fn apt_get(&self, words: &[&str]) -> std::process::Command {
        let anywhere = Path::new("/");
        let mut command = match self {
            Rights::Root => process::program("apt-get", anywhere),
            Rights::Sudo => {
                let mut sudo = process::program("sudo", anywhere);
                sudo.args(["-n", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
                sudo
            }
        };
        command.env("DEBIAN_FRONTEND", "noninteractive").args(words);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_be_done_by_hand_is_one_line_to_type() {
        let text = by_hand(&["bubblewrap", "busybox-static"]).to_string();
        assert!(
            text.contains("apt-get install --no-install-recommends bubblewrap busybox-static;")
        );
    }
}
