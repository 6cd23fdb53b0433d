//! The documents that the project started from, as written.

use groundplan_workflow::diagnostic::Severity;
use groundplan_workflow::lint::lint;
use groundplan_workflow::read::SourceFile;

use crate::shared;

/// The seed's complete documents in order: pull request, drift, apply.
pub(crate) fn documents() -> Option<Vec<String>> {
    let text = shared::text(&shared::path("seeds/opentofu-on-argo-workflows.txt")?);
    let mut documents: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let is_key = line
            .split_once(':')
            .is_some_and(|(key, _)| key.chars().all(|c| c.is_ascii_alphanumeric()));
        if line.starts_with("apiVersion: argoproj.io/") {
            documents.push(String::new());
            inside = true;
        } else if !line.is_empty() && !line.starts_with(' ') && !is_key {
            inside = false;
        }
        if inside && let Some(document) = documents.last_mut() {
            document.push_str(line);
            document.push('\n');
        }
    }
    Some(documents)
}

/// Severity, line and message of everything found.
fn findings(text: &str) -> Vec<String> {
    lint(&[SourceFile::new("seed.yaml", text)])
        .iter()
        .map(|found| {
            let place = found.position.unwrap_or_default();
            let severity = match found.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Notice => "notice",
            };
            format!(
                "{}:{} {severity}[{}] {}",
                place.line, place.column, found.code, found.message
            )
        })
        .collect()
}

#[test]
fn lint_tells_what_the_seeds_documents_lack() {
    let Some(documents) = documents() else { return };
    let [pull_request, drift, apply] = documents.as_slice() else {
        panic!("the seed has three complete documents");
    };
    assert_eq!(findings(pull_request), PULL_REQUEST);
    let only_drift = [
        "9:3 notice[ignored-schedule] belongs to the schedule, ignored by `run`: \
         `successfulJobsHistoryLimit`, `failedJobsHistoryLimit`, `schedules`, `timezone`",
        "147:21 warning[unused-input] template `send-notification` never uses its input `path`",
    ];
    let found = findings(drift);
    for expected in only_drift {
        assert!(
            found.contains(&expected.to_owned()),
            "{expected} in {found:#?}"
        );
    }
    assert!(
        !found.iter().any(|line| line.contains(" error[")),
        "{found:#?}"
    );
    assert_eq!(
        findings(apply),
        [
            "13:16 warning[unfilled-placeholder] `<your-registry>` is a placeholder",
            "18:16 warning[missing-file] the script uses `/workdir`, and no volume brings it",
            "24:23 warning[unfilled-placeholder] `<your-secret>` is a placeholder, here and in 1 \
             more places",
        ]
    );
}

const PULL_REQUEST: [&str; 11] = [
    "7:3 notice[ignored-field] only a cluster can honour this, ignored here: \
     `serviceAccountName`, `volumeClaimTemplates.spec`",
    "28:23 error[undefined-template] task `get-pr` refers to template `get-pr`, which is defined \
     nowhere",
    "89:46 warning[unfilled-placeholder] `<your-org>` is a placeholder, here and in 5 more places",
    "91:21 warning[missing-file] the script uses `/root/.ssh/ssh-deploy-key`, and no volume \
     brings it",
    "94:23 warning[unfilled-placeholder] `[e-mail]` is a placeholder",
    "94:43 warning[unfilled-placeholder] `<your-repo>` is a placeholder, here and in 7 more places",
    "96:26 warning[unset-variable] the script reads `GIT_COMMIT`, and nothing in the document \
     sets it",
    "106:16 warning[unfilled-placeholder] `<your-registry>` is a placeholder, here and in 2 more \
     places",
    "120:23 warning[unfilled-placeholder] `<your-secret>` is a placeholder, here and in 6 more \
     places",
    "199:19 warning[unused-input] template `tfplan-to-comment` never uses its input `pr_num`",
    "219:19 warning[unset-variable] the script reads `isPR`, and nothing in the document sets it",
];
