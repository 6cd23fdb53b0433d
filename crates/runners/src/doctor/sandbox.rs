//! Whether bubblewrap can make a sandbox here, and if not, what forbids it.

use std::{
    io,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use super::{Check, Machine, Verdict, read};
use crate::tools::{Tool, ToolError, locate, run_bounded};

const LIMIT: Duration = Duration::from_secs(20);

/// What came of trying to make a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SandboxStatus {
    /// A command ran in one.
    Works,
    /// This is not Linux.
    NotLinux {
        /// What it is.
        system: String,
    },
    /// There is no bubblewrap.
    Missing,
    /// AppArmor keeps unprivileged programs from having namespaces, as on Ubuntu since 23.10.
    ForbiddenByAppArmor {
        /// The program.
        bwrap: PathBuf,
        /// What it said.
        said: String,
    },
    /// The container that we run in forbids it.
    ForbiddenByContainer {
        /// Which kind of container.
        container: Container,
        /// What bubblewrap said.
        said: String,
    },
    /// A setting of the kernel forbids it.
    ForbiddenByKernel {
        /// The name of the setting as `sysctl` writes it.
        setting: &'static str,
        /// What bubblewrap said.
        said: String,
    },
    /// It fails for another reason.
    Broken {
        /// The program.
        bwrap: PathBuf,
        /// What it said, or why it could not be run.
        said: String,
    },
}

/// A kind of container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// Docker.
    Docker,
    /// Podman.
    Podman,
    /// A pod of Kubernetes.
    Kubernetes,
    /// Something else, such as LXC or systemd-nspawn.
    Other,
}

/// What the machine says of itself that explains a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Facts {
    apparmor_restricts: bool,
    container: Option<Container>,
    forbidding_setting: Option<&'static str>,
}

impl Facts {
    fn read(root: &Path) -> Self {
        let number = |path: &str| read(root, path)?.parse::<u64>().ok();
        let restricts = number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
        let forbidding_setting = [
            (
                "user.max_user_namespaces",
                "/proc/sys/user/max_user_namespaces",
            ),
            (
                "kernel.unprivileged_userns_clone",
                "/proc/sys/kernel/unprivileged_userns_clone",
            ),
        ]
        .into_iter()
        .find(|(_, path)| number(path) == Some(0))
        .map(|(name, _)| name);
        Facts {
            apparmor_restricts: restricts.is_some_and(|value| value != 0),
            container: Container::around(root),
            forbidding_setting,
        }
    }
}

impl Container {
    /// The container that a machine with this root is in, if it is in one.
    pub(super) fn around(root: &Path) -> Option<Self> {
        let is_there = |path: &str| root.join(path).exists();
        let group = read(root, "/proc/1/cgroup").unwrap_or_default();
        if is_there("run/secrets/kubernetes.io") || group.contains("kubepods") {
            Some(Container::Kubernetes)
        } else if is_there("run/.containerenv") {
            Some(Container::Podman)
        } else if is_there(".dockerenv") || group.contains("docker") {
            Some(Container::Docker)
        } else if is_there("run/systemd/container") || group.contains("lxc") {
            Some(Container::Other)
        } else {
            None
        }
    }
}

/// Tries to run a command in a sandbox such as a step gets. Takes some milliseconds; killed after
/// 20 seconds.
#[must_use]
pub fn probe(bwrap: &Path) -> SandboxStatus {
    probe_on(bwrap, Path::new("/"))
}

/// [`probe`], with the machine's own files read from below `root`.
fn probe_on(bwrap: &Path, root: &Path) -> SandboxStatus {
    if !cfg!(target_os = "linux") {
        return SandboxStatus::NotLinux {
            system: std::env::consts::OS.to_owned(),
        };
    }
    let mut command = Command::new(bwrap);
    command
        .args(["--unshare-user", "--unshare-pid", "--unshare-ipc"])
        .args(["--unshare-uts", "--cap-drop", "ALL", "--new-session"])
        .args(["--tmpfs", "/", "--ro-bind", "/usr", "/usr"]);
    for folder in ["/bin", "/sbin", "/lib", "/lib64"] {
        command.args(["--ro-bind-try", folder, folder]);
    }
    command
        .args(["--proc", "/proc", "--dev", "/dev", "--chdir", "/"])
        .args(["--", "/bin/sh", "-c", ":"])
        .env_clear();
    match run_bounded(&mut command, LIMIT) {
        Ok(finished) if finished.status.success() => SandboxStatus::Works,
        Ok(finished) => explain(bwrap, finished.stderr.trim(), &Facts::read(root)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => SandboxStatus::Missing,
        Err(error) => SandboxStatus::Broken {
            bwrap: bwrap.to_owned(),
            said: error.to_string(),
        },
    }
}

/// That it fails is known from its exit status; its words only help to say why.
fn explain(bwrap: &Path, said: &str, facts: &Facts) -> SandboxStatus {
    let said = said.chars().take(300).collect::<String>();
    // AppArmor lets the namespace be made and then takes every capability in it away.
    let powerless = said.contains("setting up uid map") || said.contains("RTM_NEWADDR");
    let by_apparmor = SandboxStatus::ForbiddenByAppArmor {
        bwrap: bwrap.to_owned(),
        said: said.clone(),
    };
    match *facts {
        Facts {
            forbidding_setting: Some(setting),
            ..
        } => SandboxStatus::ForbiddenByKernel { setting, said },
        Facts {
            apparmor_restricts: true,
            ..
        } if powerless => by_apparmor,
        Facts {
            container: Some(container),
            ..
        } => SandboxStatus::ForbiddenByContainer { container, said },
        Facts {
            apparmor_restricts: true,
            ..
        } => by_apparmor,
        Facts { .. } => SandboxStatus::Broken {
            bwrap: bwrap.to_owned(),
            said,
        },
    }
}

impl SandboxStatus {
    /// Whether steps can be sandboxed.
    #[must_use]
    pub fn works(&self) -> bool {
        *self == SandboxStatus::Works
    }

    /// What was seen: a lowercase fragment without final stop.
    #[must_use]
    pub fn seen(&self) -> String {
        let with = |what: String, said: &str| {
            if said.is_empty() {
                what
            } else {
                format!("{what} (it said `{said}`)")
            }
        };
        match self {
            SandboxStatus::Works => "bubblewrap makes sandboxes".to_owned(),
            SandboxStatus::NotLinux { system } => {
                format!("steps are sandboxed on Linux only, and this is `{system}`")
            }
            SandboxStatus::Missing => "bubblewrap (`bwrap`) is not installed".to_owned(),
            SandboxStatus::ForbiddenByAppArmor { said, .. } => with(
                "AppArmor forbids bubblewrap to make user namespaces".to_owned(),
                said,
            ),
            SandboxStatus::ForbiddenByContainer { container, said } => with(
                format!("{} forbids bubblewrap to make namespaces", container.name()),
                said,
            ),
            SandboxStatus::ForbiddenByKernel { setting, said } => with(
                format!("the kernel setting `{setting}` is 0, which forbids user namespaces"),
                said,
            ),
            SandboxStatus::Broken { bwrap, said } => {
                with(format!("`{}` fails", bwrap.display()), said)
            }
        }
    }

    /// Lines that put it right, to be typed as they are; those that begin with `#` explain.
    #[must_use]
    pub fn fix(&self) -> Vec<String> {
        let lines: &[&str] = match self {
            SandboxStatus::Works => &[],
            SandboxStatus::NotLinux { .. } => &[
                "# Run Groundplan on a Linux machine or in a Linux virtual machine,",
                "# or run a document that you trust without a sandbox: groundplan run --no-sandbox FILE",
            ],
            SandboxStatus::Missing => &["sudo apt-get install bubblewrap"],
            SandboxStatus::ForbiddenByAppArmor { bwrap, .. } => return apparmor_profile(bwrap),
            SandboxStatus::ForbiddenByContainer { container, .. } => container.fix(),
            SandboxStatus::ForbiddenByKernel { setting, .. } => {
                let value = match *setting {
                    "user.max_user_namespaces" => "15000",
                    _ => "1",
                };
                return vec![
                    "# In a container, do this on the host.".to_owned(),
                    format!(
                        "echo '{setting} = {value}' | sudo tee /etc/sysctl.d/90-groundplan.conf"
                    ),
                    "sudo sysctl --system".to_owned(),
                ];
            }
            SandboxStatus::Broken { .. } => &[
                "# See what it says by itself:",
                "bwrap --unshare-user --unshare-pid --ro-bind / / --proc /proc --dev /dev true",
            ],
        };
        lines.iter().map(|&line| line.to_owned()).collect()
    }
}

/// A profile that lets this one program have user namespaces and restricts nothing else.
fn apparmor_profile(bwrap: &Path) -> Vec<String> {
    let path = bwrap.display();
    vec![
        "# Let bubblewrap, and nothing else, make user namespaces:".to_owned(),
        "sudo tee /etc/apparmor.d/bwrap >/dev/null <<'EOF'".to_owned(),
        "abi <abi/4.0>,".to_owned(),
        "include <tunables/global>".to_owned(),
        format!("profile bwrap {path} flags=(unconfined) {{"),
        "  userns,".to_owned(),
        "}".to_owned(),
        "EOF".to_owned(),
        "sudo apparmor_parser -r /etc/apparmor.d/bwrap".to_owned(),
    ]
}

impl Container {
    fn name(self) -> &'static str {
        match self {
            Container::Docker => "the Docker container around us",
            Container::Podman => "the Podman container around us",
            Container::Kubernetes => "the pod around us",
            Container::Other => "the container around us",
        }
    }

    fn fix(self) -> &'static [&'static str] {
        match self {
            Container::Docker => &[
                "# Start the container with these options (they loosen its own walls):",
                "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined …",
            ],
            Container::Podman => &[
                "# Start the container with these options (they loosen its own walls):",
                "podman run --security-opt seccomp=unconfined --security-opt unmask=ALL --security-opt label=disable …",
            ],
            Container::Kubernetes => &[
                "# Give the container this security context (it loosens its own walls):",
                "#   securityContext: { procMount: Unmasked, seccompProfile: { type: Unconfined }, appArmorProfile: { type: Unconfined } }",
                "#   and the pod: hostUsers: false",
            ],
            Container::Other => &[
                "# Allow nested containers: for LXC and Incus, on the host, with the container's name:",
                "incus config set NAME security.nesting true",
            ],
        }
    }
}

pub(super) fn check(machine: &Machine) -> Check {
    let status = match locate(Tool::Bwrap, &machine.search) {
        Ok(located) => probe_on(&located.path, &machine.root),
        Err(ToolError::Missing { .. }) if cfg!(target_os = "linux") => SandboxStatus::Missing,
        Err(ToolError::Missing { .. }) => SandboxStatus::NotLinux {
            system: std::env::consts::OS.to_owned(),
        },
        Err(error) => {
            return Check::new("sandbox", Verdict::Failure, error.to_string())
                .with_fix(error.hint().map(|hint| format!("# {hint}")));
        }
    };
    let verdict = if status.works() {
        Verdict::Ok
    } else {
        Verdict::Failure
    };
    Check::new("sandbox", verdict, status.seen()).with_fix(status.fix())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt as _};

    /// A machine whose files say what they are given, and a bubblewrap that fails in a way.
    fn on(files: &[(&str, &str)], script: &str) -> SandboxStatus {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let bwrap = folder.path().join("bwrap");
        fs::write(&bwrap, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&bwrap, fs::Permissions::from_mode(0o755)).unwrap();
        probe_on(&bwrap, folder.path())
    }

    const APPARMOR: (&str, &str) = (
        "proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1\n",
    );
    const NO_UID_MAP: &str = "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1";
    const NO_NAMESPACE: &str = "echo 'bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.' >&2; exit 1";

    #[test]
    fn ubuntu_with_apparmor_is_told_with_a_profile_for_this_program() {
        let status = on(&[APPARMOR], NO_UID_MAP);
        let SandboxStatus::ForbiddenByAppArmor { bwrap, .. } = &status else {
            panic!("{status:?}")
        };
        assert!(
            status.seen().contains("setting up uid map"),
            "{}",
            status.seen()
        );
        let fix = status.fix().join("\n");
        assert!(
            fix.contains(&format!("profile bwrap {}", bwrap.display())),
            "{fix}"
        );
        assert!(fix.contains("  userns,\n"), "{fix}");
        assert!(
            fix.ends_with("apparmor_parser -r /etc/apparmor.d/bwrap"),
            "{fix}"
        );
    }

    #[test]
    fn each_container_is_told_with_its_own_options() {
        let check = |files: &[(&str, &str)], container: Container, option: &str| {
            let status = on(files, NO_NAMESPACE);
            assert!(
                matches!(status, SandboxStatus::ForbiddenByContainer { container: found, .. } if found == container),
                "{status:?}"
            );
            assert!(
                status.fix().join("\n").contains(option),
                "{:?}",
                status.fix()
            );
        };
        check(&[(".dockerenv", "")], Container::Docker, "docker run");
        check(
            &[("run/.containerenv", "")],
            Container::Podman,
            "podman run",
        );
        check(
            &[("proc/1/cgroup", "0::/kubepods.slice/pod1\n")],
            Container::Kubernetes,
            "procMount: Unmasked",
        );
        check(
            &[("run/systemd/container", "lxc\n")],
            Container::Other,
            "security.nesting",
        );
        // On Ubuntu, a container that blocks the call itself is the nearer cause.
        check(
            &[APPARMOR, (".dockerenv", "")],
            Container::Docker,
            "docker run",
        );
    }

    #[test]
    fn apparmor_of_the_host_is_told_within_a_container() {
        let status = on(&[APPARMOR, (".dockerenv", "")], NO_UID_MAP);
        assert!(
            matches!(status, SandboxStatus::ForbiddenByAppArmor { .. }),
            "{status:?}"
        );
    }

    #[test]
    fn a_kernel_setting_is_told_by_its_name() {
        for (path, setting) in [
            (
                "proc/sys/user/max_user_namespaces",
                "user.max_user_namespaces",
            ),
            (
                "proc/sys/kernel/unprivileged_userns_clone",
                "kernel.unprivileged_userns_clone",
            ),
        ] {
            let status = on(&[(path, "0\n")], NO_NAMESPACE);
            assert!(status.seen().contains(setting), "{}", status.seen());
            assert!(
                status.fix()[1].starts_with(&format!("echo '{setting} = ")),
                "{:?}",
                status.fix()
            );
            // A setting that allows it explains nothing.
            let status = on(&[(path, "1000\n")], NO_NAMESPACE);
            assert!(matches!(status, SandboxStatus::Broken { .. }), "{status:?}");
        }
    }

    #[test]
    fn other_failures_show_what_bubblewrap_said() {
        let status = on(
            &[],
            "echo 'bwrap: Unknown option --new-session' >&2; exit 1",
        );
        assert!(matches!(status, SandboxStatus::Broken { .. }), "{status:?}");
        assert!(
            status.seen().contains("Unknown option"),
            "{}",
            status.seen()
        );
    }

    #[test]
    fn words_of_failure_with_success_are_success() {
        let status = on(&[APPARMOR], "echo 'bwrap: setting up uid map' >&2; exit 0");
        assert!(status.works());
    }

    #[test]
    fn a_path_that_is_not_there_is_missing() {
        let status = probe(Path::new("/nonexistent/bwrap"));
        assert_eq!(status, SandboxStatus::Missing);
        assert_eq!(status.fix(), ["sudo apt-get install bubblewrap"]);
    }

    #[test]
    fn another_system_is_told_apart() {
        let status = SandboxStatus::NotLinux {
            system: "macos".to_owned(),
        };
        assert!(status.seen().contains("`macos`"));
        assert!(status.fix().join("\n").contains("--no-sandbox"));
    }
}
