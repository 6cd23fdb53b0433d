//! The rules, one a file. Rules of a document see it once, rules of a template each template,
//! those within calls included.

mod arguments;
mod artifacts;
mod calls;
mod cluster;
mod container_set;
mod cron;
mod dag;
mod leaf;
mod loops;
mod metrics;
mod names;
mod outputs;
mod placeholders;
mod references;
mod resource;
mod retry;
mod scripts;
mod tags;
mod template_type;
mod unused;
mod workflow;

pub(super) use dag::dependencies;

use super::Subject;
use super::model::{Home, Template};
use super::report::Report;

/// Checks a whole document.
pub(super) fn check(subject: &Subject<'_>, report: &mut Report<'_>) {
    names::document(subject.home, report);
    workflow::check(subject, report);
    cron::check(subject.home, report);
    arguments::document(subject, report);
    retry::document(subject.home, report);
    cluster::document(subject.home, report);
    for one in subject.home.all_templates() {
        template(subject, subject.home, one, report);
        unused::check(one, report);
        scripts::check(subject.home, one, report);
    }
    for one in &subject.home.templates {
        tags::check(subject, subject.home, one, None, report);
    }
    references::check(subject, report);
    placeholders::check(subject.home, report);
}

/// What Argo asks of a template, tags aside.
fn template(subject: &Subject<'_>, home: &Home<'_>, one: &Template<'_>, report: &mut Report<'_>) {
    names::template(one, report);
    template_type::check(one, report);
    calls::check(subject, home, one, report);
    arguments::template(subject, home, one, report);
    dag::check(one, report);
    loops::check(one, report);
    outputs::check(one, report);
    artifacts::check(one, report);
    leaf::check(home, one, report);
    container_set::check(one, report);
    resource::check(one, report);
    metrics::check(one, report);
    retry::template(one, report);
    cluster::template(one, report);
}
