//! Where a repository is, and how it is reached. Credentials are never part of the address.

use std::{fmt, str::FromStr};

use groundplan_ports::error::{ErrorKind, PortError, PortResult};

use super::access::Credentials;

/// A repository elsewhere, with what opens it.
#[derive(Clone, Debug)]
pub struct Remote {
    /// Its address.
    pub url: RemoteUrl,
    /// What opens it.
    pub credentials: Credentials,
}

/// How an address is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Https,
    Http,
    Ssh,
    File,
}

impl Scheme {
    /// The name under which `git` allows it.
    pub(super) fn protocol(self) -> &'static str {
        match self {
            Scheme::Https => "https",
            Scheme::Http => "http",
            Scheme::Ssh => "ssh",
            Scheme::File => "file",
        }
    }
}

/// The address of a repository: `https://`, `http://`, `ssh://`, `git@host:path`, `file://` or an
/// absolute path. It holds no password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteUrl {
    text: String,
    scheme: Scheme,
    /// Host and port as written; empty for files.
    authority: String,
}

impl RemoteUrl {
    pub(super) fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Host and port, as they stand in the address.
    pub(super) fn authority(&self) -> &str {
        &self.authority
    }

    /// Whether the host is this machine, to which a password may go without encryption.
    pub(super) fn is_loopback(&self) -> bool {
        let host = match self.authority.strip_prefix('[') {
            Some(bracketed) => bracketed.split(']').next(),
            None => self.authority.split(':').next(),
        };
        matches!(host, Some("localhost" | "127.0.0.1" | "::1"))
    }
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for RemoteUrl {
    type Err = PortError;

    fn from_str(text: &str) -> PortResult<Self> {
        if text.starts_with('-') || text.chars().any(|c| c.is_control() || c == ' ') {
            return Err(refused(
                "the address of the repository holds characters it may not",
            ));
        }
        let (scheme, rest) = split_scheme(text)?;
        let authority = match scheme {
            Scheme::File => "",
            Scheme::Ssh if !text.contains("://") => rest.split(':').next().unwrap_or_default(),
            Scheme::Https | Scheme::Http | Scheme::Ssh => {
                rest.split(['/', '?', '#']).next().unwrap_or_default()
            }
        };
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        if user.contains(':') || (scheme != Scheme::Ssh && !user.is_empty()) {
            return Err(refused("the address of the repository holds credentials")
                .with_hint("give the address alone, and the token or key as a secret"));
        }
        if scheme != Scheme::File && (host.is_empty() || host.starts_with('-')) {
            return Err(refused("the address of the repository names no host"));
        }
        if user.starts_with('-') {
            return Err(refused("the address of the repository names no user"));
        }
        Ok(RemoteUrl {
            text: text.to_owned(),
            scheme,
            authority: host.to_owned(),
        })
    }
}

/// The scheme, and what follows it. Nothing of the text is repeated in errors: it may hold a token.
fn split_scheme(text: &str) -> PortResult<(Scheme, &str)> {
    if let Some((scheme, rest)) = text.split_once("://") {
        let scheme = match scheme {
            "https" => Scheme::Https,
            "http" => Scheme::Http,
            "ssh" => Scheme::Ssh,
            "file" => Scheme::File,
            _ => return Err(unknown_scheme()),
        };
        return Ok((scheme, rest));
    }
    if text.starts_with('/') {
        return Ok((Scheme::File, text));
    }
    // As `git` reads it: a host before the first colon, no slash in it, and no `::` of a helper.
    match text.split_once(':') {
        Some((host, path)) if !host.contains('/') && !path.starts_with(':') => {
            Ok((Scheme::Ssh, text))
        }
        _ => Err(unknown_scheme()),
    }
}

fn unknown_scheme() -> PortError {
    refused("the address of the repository is of no known kind").with_hint(
        "`https://…`, `http://…`, `ssh://…`, `git@host:path`, `file://…` or an absolute path",
    )
}

fn refused(message: &str) -> PortError {
    PortError::new(ErrorKind::Invalid, message)
}

#[cfg(test)]
mod tests {
    use super::{RemoteUrl, Scheme};

    #[track_caller]
    fn check(text: &str, scheme: Scheme, authority: &str) {
        let url: RemoteUrl = text.parse().unwrap();
        assert_eq!((url.scheme(), url.authority()), (scheme, authority));
        assert_eq!(url.to_string(), text);
    }

    #[test]
    fn known_kinds_of_addresses_are_read() {
        check("https://example.com/a/b.git", Scheme::Https, "example.com");
        check("http://127.0.0.1:8080/a", Scheme::Http, "127.0.0.1:8080");
        check(
            "ssh://git@example.com:2222/a",
            Scheme::Ssh,
            "example.com:2222",
        );
        check("git@example.com:a/b.git", Scheme::Ssh, "example.com");
        check("file:///srv/a", Scheme::File, "");
        check("/srv/a:b@c", Scheme::File, "");
    }

    #[test]
    fn other_addresses_are_refused_without_repeating_them() {
        for text in [
            "",
            "-oProxyCommand=hunter22",
            "--upload-pack=hunter22",
            "ext::sh -c hunter22",
            "ext::hunter22",
            "fd::17/hunter22",
            "git://example.com/hunter22",
            "relative/hunter22",
            "https://user:hunter22@example.com/a",
            "https://hunter22@example.com/a",
            "ssh://git:hunter22@example.com/a",
            "ssh://-oProxyCommand=hunter22/a",
            "git@-hunter22:a",
            "-hunter22@example.com:a",
            "https:///hunter22",
            "https://example.com/hunter22\nx",
        ] {
            let error = text.parse::<RemoteUrl>().unwrap_err();
            assert!(
                !format!("{error:?}").contains("hunter22"),
                "{text}: {error:?}"
            );
        }
    }

    #[test]
    fn loopback_is_told_from_names_like_it() {
        let is_loopback = |text: &str| text.parse::<RemoteUrl>().unwrap().is_loopback();
        for text in [
            "http://127.0.0.1:1/a",
            "http://localhost/a",
            "http://[::1]:2/a",
        ] {
            assert!(is_loopback(text), "{text}");
        }
        for text in [
            "http://127.0.0.1.example.com/a",
            "http://localhost.example.com/a",
        ] {
            assert!(!is_loopback(text), "{text}");
        }
    }
}
