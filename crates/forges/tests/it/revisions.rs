//! Reading revisions.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
};

use groundplan_forges::git::{BranchStart, Repository};
use groundplan_ports::{error::ErrorKind, source_tree::SourceTree};

use crate::{Place, assert_fails, commit, plain_git, run, write};

fn branch(repository: &Repository, name: &str) {
    run(repository.switch(name, BranchStart::New)).unwrap();
}

fn odd_names() -> Vec<PathBuf> {
    let names: [&[u8]; 6] = [
        b"back\\slash`tick",
        b"new\nline.tf",
        b"quo\"te's.tf",
        b"tab\there",
        b"bytes\xff\xfe.tf",
        "grün/ärger.tf".as_bytes(),
    ];
    let mut names: Vec<PathBuf> = names.map(|name| OsStr::from_bytes(name).into()).into();
    names.sort_by(|left, right| left.as_os_str().cmp(right.as_os_str()));
    names
}

#[test]
fn revisions_resolve_to_full_ids() {
    let place = Place::new();
    let repository = place.repository("r", &[("a", "1")]);
    let id = run(repository.resolve("HEAD")).unwrap();
    assert_eq!(id.len(), 40);
    plain_git(&place.path("r"), ["tag", "-a", "-m", "x", "v1"]);
    for revision in ["main", "refs/heads/main", "v1", &id[..9], &id, "HEAD~0"] {
        assert_eq!(run(repository.resolve(revision)).unwrap(), id, "{revision}");
    }
    let missing = "0123456789012345678901234567890123456789";
    for revision in ["nope", "main~1", missing] {
        let message = format!("there is no revision `{revision}`");
        assert_fails(
            run(repository.resolve(revision)),
            ErrorKind::NotFound,
            &message,
        );
    }
    for revision in ["", "--all", "-h", "^main", "a b", "main:a", "x\n"] {
        let error = run(repository.resolve(revision)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid, "{revision}");
    }
}

#[test]
fn changed_paths_have_both_sides_of_renames_deletions_and_modes() {
    let place = Place::new();
    let text = "the same long text\n".repeat(20);
    let files = [
        ("dev/main.tf", &*text),
        ("old.tf", "1"),
        ("same.tf", "1"),
        ("run.sh", "1"),
    ];
    let repository = place.repository("r", &files);
    let directory = place.path("r");
    branch(&repository, "change");
    fs::create_dir(directory.join("prod")).unwrap();
    fs::rename(
        directory.join("dev/main.tf"),
        directory.join("prod/main.tf"),
    )
    .unwrap();
    fs::remove_file(directory.join("old.tf")).unwrap();
    fs::set_permissions(directory.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("same.tf", directory.join("link.tf")).unwrap();
    commit(&repository, "change");

    // What happens on the base after the branch began is not the branch's.
    run(repository.switch("main", BranchStart::Existing)).unwrap();
    write(&directory, "same.tf", "2");
    commit(&repository, "elsewhere");

    let changed = run(repository.changed_paths("main", "change")).unwrap();
    let expect = ["dev/main.tf", "link.tf", "old.tf", "prod/main.tf", "run.sh"];
    assert_eq!(changed, expect.map(PathBuf::from));
    assert_eq!(
        run(repository.changed_paths("change", "change")).unwrap(),
        [""; 0].map(PathBuf::from)
    );
}

#[test]
fn odd_file_names_are_listed_and_read_byte_for_byte() {
    let place = Place::new();
    let repository = place.repository("r", &[("a", "1")]);
    branch(&repository, "change");
    for name in odd_names() {
        write(&place.path("r"), &name, "odd");
    }
    commit(&repository, "odd");
    assert_eq!(
        run(repository.changed_paths("main", "change")).unwrap(),
        odd_names()
    );
    let mut listed = odd_names();
    listed.push("a".into());
    listed.sort_by(|left, right| left.as_os_str().cmp(right.as_os_str()));
    assert_eq!(run(repository.list("change")).unwrap(), listed);
    for name in odd_names() {
        assert_eq!(
            run(repository.read("change", &name)).unwrap(),
            b"odd",
            "{name:?}"
        );
    }
    let target = place.path("out");
    run(repository.check_out("change", &target)).unwrap();
    for name in odd_names() {
        assert_eq!(fs::read(target.join(&name)).unwrap(), b"odd", "{name:?}");
    }
}

#[test]
fn a_submodule_changes_as_one_path_and_is_no_file() {
    let place = Place::new();
    let inner = place.repository("inner", &[("m", "1")]);
    let repository = place.repository("r", &[("a", "1")]);
    let directory = place.path("r");
    let url = place.path("inner");
    branch(&repository, "added");
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
    ];
    plain_git(
        &directory,
        add.map(OsStr::new)
            .into_iter()
            .chain([url.as_os_str(), OsStr::new("mod")]),
    );
    // A setting of the reviewed commit that would hide it.
    plain_git(
        &directory,
        ["config", "-f", ".gitmodules", "submodule.mod.ignore", "all"],
    );
    commit(&repository, "add a submodule");
    assert_eq!(
        run(repository.changed_paths("main", "added")).unwrap(),
        [".gitmodules", "mod"].map(PathBuf::from)
    );
    assert_eq!(
        run(repository.list("added")).unwrap(),
        [".gitmodules", "a"].map(PathBuf::from)
    );
    assert_fails(
        run(repository.read("added", Path::new("mod"))),
        ErrorKind::Invalid,
        "`mod` in `added` is a submodule",
    );

    branch(&repository, "moved");
    write(&url, "m", "2");
    let newer = commit(&inner, "second");
    let entry = format!("160000,{newer},mod");
    plain_git(&directory, ["update-index", "--cacheinfo", &entry]);
    plain_git(&directory, ["commit", "-q", "-m", "move the submodule"]);
    assert_eq!(
        run(repository.changed_paths("added", "moved")).unwrap(),
        [PathBuf::from("mod")]
    );
}

#[test]
fn revisions_without_a_common_commit_are_told() {
    let place = Place::new();
    let repository = place.repository("r", &[("a", "1")]);
    plain_git(&place.path("r"), ["switch", "-q", "--orphan", "other"]);
    write(&place.path("r"), "b", "1");
    commit(&repository, "other root");
    assert_fails(
        run(repository.changed_paths("main", "other")),
        ErrorKind::Invalid,
        "`main` and `other` have no common commit",
    );
}

#[test]
fn only_files_are_read() {
    let place = Place::new();
    symlink("/etc/passwd", place.path("link")).unwrap();
    let directory = place.path("r");
    write(&directory, "d/f", "\0bytes\r\n");
    symlink("/etc/passwd", directory.join("link")).unwrap();
    let repository = place.repository("r", &[("star*", "star"), ("starry", "other")]);
    let read = |path: &str| run(repository.read("main", Path::new(path)));
    assert_eq!(read("d/f").unwrap(), b"\0bytes\r\n");
    assert_eq!(read("d//f").unwrap(), b"\0bytes\r\n");
    assert_eq!(read("star*").unwrap(), b"star");
    assert_fails(
        read("link"),
        ErrorKind::Invalid,
        "`link` in `main` is a symbolic link",
    );
    assert_fails(
        read("d"),
        ErrorKind::Invalid,
        "`d` in `main` is a directory",
    );
    assert_fails(
        read("sta*"),
        ErrorKind::NotFound,
        "`sta*` in `main` does not exist",
    );
    assert_fails(
        read("x"),
        ErrorKind::NotFound,
        "`x` in `main` does not exist",
    );
    assert_fails(
        read("d/../d/f"),
        ErrorKind::Invalid,
        "`d/../d/f` is no path within a repository",
    );
    assert_fails(
        read("/d/f"),
        ErrorKind::Invalid,
        "`/d/f` is no path within a repository",
    );
    assert_fails(
        read(""),
        ErrorKind::Invalid,
        "`` is no path within a repository",
    );
}

#[test]
fn a_checkout_has_files_modes_and_links_and_no_repository() {
    let place = Place::new();
    let directory = place.path("r");
    write(&directory, "bin/run", "#!/bin/sh\n");
    fs::set_permissions(directory.join("bin/run"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("bin/run", directory.join("link")).unwrap();
    let repository = place.repository("r", &[("a.tf", "one\n")]);
    let first = run(repository.resolve("HEAD")).unwrap();
    write(&directory, "a.tf", "two\n");
    commit(&repository, "second");

    let target = place.path("deep/out");
    run(repository.check_out(&first, &target)).unwrap();
    assert_eq!(fs::read_to_string(target.join("a.tf")).unwrap(), "one\n");
    let mode = fs::metadata(target.join("bin/run"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o111, 0o111);
    assert_eq!(
        fs::read_link(target.join("link")).unwrap(),
        Path::new("bin/run")
    );
    assert!(!target.join(".git").exists());
    assert_eq!(plain_git(&directory, ["status", "--porcelain"]), "");
    let message = format!("`{}` is not empty", target.display());
    assert_fails(
        run(repository.check_out(&first, &target)),
        ErrorKind::Invalid,
        &message,
    );
    place.assert_nothing_is_left();
}

#[test]
fn settings_hooks_and_filters_of_a_repository_run_nothing() {
    let place = Place::new();
    let directory = place.path("r");
    let repository = place.repository(
        "r",
        &[
            ("a.txt", "one\n"),
            (".gitattributes", "* filter=evil diff=evil\n"),
        ],
    );
    let evil = place.path("evil");
    let ran = place.path("ran");
    let script = format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", ran.display());
    fs::write(&evil, script).unwrap();
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
    let evil = evil.to_str().unwrap();
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.alternateRefsCommand",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "filter.evil.smudge",
        "uploadpack.packObjectsHook",
    ] {
        plain_git(&directory, ["config", key, evil]);
    }
    let hooks = directory.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in [
        "post-checkout",
        "pre-commit",
        "commit-msg",
        "post-commit",
        "post-index-change",
    ] {
        symlink(evil, hooks.join(hook)).unwrap();
    }
    branch(&repository, "change");
    write(&directory, "a.txt", "two\n");
    commit(&repository, "second");
    run(repository.changed_paths("main", "change")).unwrap();
    run(repository.list("main")).unwrap();
    run(repository.read("main", Path::new("a.txt"))).unwrap();
    run(repository.check_out("main", &place.path("out"))).unwrap();
    let log = fs::read_to_string(&ran).unwrap_or_default();
    assert_eq!(log, "", "something ran");
    // The stand-in works: git itself would have run it.
    plain_git(&directory, ["switch", "-q", "main"]);
    assert!(ran.exists());
}

#[test]
fn sha256_repositories_work_alike() {
    let place = Place::new();
    let directory = place.path("r");
    write(&directory, "a", "1");
    plain_git(
        &directory,
        ["init", "-q", "-b", "main", "--object-format=sha256"],
    );
    let repository = run(place.git.repository(&directory)).unwrap();
    assert_eq!(commit(&repository, "first").len(), 64);
    run(repository.check_out("main", &place.path("out"))).unwrap();
    assert_eq!(fs::read(place.path("out/a")).unwrap(), b"1");
}

#[test]
fn scratch_repositories_refuse_what_makes_no_sense() {
    let place = Place::new();
    let repository = place.repository("r", &[("a", "1")]);
    let signature = groundplan_forges::git::Signature {
        name: "A".to_owned(),
        email: "a@example.com".to_owned(),
        seconds: 0,
    };
    assert_fails(
        run(repository.commit_all("again", &signature)),
        ErrorKind::Invalid,
        "there is nothing to commit",
    );
    let message = format!("`{}` is a repository already", place.path("r").display());
    assert_fails(
        run(place.git.init(&place.path("r"), "main")),
        ErrorKind::Conflict,
        &message,
    );
    let message = format!(
        "git could not open the repository `{}` (exit code 128)",
        place.path("none").display()
    );
    fs::create_dir(place.path("none")).unwrap();
    assert_fails(
        run(place.git.repository(&place.path("none"))),
        ErrorKind::NotFound,
        &message,
    );
}
