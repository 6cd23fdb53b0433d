//! Release archives: from a server of the same layout, from a folder, and all that goes wrong.

#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Output},
};

use groundplan_runners::tools::{
    Cache, Obtained, Progress, SyncOptions, Tool, ToolError,
    cache::Origin,
    release::{Mirror, Release, this_target},
    sync,
};

use super::loopback::{Answer, Loopback};

const PATH: &str = "opentofu/opentofu/releases/download/v1.12.6/tofu_test.zip";

/// A program that says the pinned version, with some weight.
fn archive(member: &str, script: &str) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let stored =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    zip.start_file("LICENSE", stored).unwrap();
    zip.write_all(b"terms").unwrap();
    zip.start_file(member, stored).unwrap();
    zip.write_all(format!("#!/bin/sh\n{script}\nexit 0\n").as_bytes())
        .unwrap();
    zip.write_all(&vec![b'#'; 3 << 20]).unwrap();
    zip.finish().unwrap().into_inner()
}

fn good() -> Vec<u8> {
    archive("tofu", "echo OpenTofu v1.12.6")
}

fn sha256(bytes: &[u8]) -> String {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes);
    digest.as_ref().iter().map(|b| format!("{b:02x}")).collect()
}

fn options(from: Option<Mirror>, pinned: &[u8]) -> SyncOptions {
    SyncOptions {
        from,
        offline: false,
        releases: vec![Release {
            tool: Tool::Tofu,
            target: this_target(),
            path: PATH.to_owned(),
            sha256: sha256(pinned),
        }],
        ca_bundle: None,
        // No toolchain: what is not in the release cannot be had.
        search_path: OsString::from("/nonexistent"),
    }
}

fn server(answer: Answer) -> Loopback {
    Loopback::serve(BTreeMap::from([(format!("/{PATH}"), answer)]))
}

fn sync_tofu(cache: &Cache, options: &SyncOptions) -> Result<Obtained, ToolError> {
    let mut synced = sync(&[Tool::Tofu], cache, options, &mut |_| {})?;
    assert_eq!(synced.len(), 1);
    synced.remove(0).outcome
}

/// Every path below the cache, but the lock.
fn left_in(folder: &Path) -> Vec<String> {
    let mut left = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path.clone());
            }
            if path.file_name().unwrap() != ".lock" && path.file_name().unwrap() != "tools" {
                left.push(path.display().to_string());
            }
        }
    }
    left
}

fn fails(answer: Answer, pinned: &[u8]) -> ToolError {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path());
    let server = server(answer);
    let from = Some(Mirror::Url(server.url.clone()));
    let error = sync_tofu(&cache, &options(from, pinned)).unwrap_err();
    assert_eq!(left_in(folder.path()), Vec::<String>::new());
    assert_eq!(cache.program(Tool::Tofu), None);
    error
}

#[test]
fn a_release_is_verified_unpacked_tried_and_put_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path());
    let server = server(Answer::Whole(good()));
    let options = options(Some(Mirror::Url(server.url.clone())), &good());
    let mut bytes = Vec::new();
    let synced = sync(&[Tool::Tofu], &cache, &options, &mut |progress| {
        if let Progress::Bytes {
            received, total, ..
        } = progress
        {
            bytes.push((received, total));
        }
    });
    let obtained = synced.unwrap().remove(0).outcome.unwrap();
    assert_eq!(
        obtained.origin,
        Some(Origin::Release {
            url: format!("{}/{PATH}", server.url),
            sha256: sha256(&good()),
        })
    );
    let size = good().len() as u64;
    assert_eq!(bytes.last(), Some(&(size, Some(size))));
    assert_eq!(cache.program(Tool::Tofu), Some(obtained.program.clone()));
    assert!(obtained.program.ends_with("tools/tofu/1.12.6/bin/tofu"));
    let again = sync_tofu(&cache, &options).unwrap();
    assert!(again.already);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_folder_serves_with_the_same_layout_or_side_by_side_and_offline() {
    for path in [PATH, "tofu_test.zip"] {
        let folder = tempfile::tempdir().unwrap();
        let mirror = folder.path().join("mirror");
        let file = mirror.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, good()).unwrap();
        let cache = Cache::new(folder.path().join("cache"));
        let mut options = options(Some(Mirror::Folder(mirror)), &good());
        options.offline = true;
        assert!(!sync_tofu(&cache, &options).unwrap().already);
    }
}

#[test]
fn an_archive_that_breaks_off_is_refused() {
    let whole = good();
    let error = fails(Answer::BreaksOff(whole.clone(), 70_000), &whole);
    assert!(matches!(error, ToolError::Truncated { .. }), "{error:?}");
    assert!(error.to_string().contains("broke off after"), "{error}");
}

#[test]
fn an_archive_of_another_digest_is_refused_without_being_run() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("was-run");
    let evil = archive(
        "tofu",
        &format!("touch {}; echo OpenTofu v1.12.6", mark.display()),
    );
    let error = fails(Answer::Whole(evil), &good());
    assert!(matches!(error, ToolError::WrongDigest { .. }), "{error:?}");
    assert!(error.to_string().contains(&sha256(&good())), "{error}");
    assert!(error.hint().unwrap().contains("do not use this file"));
    assert!(!mark.exists());
}

#[test]
fn a_missing_file_and_a_refusing_server_are_told_with_the_address() {
    for status in [404, 403, 503] {
        let error = fails(Answer::Status(status), &good());
        let message = error.to_string();
        assert!(message.contains(PATH), "{message}");
        assert!(
            message.ends_with(&format!("answered status {status}")),
            "{message}"
        );
        assert!(error.hint().unwrap().contains("--from"));
    }
}

#[test]
fn an_archive_without_the_program_or_of_another_version_is_refused() {
    let other = archive("README", "");
    let error = fails(Answer::Whole(other.clone()), &other);
    assert!(matches!(error, ToolError::Archive { .. }), "{error:?}");
    let old = archive("tofu", "echo OpenTofu v1.12.5");
    let error = fails(Answer::Whole(old.clone()), &old);
    assert!(matches!(error, ToolError::WrongVersion { .. }), "{error:?}");
    let broken = b"PK no zip at all".to_vec();
    let error = fails(Answer::Whole(broken.clone()), &broken);
    assert!(matches!(error, ToolError::Archive { .. }), "{error:?}");
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let folder = tempfile::tempdir().unwrap();
    let from = Some(Mirror::Url(url));
    let error = sync_tofu(&Cache::new(folder.path()), &options(from, &good())).unwrap_err();
    assert!(matches!(error, ToolError::Unreachable { .. }), "{error:?}");
}

#[test]
fn without_a_release_and_without_go_both_reasons_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(None, &good());
    options.releases.clear();
    let error = sync_tofu(&Cache::new(folder.path()), &options).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("is pinned"), "{message}");
    assert!(message.contains("no Go toolchain"), "{message}");
}

#[test]
fn what_comes_from_the_system_is_not_obtained() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path());
    let synced = sync(&[Tool::Git], &cache, &options(None, &good()), &mut |_| {}).unwrap();
    let error = synced[0].outcome.as_ref().unwrap_err();
    assert!(error.hint().unwrap().contains("apt-get install git"));
}

/// Runs one test of this binary again in a process of its own, with variables set.
fn again(test: &str, mut command: Command, variables: &[(&str, &str)]) -> Output {
    command
        .args(["--exact", test, "--nocapture", "--test-threads", "1"])
        .env("GROUNDPLAN_TEST_AGAIN", "1")
        .envs(variables.iter().copied());
    command.output().unwrap()
}

fn is_again() -> bool {
    std::env::var_os("GROUNDPLAN_TEST_AGAIN").is_some()
}

fn assert_passed(output: &Output) {
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && stdout.contains("1 passed"),
        "{stdout}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_full_disk_is_told_and_nothing_is_half_installed() {
    if !is_again() {
        // A disk of 1 MB in a mount namespace of its own.
        let mut command = Command::new("unshare");
        let own = std::env::current_exe().unwrap();
        let mount = r#"mount -t tmpfs -o size=1m none /mnt && exec "$0" "$@""#;
        command
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", mount])
            .arg(own);
        let name = "tools::release::a_full_disk_is_told_and_nothing_is_half_installed";
        return assert_passed(&again(name, command, &[]));
    }
    let cache = Cache::new("/mnt/cache");
    let server = server(Answer::Whole(good()));
    let from = Some(Mirror::Url(server.url.clone()));
    let error = sync_tofu(&cache, &options(from, &good())).unwrap_err();
    assert!(matches!(error, ToolError::Write { .. }), "{error:?}");
    assert!(error.hint().unwrap().contains("XDG_CACHE_HOME"));
    assert_eq!(left_in(cache.root()), Vec::<String>::new());
}

#[test]
fn proxy_variables_are_honoured() {
    let name = "tools::release::proxy_variables_are_honoured";
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path());
    if is_again() {
        let url = std::env::var("GROUNDPLAN_TEST_URL").unwrap();
        let outcome = sync_tofu(&cache, &options(Some(Mirror::Url(url)), &good()));
        let expected = std::env::var("GROUNDPLAN_TEST_OBTAINED").unwrap();
        assert_eq!(outcome.is_ok().to_string(), expected, "{outcome:?}");
        return;
    }
    let own = || Command::new(std::env::current_exe().unwrap());
    let whole = server(Answer::Whole(good()));
    let proxied = [
        ("HTTP_PROXY", whole.url.as_str()),
        ("HTTPS_PROXY", &whole.url),
        ("NO_PROXY", ""),
    ];
    let with = |variables: &[(&'static str, &str)], url: &str, obtained: &str| {
        let mut all = variables.to_vec();
        all.push(("GROUNDPLAN_TEST_URL", url));
        all.push(("GROUNDPLAN_TEST_OBTAINED", obtained));
        assert_passed(&again(name, own(), &all));
    };
    with(&proxied, "http://releases.invalid", "true");
    let asked = whole.requests();
    assert_eq!(
        asked[0],
        format!("GET http://releases.invalid/{PATH} HTTP/1.1")
    );
    with(&proxied, "https://releases.invalid", "false");
    assert_eq!(whole.requests()[1], "CONNECT releases.invalid:443 HTTP/1.1");
    let dead = [
        ("HTTP_PROXY", "http://127.0.0.1:1"),
        ("NO_PROXY", "127.0.0.1"),
    ];
    with(&dead, &whole.url, "true");
}
