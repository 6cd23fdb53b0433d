//! `groundplan demo`, with the real tools.

use crate::machine::{GROUNDPLAN, Machine, text, tool};

/// Places of texts in another one, which must be there in this order.
fn assert_in_order(text: &str, parts: &[&str]) {
    let mut from = 0;
    for part in parts {
        let place = text[from..].find(part);
        let place = place.unwrap_or_else(|| panic!("`{part}` is not where it should be in {text}"));
        from += place + part.len();
    }
}

#[test]
fn the_demo_says_in_sync_drifted_and_unknown_and_its_commands_go_on() {
    tool("tofu");
    let machine = Machine::new();
    let demo = machine.groundplan(&["demo", "--keep", "a demo"]);
    let said = text(&demo.stdout);
    assert!(demo.status.success(), "{said}\n{}", text(&demo.stderr));
    assert!(!said.contains('\u{1b}'), "colours in a pipe: {said}");
    assert_in_order(
        &said,
        &[
            "  │ terraform/region-1 (stage)",
            "-/+ module.worker.terraform_data.deployment",
            "Plan: 0 to create, 3 to update, 1 to replace, 0 to destroy",
            "✔ in sync:",
            "tofu apply -auto-approve",
            "-var audit_retention_days=7",
            "~   terraform_data.audit_log  input",
            "▲ drifted:",
            "✖ unknown:",
            "Everything above ran",
        ],
    );
    let (_, printed) = said.split_once("Go on by hand").expect("it names commands");
    let script: String = printed
        .lines()
        .filter_map(|line| line.strip_prefix("  $ "))
        .map(|line| format!("{line}\n"))
        .collect();
    let pasted = machine
        .command("sh")
        .args(["-eu", "-c", &script])
        .output()
        .expect("there is a shell");
    let answer = text(&pasted.stdout);
    assert!(
        pasted.status.success(),
        "{script}{answer}{}",
        text(&pasted.stderr)
    );
    assert_in_order(
        &answer,
        &["NAME", "pull-request-", "apply-", "report | stage: drifted"],
    );
    assert!(machine.path("a demo/infrastructure/.git").is_dir());
}

#[test]
fn a_demo_without_sandbox_and_scanners_says_what_did_not_run_and_is_no_success() {
    let machine = Machine::new();
    let bwrap = machine.program(
        "bwrap",
        "[ \"$1\" = --version ] && { echo bubblewrap 0.8.0; exit; }\n\
         echo bwrap: No permissions to create a new namespace >&2\nexit 1\n",
    );
    let config = machine.write(
        "config.yaml",
        &format!(
            "tools:\n  tofu: {}\n  bwrap: {}\n",
            tool("tofu").display(),
            bwrap.display()
        ),
    );
    // Nothing can be obtained: an empty cache, no toolchains, and a network that answers nothing.
    let programs = machine.path("bin");
    std::fs::create_dir_all(&programs).expect("a folder can be made");
    for name in [
        "git", "sh", "cat", "mkdir", "mktemp", "cp", "dirname", "rm", "uname",
    ] {
        let path = ["/usr/bin", "/bin"]
            .iter()
            .map(|folder| std::path::Path::new(folder).join(name))
            .find(|path| path.exists())
            .expect("it is on every machine");
        std::os::unix::fs::symlink(path, programs.join(name)).expect("a link can be made");
    }
    let closed = "http://127.0.0.1:9";
    let demo = machine
        .command(GROUNDPLAN)
        .args(["demo"])
        .env("PATH", &programs)
        .env("XDG_CACHE_HOME", machine.path("cache"))
        .env("GROUNDPLAN_CONFIG", config)
        .env("HTTPS_PROXY", closed)
        .env("HTTP_PROXY", closed)
        .output()
        .expect("the command can be run");
    let said = text(&demo.stdout);
    assert_eq!(
        demo.status.code(),
        Some(1),
        "{said}\n{}",
        text(&demo.stderr)
    );
    assert_in_order(
        &said,
        &[
            "WARNING: tflint could not be had",
            "WARNING: NO SANDBOX here",
            "✔ in sync:",
            "▲ drifted:",
            "✖ unknown:",
            "--no-sandbox",
        ],
    );
    assert_eq!(
        said.lines().last(),
        Some("WARNING: not run: lint (tflint could not be had), scan (checkov could not be had)")
    );
    assert!(machine.path("cache/groundplan/demo").is_dir());
    let cleaned = machine
        .command(GROUNDPLAN)
        .args(["demo", "--clean"])
        .env("XDG_CACHE_HOME", machine.path("cache"))
        .output()
        .expect("the command can be run");
    assert!(cleaned.status.success(), "{}", text(&cleaned.stderr));
    let left = std::fs::read_dir(machine.path("cache/groundplan/demo")).expect("it is still there");
    assert_eq!(left.count(), 0);
}

#[test]
fn a_demo_touches_no_directory_that_holds_something() {
    tool("tofu");
    let machine = Machine::new();
    machine.write("work/notes.txt", "mine");
    let demo = machine.groundplan(&["demo", "--keep", "work"]);
    assert_eq!(demo.status.code(), Some(1));
    assert!(text(&demo.stderr).contains("is not empty"));
    let entries = std::fs::read_dir(machine.path("work")).expect("it is there");
    assert_eq!(entries.count(), 1);
}
