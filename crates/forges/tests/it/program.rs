//! Which programs are taken for git.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use groundplan_forges::git::{Git, GitOptions};
use groundplan_ports::error::ErrorKind;

use crate::{Place, assert_fails, options, run};

fn stand_in(place: &Place, script: &str) -> GitOptions {
    let program = place.path("stand-in");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    GitOptions {
        program,
        ..options(&place.path("passing"))
    }
}

#[test]
fn git_of_the_machine_is_new_enough() {
    let place = Place::new();
    assert!(
        place
            .git
            .version()
            .starts_with(|c: char| c.is_ascii_digit())
    );
}

#[test]
fn old_missing_and_other_programs_are_refused() {
    let place = Place::new();
    let old = stand_in(&place, "echo git version 2.38.9");
    assert_fails(
        run(Git::open(old)),
        ErrorKind::Broken,
        "git 2.38.9 is too old",
    );

    let other = stand_in(&place, "echo hello");
    let message = format!(
        "`{}` does not say its version as git does",
        other.program.display()
    );
    assert_fails(run(Git::open(other)), ErrorKind::Broken, &message);

    let missing = GitOptions {
        program: "/nonexistent/git".into(),
        ..options(Path::new("/nonexistent"))
    };
    let message = "`/nonexistent/git` could not be run to ask for its version";
    assert_fails(run(Git::open(missing)), ErrorKind::NotFound, message);
}

#[test]
fn later_versions_with_suffixes_are_taken() {
    let place = Place::new();
    for version in ["2.39.5 (Apple Git-154)", "2.50.1.windows.1", "3.0.0"] {
        let git = run(Git::open(stand_in(
            &place,
            &format!("echo 'git version {version}'"),
        )));
        assert_eq!(git.unwrap().version(), version.split(' ').next().unwrap());
    }
}

#[test]
fn nothing_of_the_environment_but_what_was_given_is_seen() {
    let place = Place::new();
    let seen = place.path("seen");
    let mut options = stand_in(
        &place,
        &format!("env > {}; echo git version 2.40.0", seen.display()),
    );
    options.environment = vec![("https_proxy".to_owned(), "http://127.0.0.1:9".into())];
    run(Git::open(options)).unwrap();
    let seen = fs::read_to_string(seen).unwrap();
    let mut names: Vec<&str> = seen
        .lines()
        .filter_map(|line| line.split('=').next())
        .collect();
    names.retain(|name| {
        !name.starts_with("GIT_") && !["PWD", "SHLVL", "_", "OLDPWD"].contains(name)
    });
    names.sort_unstable();
    assert_eq!(names, ["HOME", "LC_ALL", "PATH", "https_proxy"]);
}
