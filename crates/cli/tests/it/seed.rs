//! The seed's three documents run to the end: as they are written, placeholders filled in as a user
//! would, and what lint names as missing supplied. The clone, the tools and the sandbox are real.

#![expect(clippy::print_stderr, reason = "tests say what does not run")]
#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Output,
};

use crate::{
    documents::Documents,
    machine::{Machine, text, tool},
    ssh_server::SshServer,
};

const ROOTS: [&str; 3] = ["terraform", "terraform/region-1", "terraform/region-2"];

/// What the pull-request document refers to and nowhere defines.
const GET_PR: &str = "
    - name: get-pr
      script:
        image: alpine
        command: [sh]
        source: |
          echo 17 > /tmp/pr_num
      outputs:
        parameters:
          - name: pr_num
            valueFrom:
              path: /tmp/pr_num
";

/// A person's machine on which the seed's images are mapped, and the server that they clone from.
struct Site {
    machine: Machine,
    server: SshServer,
    documents: Documents,
    /// The commit that the pull request is about; not the newest one.
    commit: String,
}

impl Site {
    /// `None`, said aloud, where something that is not ours to install is absent.
    fn new() -> Option<Self> {
        let documents = Documents::read()?;
        let machine = Machine::new();
        if let Some(why) = sandbox_missing(&machine) {
            eprintln!("not run: the seed's documents mount volumes at fixed paths, and {why}");
            return None;
        }
        for name in ["tofu", "tflint", "checkov"] {
            tool(name);
        }
        let commit = repository(&machine);
        let served = machine.path("served");
        let server = SshServer::start(&machine.path("sshd"), &served, "acme/infra.git")?;
        let documents = documents.filled_in(&server.user);
        let site = Site {
            machine,
            server,
            documents,
            commit,
        };
        site.configure();
        Some(site)
    }

    /// Maps the seed's images to what stands for them here.
    fn configure(&self) {
        let (machine, port) = (&self.machine, self.server.port);
        machine.program("alpine/apk", "echo \"OK: $*\"\n");
        machine.program(
            "alpine/ssh-keyscan",
            &format!("exec /usr/bin/ssh-keyscan -p {port} \"$@\"\n"),
        );
        machine.program(
            "terraform/tf-summarize",
            "exec groundplan summarize \"$@\"\n",
        );
        // What it gets: the token's length, the format with the index filled in, and the text.
        machine.program(
            "commenter/github-commenter",
            "set -eu\n\
             mkdir -p /workdir/comments\n\
             comment=$(mktemp /workdir/comments/XXXXXX)\n\
             printf 'token of %s characters\\n' \"${#GITHUB_TOKEN}\" > \"$comment\"\n\
             printf '%s\\n' \"$GITHUB_COMMENT_FORMAT\" >> \"$comment\"\n\
             cat >> \"$comment\"\n",
        );
        machine.write("hosts", "127.0.0.1 localhost\n127.0.0.1 github.com\n");
        machine.write("ssh_config", &format!("Host github.com\n  Port {port}\n"));
        let home = machine.home.path().display();
        let config = format!(
            "images:
  alpine:
    shell: busybox
    tools: [git, {home}/alpine]
    files:
      /etc/hosts: {home}/hosts
      /root/.ssh/config: {home}/ssh_config
      /root/.ssh/ssh-deploy-key: {key}
  registry.example/acme/terraform:
    tools: [tofu, tflint, checkov, groundplan, {home}/terraform]
  cloudposse/github-commenter:
    shell: busybox
    tools: [{home}/commenter]
",
            key = self.server.key.display()
        );
        machine.write(".config/groundplan/config.yaml", &config);
        let secrets = machine.write(
            "secrets.yaml",
            "apiVersion: v1
kind: Secret
metadata:
  name: infra-secrets
  namespace: ci
stringData:
  aws-access-key-id: AKIAIOSFODNN7EXAMPLE
  aws-secret-access-key: wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY
  github-token: ghp-0123456789abcdefghijklmnopqrstuv
  webhook-url: https://hooks.example/T0/B0/x8Jk2LmQ
",
        );
        fs::set_permissions(secrets, fs::Permissions::from_mode(0o600)).unwrap();
        fs::create_dir(machine.path("workdir")).unwrap();
    }

    /// Runs a document and answers what the command said.
    fn run(&self, name: &str, document: &str, more: &[&str]) -> Output {
        let file = self.machine.write(name, document);
        let mut arguments = vec!["run", file.to_str().unwrap()];
        arguments.extend(["--secrets", "secrets.yaml", "--volume", "workdir=workdir"]);
        arguments.extend(more);
        self.machine.groundplan(&arguments)
    }

    /// Where the repository is cloned to.
    fn clone(&self) -> PathBuf {
        self.machine.path("workdir/src/github.com/acme/infra")
    }

    fn git(&self, directory: &Path, arguments: &[&str]) -> String {
        git(&self.machine, directory, arguments)
    }
}

/// Why there is no sandbox, where there is none.
fn sandbox_missing(machine: &Machine) -> Option<String> {
    let probe = machine.write(
        "probe.yaml",
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: probe}\n\
         spec:\n  entrypoint: main\n  templates:\n    - name: main\n      container: \
         {image: alpine, command: [\"true\"]}\n",
    );
    let output = machine.groundplan(&["run", probe.to_str().unwrap()]);
    (!output.status.success()).then(|| text(&output.stderr))
}

fn git(machine: &Machine, directory: &Path, arguments: &[&str]) -> String {
    let output = machine
        .command("git")
        .args([
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@localhost",
            "-c",
            "safe.directory=*",
        ])
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).trim().to_owned()
}

/// Makes the bare repository that is served, of two commits, and answers the first one.
fn repository(machine: &Machine) -> String {
    let files = machine.path("files");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/infrastructure");
    let copied = machine
        .command("cp")
        .arg("-R")
        .arg(examples)
        .arg(&files)
        .status()
        .unwrap();
    assert!(copied.success());
    // The seed's documents name no file of variables: each root brings its own.
    for root in ROOTS {
        let from = files.join(format!("environments/stage/{root}.tfvars"));
        fs::copy(from, files.join(root).join("stage.auto.tfvars")).unwrap();
    }
    git(machine, &files, &["init", "-q", "-b", "main"]);
    git(machine, &files, &["add", "--all"]);
    git(
        machine,
        &files,
        &["commit", "-q", "-m", "The change under review"],
    );
    let commit = git(machine, &files, &["rev-parse", "HEAD"]);
    fs::write(files.join("later"), "not part of it\n").unwrap();
    git(machine, &files, &["add", "--all"]);
    git(machine, &files, &["commit", "-q", "-m", "A later commit"]);
    let served = machine.path("served/acme/infra.git");
    fs::create_dir_all(served.parent().unwrap()).unwrap();
    let bare = served.to_str().unwrap();
    git(machine, &files, &["clone", "-q", "--bare", ".", bare]);
    commit
}

fn assert_succeeded(output: &Output) -> String {
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", text(&output.stderr));
    said
}

#[test]
fn the_seeds_pull_request_document_comments_three_plans_and_its_apply_template_applies() {
    let Some(site) = Site::new() else { return };
    let document = format!("{}{GET_PR}", site.documents.pull_request.trim_end());
    let variable = format!("GIT_COMMIT={}", site.commit);
    let output = site.run(
        "pull-request.yaml",
        &document,
        &["--pass-env", &variable, "--pass-env", "isPR=true"],
    );
    let said = assert_succeeded(&output);
    assert!(said.contains("Succeeded tf-pr-"), "{said}");
    assert_eq!(site.git(&site.clone(), &["rev-parse", "HEAD"]), site.commit);

    let mut comments = BTreeMap::new();
    for entry in fs::read_dir(site.machine.path("workdir/comments")).unwrap() {
        let comment = fs::read_to_string(entry.unwrap().path()).unwrap();
        let root = ROOTS
            .into_iter()
            .find(|root| comment.contains(&format!("Tofu plan ({root}):")))
            .unwrap_or_else(|| panic!("of no root: {comment}"));
        assert!(comment.starts_with("token of 36 characters\n"), "{comment}");
        assert!(comment.contains("```\n{{.}}\n```"), "{comment}");
        comments.insert(root, comment);
    }
    assert_eq!(comments.keys().copied().collect::<Vec<_>>(), ROOTS);
    for (root, counts) in ROOTS
        .into_iter()
        .zip(["4 to create", "6 to create", "4 to create"])
    {
        assert!(comments[root].contains(counts), "{}", comments[root]);
    }
    // The stand-in for `tf-summarize` says the same of the plan file as of its JSON.
    for (place, root) in ROOTS.into_iter().enumerate() {
        let node = format!("tfplan({place}:{root})");
        let log = text(&site.machine.groundplan(&["logs", "tf-pr-", &node]).stdout);
        let (_, of_json) = comments[root].split_once("{{.}}\n```\n").unwrap();
        assert!(log.ends_with(of_json.trim_start()), "{log}\n{of_json}");
    }

    apply(&site);
}

/// The shared template, on a root of the checkout that somebody has initialized.
fn apply(site: &Site) {
    let root = "src/github.com/acme/infra/terraform";
    let initialized = site
        .machine
        .command(tool("tofu").to_str().unwrap())
        .args(["init", "-no-color"])
        .current_dir(site.machine.path("workdir").join(root))
        .output()
        .unwrap();
    assert!(
        initialized.status.success(),
        "{}",
        text(&initialized.stderr)
    );
    let mounted = site.documents.apply.replace(
        "      container:\n",
        "      container:\n        volumeMounts:\n          - name: workdir\n            \
         mountPath: /workdir\n",
    );
    let volume = "  entrypoint: apply\n  volumes:\n    - name: workdir\n      \
                  persistentVolumeClaim:\n        claimName: workdir\n";
    let document = mounted.replace("  entrypoint: apply\n", volume);
    let document = document.replace(
        "  name: terraform-apply\n",
        "  name: terraform-apply\n  namespace: ci\n",
    );
    let path = format!("terraform-path={root}");
    let output = site.run("apply.yaml", &document, &["-p", &path]);
    let said = assert_succeeded(&output);
    assert!(
        said.contains("Apply complete! Resources: 4 added, 0 changed, 0 destroyed."),
        "{said}"
    );
    let state = site
        .machine
        .path("workdir")
        .join(root)
        .join("terraform.tfstate");
    assert!(fs::read_to_string(state).unwrap().contains("audit_log"));
}

#[test]
fn the_seeds_drift_document_notifies_of_every_root_that_differs() {
    let Some(site) = Site::new() else { return };
    let variable = format!("GIT_COMMIT={}", site.commit);
    let output = site.run(
        "drift.yaml",
        &site.documents.drift,
        &["--pass-env", &variable],
    );
    assert_succeeded(&output);
    let log = site
        .machine
        .groundplan(&["logs", "tf-nightly", "send-notification"]);
    let log = text(&log.stdout);
    for root in ROOTS {
        let notification =
            format!("Infrastructure has diverged from Terraform code in infra/{root}.");
        assert!(log.contains(&notification), "{log}");
    }
    assert_eq!(
        log.matches("Infrastructure drift detected").count(),
        3,
        "{log}"
    );
}

#[test]
fn lint_says_what_the_seeds_pull_request_document_lacks() {
    let Some(documents) = Documents::read() else {
        return;
    };
    let machine = Machine::new();
    machine.write("pull-request.yaml", &documents.pull_request);
    let output = machine.groundplan(&["lint", "pull-request.yaml", "--format", "json"]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let found: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    let told = |severity: &str, words: &[&str]| {
        let found = found.iter().find(|found| {
            let message = found["message"].as_str().unwrap();
            found["severity"] == severity && words.iter().all(|word| message.contains(word))
        });
        found.unwrap_or_else(|| panic!("nothing of {words:?}: {}", text(&output.stdout)))
    };
    let missing = told("error", &["get-pr"]);
    let line = missing["position"]["line"].as_u64().unwrap();
    let referring = documents
        .pull_request
        .lines()
        .nth(usize::try_from(line).unwrap() - 1);
    assert!(referring.unwrap().contains("template: get-pr"), "{missing}");
    for placeholder in [
        "<your-org>",
        "<your-repo>",
        "<your-registry>",
        "<your-secret>",
    ] {
        told("warning", &[placeholder]);
    }
    told("warning", &["GIT_COMMIT"]);
    told("warning", &["isPR"]);
    told("warning", &["/root/.ssh/ssh-deploy-key"]);
    told("warning", &["tfplan-to-comment", "pr_num"]);
    let shown = machine.groundplan(&["lint", "pull-request.yaml"]);
    assert!(text(&shown.stdout).contains("get-pr"));
}
