//! Credentials, in the form in which `git` and `ssh` take them: files that only we can read, for as
//! long as one call lasts. They are in no address, argument, variable or message.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    os::unix::{ffi::OsStrExt, fs::OpenOptionsExt},
    path::Path,
};

use groundplan_ports::{
    error::{ErrorKind, PortError, PortResult},
    secrets::SecretValue,
};
use tempfile::TempDir;

use super::{
    Git, Remote,
    invocation::Invocation,
    remote::{RemoteUrl, Scheme},
};

/// What opens a remote repository.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// Nothing.
    None,
    /// A token, or a password, over HTTPS.
    Token {
        /// The user name that the forge expects with it, such as `x-access-token`.
        user: String,
        /// The token.
        token: SecretValue,
    },
    /// A deploy key over SSH.
    DeployKey {
        /// The private key without a passphrase.
        private_key: SecretValue,
        /// The pinned host keys: lines of a `known_hosts` file.
        known_hosts: String,
    },
}

/// Credentials on disk; deleted when dropped.
pub(super) struct Access<'r> {
    remote: &'r Remote,
    directory: TempDir,
}

impl<'r> Access<'r> {
    /// Writes what the remote needs.
    pub(super) fn prepare(git: &Git, remote: &'r Remote) -> PortResult<Self> {
        check(&remote.url, &remote.credentials)?;
        let temporary = &git.options().temporary;
        let not_written = |error: io::Error| {
            let message = format!(
                "credentials could not be placed in `{}`",
                temporary.display()
            );
            PortError::new(ErrorKind::Broken, message).caused_by(error)
        };
        let directory = TempDir::with_prefix_in("git-", temporary).map_err(not_written)?;
        let access = Access { remote, directory };
        access.write().map_err(not_written)?;
        Ok(access)
    }

    fn write(&self) -> io::Result<()> {
        match &self.remote.credentials {
            Credentials::None => Ok(()),
            Credentials::Token { user, token } => {
                let url = &self.remote.url;
                let scheme = url.scheme().protocol();
                let user = percent_encoded(user.as_bytes());
                let token = percent_encoded(token.expose());
                let line = format!("{scheme}://{user}:{token}@{}\n", url.authority());
                self.place("credentials", line.as_bytes())
            }
            Credentials::DeployKey {
                private_key,
                known_hosts,
            } => {
                // OpenSSH refuses a key whose last line does not end.
                let mut key = private_key.expose().trim_ascii().to_vec();
                key.push(b'\n');
                self.place("key", &key)?;
                self.place("known_hosts", format!("{known_hosts}\n").as_bytes())
            }
        }
    }

    fn place(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        options
            .open(self.directory.path().join(name))?
            .write_all(bytes)
    }

    /// Tells a run of `git` where they are, and that it may use this one protocol.
    pub(super) fn open<'g>(&self, invocation: Invocation<'g>) -> PortResult<Invocation<'g>> {
        let protocol = self.remote.url.scheme().protocol();
        let invocation = invocation.setting(format!("protocol.{protocol}.allow=always"));
        Ok(match &self.remote.credentials {
            Credentials::None => invocation,
            Credentials::Token { token, .. } => {
                let file = shell_quoted(&self.directory.path().join("credentials"))?;
                invocation
                    .setting(format!("credential.helper=store --file={file}"))
                    .secret(token)
            }
            Credentials::DeployKey { private_key, .. } => invocation
                .variable("GIT_SSH_COMMAND", self.ssh_command()?)
                .variable("GIT_SSH_VARIANT", "ssh")
                .secret(private_key),
        })
    }

    fn ssh_command(&self) -> PortResult<String> {
        let key = shell_quoted(&self.directory.path().join("key"))?;
        let known_hosts = shell_quoted(&self.directory.path().join("known_hosts"))?;
        let mut command = format!("ssh -F /dev/null -i {key} -o UserKnownHostsFile={known_hosts}");
        for option in [
            "BatchMode=yes",
            "ConnectTimeout=30",
            "ControlMaster=no",
            "ControlPath=none",
            "ForwardAgent=no",
            "GlobalKnownHostsFile=/dev/null",
            "IdentitiesOnly=yes",
            "IdentityAgent=none",
            "PreferredAuthentications=publickey",
            "ServerAliveCountMax=4",
            "ServerAliveInterval=15",
            "StrictHostKeyChecking=yes",
            "UpdateHostKeys=no",
        ] {
            command.push_str(" -o ");
            command.push_str(option);
        }
        Ok(command)
    }
}

/// Refuses credentials that do not belong to the kind of address.
fn check(url: &RemoteUrl, credentials: &Credentials) -> PortResult<()> {
    let refused = |message: String| Err(PortError::new(ErrorKind::Invalid, message));
    match (url.scheme(), credentials) {
        (Scheme::Https, Credentials::None | Credentials::Token { .. })
        | (Scheme::Http | Scheme::File, Credentials::None) => Ok(()),
        (Scheme::Http, Credentials::Token { .. }) if url.is_loopback() => Ok(()),
        (Scheme::Http, Credentials::Token { .. }) => {
            refused(format!("a token may not go to `{url}` without encryption"))
        }
        (Scheme::Ssh, Credentials::DeployKey { known_hosts, .. }) => {
            let pinned = known_hosts
                .lines()
                .map(str::trim)
                .any(|line| !line.is_empty() && !line.starts_with('#'));
            if pinned {
                return Ok(());
            }
            let error = PortError::new(
                ErrorKind::Invalid,
                format!("no host key is pinned for `{url}`"),
            );
            Err(error.with_hint("give the server's line of `ssh-keyscan`, after checking it"))
        }
        (Scheme::Ssh, Credentials::None) => refused(format!("`{url}` needs a deploy key")),
        (Scheme::Ssh, Credentials::Token { .. }) => {
            refused(format!("`{url}` takes a deploy key, not a token"))
        }
        (Scheme::File, Credentials::Token { .. } | Credentials::DeployKey { .. }) => {
            refused(format!("`{url}` takes no credentials"))
        }
        (Scheme::Https | Scheme::Http, Credentials::DeployKey { .. }) => {
            refused(format!("`{url}` takes a token, not a deploy key"))
        }
    }
}

fn percent_encoded(bytes: &[u8]) -> String {
    let mut encoded = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// A path as one word of a shell's command line.
fn shell_quoted(path: &Path) -> PortResult<String> {
    let text = std::str::from_utf8(path.as_os_str().as_bytes()).map_err(|error| {
        let message = format!("`{}` is no text", path.display());
        PortError::new(ErrorKind::Invalid, message).caused_by(error)
    })?;
    Ok(format!("'{}'", text.replace('\'', r"'\''")))
}
