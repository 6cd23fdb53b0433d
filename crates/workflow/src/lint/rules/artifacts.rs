//! Artifacts of templates: paths where files are, and none where there are none.

use super::super::model::{At, Form, Template};
use super::super::report::Report;

pub(super) fn check(template: &Template<'_>, report: &mut Report<'_>) {
    let Some(form) = template.form() else { return };
    for artifact in template.input_artifacts() {
        path(form, &artifact, report);
        if artifact.text("from").is_some() {
            report.error(
                "misplaced-field",
                &artifact.place("from"),
                "an input says what it takes, not where it is from".to_owned(),
                Some("put `from` into the arguments of the call".to_owned()),
            );
        }
        repository(&artifact, report);
    }
    for artifact in template.output_artifacts() {
        path(form, &artifact, report);
    }
    if let Some(location) = template.at.get("archiveLocation") {
        repository(&location, report);
    }
}

fn path(form: Form, artifact: &At<'_>, report: &mut Report<'_>) {
    match artifact.text("path") {
        None if form.is_leaf() => report.error(
            "missing-path",
            artifact,
            format!("artifact `{}` has no `path`", artifact.name()),
            Some("add the path of its file in the container".to_owned()),
        ),
        Some(path) if form.is_leaf() && path.split('/').any(|part| part == "..") => report.error(
            "invalid-path",
            &artifact.place("path"),
            format!("the path `{path}` leads out through `..`"),
            Some("write the path without `..`".to_owned()),
        ),
        Some(_) if form.is_leaf() => {}
        Some(_) => report.error(
            "misplaced-field",
            &artifact.place("path"),
            "only a template with a container has files at a path".to_owned(),
            Some("remove `path`".to_owned()),
        ),
        None => {}
    }
}

fn repository(artifact: &At<'_>, report: &mut Report<'_>) {
    if let Some(git) = artifact.get("git")
        && git.text("repo").is_none()
    {
        report.error(
            "missing-value",
            &git,
            format!("artifact `{}` names no repository", artifact.name()),
            Some("add `repo:`".to_owned()),
        );
    }
}
