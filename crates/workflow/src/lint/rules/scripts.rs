//! What a script uses and nothing brings: variables and files.

use std::collections::BTreeSet;

use super::super::model::{At, Form, Home, Template};
use super::super::report::Report;
use super::super::shell::{self, Role, Usage};
use super::super::spot::locate;
use crate::diagnostic::Severity;

pub(super) fn check(home: &Home<'_>, template: &Template<'_>, report: &mut Report<'_>) {
    if !matches!(template.form(), Some(Form::Container | Form::Script)) {
        return;
    }
    let Some(body) = template.body() else { return };
    let Some((at, text)) = shell_text(&body) else {
        return;
    };
    let plain = without_tags(text);
    let usage = shell::read(&plain);
    unset(&body, &at, &usage, report);
    unbrought(home, template, &body, &at, &usage, report);
}

/// The text that a shell runs, where the container runs one.
fn shell_text<'a>(body: &At<'a>) -> Option<(At<'a>, &'a str)> {
    let mut words = body.list(&["command"]);
    let shell = words.first()?.node.text()?;
    let base = shell.rsplit('/').next().unwrap_or(shell);
    if !matches!(
        base,
        "sh" | "bash" | "ash" | "dash" | "ksh" | "zsh" | "busybox"
    ) {
        return None;
    }
    if let Some(source) = body.get("source") {
        return source.node.text().map(|text| (source, text));
    }
    words.extend(body.list(&["args"]));
    let option = words.iter().position(|word| {
        word.node
            .text()
            .is_some_and(|word| word.starts_with('-') && word.ends_with('c'))
    })?;
    let text = words.get(option + 1)?;
    text.node.text().map(|value| (text.clone(), value))
}

/// The text with each tag replaced by as many letters, so that places stay.
fn without_tags(text: &str) -> String {
    let mut plain = text.to_owned();
    for tag in crate::expr::tags::scan(text).unwrap_or_default() {
        plain.replace_range(tag.start..tag.end, &"t".repeat(tag.end - tag.start));
    }
    plain
}

/// Variables that shells, images and Argo set by themselves.
const PRESENT: &str = " HOME PATH PWD OLDPWD USER LOGNAME SHELL HOSTNAME TERM LANG LANGUAGE IFS PS1 \
    PS2 PS4 RANDOM SRANDOM SECONDS LINENO UID EUID GID PPID OSTYPE HOSTTYPE MACHTYPE OPTARG OPTIND \
    OPTERR REPLY PIPESTATUS FUNCNAME DIRSTACK TMPDIR EPOCHSECONDS EPOCHREALTIME SHLVL COLUMNS LINES \
    HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy CI TZ \
    SSH_AUTH_SOCK SSH_AGENT_PID ";

fn unset(body: &At<'_>, at: &At<'_>, usage: &Usage<'_>, report: &mut Report<'_>) {
    // Whole secrets and config maps, and files that are taken in, may set anything.
    if usage.sources || !body.list(&["envFrom"]).is_empty() {
        return;
    }
    let given: BTreeSet<&str> = body.list(&["env"]).iter().map(At::name).collect();
    for read in &usage.reads {
        let name = read.name;
        let present = PRESENT.contains(&format!(" {name} "))
            || ["ARGO_", "KUBERNETES_", "BASH", "LC_"]
                .iter()
                .any(|prefix| name.starts_with(prefix));
        if present || given.contains(name) || usage.sets.contains(name) {
            continue;
        }
        let place = locate(report.read(), at, read.piece, 0);
        report.add(
            Severity::Warning,
            "unset-variable",
            at,
            place,
            format!("the script reads `{name}`, and nothing in the document sets it"),
            Some(format!(
                "add it to `env`, or run it here with `--pass-env {name}=VALUE`"
            )),
        );
    }
}

/// Directories at the root that no image has by custom, so that a volume must bring them.
const SHARED: &str = " workdir work workspace workspaces mnt mount data shared share vol volume \
    volumes secret secrets key keys credential credentials creds vault repo checkout ";

fn unbrought(
    home: &Home<'_>,
    template: &Template<'_>,
    body: &At<'_>,
    at: &At<'_>,
    usage: &Usage<'_>,
    report: &mut Report<'_>,
) {
    let brought = brought(home, template, body);
    let made: Vec<&str> = usage
        .paths
        .iter()
        .filter(|word| word.role == Role::Made)
        .map(|word| word.text)
        .collect();
    let mut said = BTreeSet::new();
    for word in usage.paths.iter().filter(|word| word.role == Role::Used) {
        let Some(missing) = personal(word.text) else {
            continue;
        };
        let covered = brought.iter().any(|path| is_below(word.text, path))
            || made.iter().any(|path| is_below(word.text, path));
        if covered || !said.insert(missing) {
            continue;
        }
        let place = locate(report.read(), at, missing, 0);
        report.add(
            Severity::Warning,
            "missing-file",
            at,
            place,
            format!("the script uses `{missing}`, and no volume brings it"),
            Some("mount a volume there, such as a secret or a claim".to_owned()),
        );
    }
}

/// The part of a path that something must bring, where an image does not by custom.
fn personal(path: &str) -> Option<&str> {
    if path.starts_with("~/.") || path.starts_with("/root/") || path.starts_with("/home/") {
        return Some(path);
    }
    if path.starts_with("/run/secrets/") || path.starts_with("/var/run/secrets/") {
        return Some(path);
    }
    let rest = path.strip_prefix('/')?;
    let first = rest.split('/').next().unwrap_or(rest);
    SHARED
        .contains(&format!(" {first} "))
        .then(|| &path[..=first.len()])
}

/// Paths at which volumes, artifacts and outputs lie.
fn brought(home: &Home<'_>, template: &Template<'_>, body: &At<'_>) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    let mut add = |path: Option<&str>| paths.extend(path.map(str::to_owned));
    for mount in body.list(&["volumeMounts"]) {
        add(mount.text("mountPath"));
    }
    let field = if template.form() == Some(Form::Script) {
        "script"
    } else {
        "container"
    };
    let defaults = home.spec.find(&["templateDefaults", field]);
    for mount in defaults
        .map(|at| at.list(&["volumeMounts"]))
        .unwrap_or_default()
    {
        add(mount.text("mountPath"));
    }
    for artifact in template
        .input_artifacts()
        .iter()
        .chain(&template.output_artifacts())
    {
        add(artifact.text("path"));
    }
    for output in template.outputs() {
        add(output.get("valueFrom").and_then(|from| from.text("path")));
    }
    // A mount path that is a tag may be anywhere.
    if paths
        .iter()
        .any(|path| super::super::model::is_dynamic(path))
    {
        paths.push("/".to_owned());
    }
    paths
}

fn is_below(path: &str, base: &str) -> bool {
    let full = |path: &str| match path.strip_prefix("~/") {
        Some(rest) => format!("/root/{rest}"),
        None => path.trim_end_matches('/').to_owned(),
    };
    let (path, base) = (full(path), full(base));
    path == base || path.starts_with(&format!("{base}/"))
}
