//! The seed's documents, read from beside this repository and filled in as a user would.

#![expect(clippy::print_stderr, reason = "tests say what does not run")]
#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::path::{Path, PathBuf};

/// The three complete documents in the order of the text.
pub(crate) struct Documents {
    pub(crate) pull_request: String,
    pub(crate) drift: String,
    pub(crate) apply: String,
}

impl Documents {
    /// As they are written; `None`, said aloud, where the text is absent.
    pub(crate) fn read() -> Option<Self> {
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
        let shared = std::env::var_os("GROUNDPLAN_SHARED").map_or(beside, PathBuf::from);
        let file = shared.join("seeds/opentofu-on-argo-workflows.txt");
        let Ok(text) = std::fs::read_to_string(&file) else {
            eprintln!("not run: {} is absent", file.display());
            return None;
        };
        let [pull_request, drift, apply] = complete(&text).try_into().unwrap();
        Some(Documents {
            pull_request,
            drift,
            apply,
        })
    }

    /// With the placeholders filled in: `user` is who clones over ssh.
    pub(crate) fn filled_in(self, user: &str) -> Self {
        let fill = |text: String| {
            text.replace("[e-mail]:", &format!("{user}@github.com:"))
                .replace("<your-org>", "acme")
                .replace("<your-repo>", "infra")
                .replace("<your-registry>", "registry.example/acme")
                .replace("<your-secret>", "infra-secrets")
        };
        Documents {
            pull_request: fill(self.pull_request),
            drift: fill(self.drift),
            apply: fill(self.apply),
        }
    }
}

/// Every document from its `apiVersion` to the prose that follows it.
fn complete(text: &str) -> Vec<String> {
    let mut documents: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let is_key = line
            .split_once(':')
            .is_some_and(|(key, _)| key.chars().all(|char| char.is_ascii_alphanumeric()));
        if line.starts_with("apiVersion: argoproj.io/") {
            documents.push(String::new());
            inside = true;
        } else if !line.is_empty() && !line.starts_with(' ') && !is_key {
            inside = false;
        }
        if let Some(document) = documents.last_mut().filter(|_| inside) {
            document.push_str(line);
            document.push('\n');
        }
    }
    documents
}
