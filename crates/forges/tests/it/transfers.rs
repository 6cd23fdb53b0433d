//! Cloning and fetching with real credentials.

use std::{error::Error as _, fs, path::Path};

use groundplan_forges::git::{CloneShape, Credentials, Remote};
use groundplan_ports::{
    error::{ErrorKind, PortError},
    secrets::SecretValue,
    source_tree::SourceTree,
};

use crate::{
    Place, assert_fails, commit, http_server::HttpServer, plain_git, run, ssh_server::SshServer,
    write,
};

const TOKEN: &str = "t0ken/with:odd@chars%41";
const MARKER: &str = "t0ken";

/// `tester` and the token, as Basic authentication has them.
const AUTHORIZATION: &str = "Basic dGVzdGVyOnQwa2VuL3dpdGg6b2RkQGNoYXJzJTQx";

fn token_remote(url: &str, token: &str) -> Remote {
    Remote {
        url: url.parse().unwrap(),
        credentials: Credentials::Token {
            user: "tester".to_owned(),
            token: SecretValue::new(token),
        },
    }
}

fn key_remote(server: &SshServer, repository: &Path) -> Remote {
    let (user, port) = (&server.user, server.port);
    let url = format!("ssh://{user}@127.0.0.1:{port}{}", repository.display());
    Remote {
        url: url.parse().unwrap(),
        credentials: Credentials::DeployKey {
            private_key: SecretValue::new(server.private_key.trim_end()),
            known_hosts: server.known_hosts.clone(),
        },
    }
}

/// Everything that an error says.
fn whole(error: &PortError) -> String {
    let source = error.source().map(ToString::to_string);
    format!("{error:?} {error} {}", source.unwrap_or_default())
}

fn assert_clone_and_fetch(place: &Place, remote: &Remote, url: &Path) {
    let clone = place.clone(remote, "clone", CloneShape::Bare);
    let clone = clone.unwrap_or_else(|error| panic!("{}", whole(&error)));
    assert_eq!(clone.work_tree(), None);
    assert_eq!(run(clone.read("main", Path::new("a"))).unwrap(), b"1");
    let config = fs::read_to_string(place.path("clone/config")).unwrap();
    assert!(!config.contains(MARKER), "{config}");

    // Another helper in the clone's settings would be told the token after it worked.
    let ran = place.path("ran");
    let helper = format!("!touch {} #", ran.display());
    plain_git(
        &place.path("clone"),
        ["config", "credential.helper", &helper],
    );
    write(url, "a", "2");
    let upstream = run(place.git.repository(url)).unwrap();
    let id = commit(&upstream, "second");
    run(clone.fetch(remote, &["+refs/heads/*:refs/heads/*"])).unwrap();
    assert_eq!(run(clone.resolve("main")).unwrap(), id);
    assert!(!ran.exists());
    place.assert_nothing_is_left();
}

#[test]
fn a_token_clones_and_fetches_over_http_and_is_seen_nowhere() {
    let place = Place::new();
    place.repository("served/r", &[("a", "1")]);
    let server = HttpServer::start(&place.path("served"), AUTHORIZATION, MARKER);
    let url = format!("http://127.0.0.1:{}/r/.git", server.port);
    assert_clone_and_fetch(&place, &token_remote(&url, TOKEN), &place.path("served/r"));
    assert!(server.authorized() >= 4, "{}", server.authorized());
    assert_eq!(server.found(), [""; 0]);
}

#[test]
fn the_search_for_the_token_would_find_it() {
    let marker = "a-marker-for-the-search";
    let mut child = std::process::Command::new("cat")
        .env("SOME", marker)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // Its answer shows that it is the program and no longer the copy of this test.
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"x").unwrap();
    let mut answer = [0];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut answer).unwrap();
    let found = crate::http_server::processes_with(marker);
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(found, [format!("/proc/{}/environ", child.id())]);
}

#[test]
fn a_wrong_or_missing_token_is_denied_at_once_and_not_repeated() {
    let place = Place::new();
    place.repository("served/r", &[("a", "1")]);
    let server = HttpServer::start(&place.path("served"), AUTHORIZATION, MARKER);
    let url = format!("http://127.0.0.1:{}/r/.git", server.port);
    let none = Remote {
        url: url.parse().unwrap(),
        credentials: Credentials::None,
    };
    for remote in [token_remote(&url, "wr0ng-t0ken"), none] {
        let clone = place.clone(&remote, "c", CloneShape::Bare);
        let error = clone.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Denied, "{}", whole(&error));
        assert_eq!(
            error.message,
            format!("git could not clone `{url}` (exit code 128)")
        );
        assert!(
            error.hint.is_some() && !whole(&error).contains(MARKER),
            "{}",
            whole(&error)
        );
        assert!(!place.path("c").exists());
    }
    place.assert_nothing_is_left();
}

#[test]
fn a_missing_repository_and_a_closed_port_are_told_apart() {
    let place = Place::new();
    place.repository("served/r", &[("a", "1")]);
    let server = HttpServer::start(&place.path("served"), AUTHORIZATION, MARKER);
    let url = format!("http://127.0.0.1:{}/none/.git", server.port);
    let remote = token_remote(&url, TOKEN);
    let clone = |remote: &Remote| place.clone(remote, "c", CloneShape::Bare);
    assert_eq!(clone(&remote).unwrap_err().kind, ErrorKind::NotFound);
    drop(server);
    let error = clone(&remote).unwrap_err();
    assert_eq!(
        error.kind,
        ErrorKind::Transient { retry_after: None },
        "{}",
        whole(&error)
    );
}

#[test]
fn a_deploy_key_clones_and_fetches_over_ssh_from_the_pinned_host() {
    let place = Place::new();
    let Some(server) = SshServer::start(&place.path("sshd")) else {
        return;
    };
    place.repository("served r's", &[("a", "1")]);
    let upstream = place.path("served r's");
    let link = place.path("served");
    std::os::unix::fs::symlink(&upstream, &link).unwrap();
    let remote = key_remote(&server, &link);
    assert_clone_and_fetch(&place, &remote, &upstream);
}

#[test]
fn another_host_key_or_deploy_key_is_denied() {
    let place = Place::new();
    let Some(server) = SshServer::start(&place.path("sshd")) else {
        return;
    };
    let Some(other) = SshServer::start(&place.path("other")) else {
        return;
    };
    place.repository("r", &[("a", "1")]);
    let mut remote = key_remote(&server, &place.path("r"));
    let (_, other_host) = other.known_hosts.split_once(' ').unwrap();
    remote.credentials = Credentials::DeployKey {
        private_key: SecretValue::new(&*server.private_key),
        known_hosts: format!("[127.0.0.1]:{} {other_host}", server.port),
    };
    let clone = |remote: &Remote| place.clone(remote, "c", CloneShape::Bare);
    let error = clone(&remote).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied, "{}", whole(&error));
    assert!(
        error.hint.as_deref().unwrap().contains("host key"),
        "{}",
        whole(&error)
    );

    remote.credentials = Credentials::DeployKey {
        private_key: SecretValue::new(&*other.private_key),
        known_hosts: server.known_hosts.clone(),
    };
    let error = clone(&remote).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied, "{}", whole(&error));
    assert!(!whole(&error).contains("PRIVATE KEY"));
    place.assert_nothing_is_left();
}

#[test]
fn credentials_go_only_to_addresses_of_their_kind() {
    let place = Place::new();
    let key = |known_hosts: &str| Credentials::DeployKey {
        private_key: SecretValue::new("key"),
        known_hosts: known_hosts.to_owned(),
    };
    let token = || Credentials::Token {
        user: "u".to_owned(),
        token: SecretValue::new("t"),
    };
    let ssh = "ssh://git@192.0.2.1/r";
    for (url, credentials, message) in [
        (
            "http://192.0.2.1/r",
            token(),
            "a token may not go to `http://192.0.2.1/r` without encryption",
        ),
        (
            "https://192.0.2.1/r",
            key("h k v"),
            "`https://192.0.2.1/r` takes a token, not a deploy key",
        ),
        ("/srv/r", token(), "`/srv/r` takes no credentials"),
        (
            ssh,
            Credentials::None,
            "`ssh://git@192.0.2.1/r` needs a deploy key",
        ),
        (
            ssh,
            token(),
            "`ssh://git@192.0.2.1/r` takes a deploy key, not a token",
        ),
        (
            ssh,
            key("\n # none\n"),
            "no host key is pinned for `ssh://git@192.0.2.1/r`",
        ),
    ] {
        let remote = Remote {
            url: url.parse().unwrap(),
            credentials,
        };
        let clone = place.clone(&remote, "c", CloneShape::Bare);
        assert_fails(clone, ErrorKind::Invalid, message);
    }
}

#[test]
fn a_local_repository_is_cloned_with_its_files() {
    let place = Place::new();
    place.repository("r", &[("a", "1")]);
    let remote = Remote {
        url: place.path("r").to_str().unwrap().parse().unwrap(),
        credentials: Credentials::None,
    };
    let clone = place.clone(&remote, "c", CloneShape::WithFiles);
    let clone = clone.unwrap();
    assert_eq!(clone.work_tree(), Some(&*place.path("c")));
    assert_eq!(fs::read(place.path("c/a")).unwrap(), b"1");
}
