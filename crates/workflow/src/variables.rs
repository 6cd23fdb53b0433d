//! The catalogue of variables: which dotted names exist, and where they may be used.
//!
//! The engine fills scopes with these names; lint asks whether a tag names one of them. What
//! depends on the document (its parameters, steps, tasks, artifacts) is given as [`Names`].

use std::collections::BTreeSet;

use crate::nearest::nearest;

/// Where a text stands, as far as it decides what variables it may use. Kinds add up: a script
/// sees what every text sees and what a template sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Anywhere in the workflow: `workflow.…`.
    Workflow,
    /// In an exit handler or a hook of the workflow: also `workflow.status`, `workflow.failures`.
    ExitHandler,
    /// In any template: also its inputs and `node.name`.
    Template,
    /// In a container or script: also `pod.name`, `retries`, paths of artifacts and outputs.
    Leaf,
    /// In a step or the outputs of a steps template: also `steps.…`.
    Steps,
    /// In a task or the outputs of a DAG template: also `tasks.…`.
    Dag,
    /// In a step or task with a fan-out: also `item`.
    Item,
    /// In a retry strategy's expression: also `lastRetry.…`, `retries`.
    Retry,
    /// In a metric: also `status`, `duration`, `exitCode`, `resourcesDuration.…`.
    Metric,
    /// In a condition of an HTTP template: also `request.…`, `response.…`.
    Http,
    /// In a schedule's condition: only `cronworkflow.…`.
    Cron,
}

/// Names of the document that variables are made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Parameters of the workflow's arguments.
    pub workflow_parameters: BTreeSet<String>,
    /// Artifacts of the workflow's arguments.
    pub workflow_artifacts: BTreeSet<String>,
    /// Outputs with a `globalName` of any template.
    pub global_outputs: BTreeSet<String>,
    /// Input parameters of the template.
    pub input_parameters: BTreeSet<String>,
    /// Input artifacts of the template.
    pub input_artifacts: BTreeSet<String>,
    /// Output parameters of the template.
    pub output_parameters: BTreeSet<String>,
    /// Output artifacts of the template.
    pub output_artifacts: BTreeSet<String>,
    /// Steps or tasks that may be referred to.
    pub siblings: Vec<Sibling>,
    /// Keys of the fan-out's items, where they are literal maps; `None` where they are not known.
    pub item_keys: Option<BTreeSet<String>>,
}

/// A step or task that others may refer to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sibling {
    /// Its name.
    pub name: String,
    /// Output parameters of its template; `None` where the template is not known here.
    pub output_parameters: Option<BTreeSet<String>>,
    /// Output artifacts of its template; `None` where the template is not known here.
    pub output_artifacts: Option<BTreeSet<String>>,
}

/// What the catalogue says about a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// It exists here.
    Yes,
    /// It may exist: it depends on what only a run shows (labels, global outputs, items).
    Perhaps,
    /// It does not exist here; with the nearest name that does.
    No {
        /// The nearest known name.
        nearest: Option<String>,
    },
}

const WORKFLOW: [&str; 12] = [
    "workflow.name",
    "workflow.namespace",
    "workflow.uid",
    "workflow.mainEntrypoint",
    "workflow.serviceAccountName",
    "workflow.priority",
    "workflow.duration",
    "workflow.scheduledTime",
    "workflow.creationTimestamp",
    "workflow.parameters",
    "workflow.labels",
    "workflow.annotations",
];
/// What a step or task has besides its outputs.
const SIBLING: [&str; 8] = [
    "id",
    "ip",
    "status",
    "exitCode",
    "startedAt",
    "finishedAt",
    "hostNodeName",
    "name",
];
const LAST_RETRY: [&str; 4] = ["exitCode", "status", "duration", "message"];
const METRIC: [&str; 6] = [
    "status",
    "duration",
    "exitCode",
    "outputs.result",
    "resourcesDuration.cpu",
    "resourcesDuration.memory",
];
const REQUEST: [&str; 4] = ["method", "url", "body", "headers"];
const RESPONSE: [&str; 3] = ["statusCode", "body", "headers"];
const CRON: [&str; 5] = [
    "name",
    "namespace",
    "lastScheduledTime",
    "failed",
    "succeeded",
];

/// Whether `name`, the whole text of a simple tag, may be used in a text of these places.
pub fn is_known(name: &str, places: &[Place], names: &Names) -> Known {
    if places
        .iter()
        .any(|place| depends_on_run(name, *place, names))
    {
        return Known::Perhaps;
    }
    let known = catalogue(places, names);
    if known.contains(name) {
        return Known::Yes;
    }
    Known::No {
        nearest: nearest(name, known.iter().map(String::as_str)).map(str::to_owned),
    }
}

/// Every name that is certain in a text of these places.
pub fn catalogue(places: &[Place], names: &Names) -> BTreeSet<String> {
    let mut known = Catalogue::default();
    for place in places {
        known.add_place(*place, names);
    }
    known.names
}

/// Names that only a run can confirm.
fn depends_on_run(name: &str, place: Place, names: &Names) -> bool {
    let below = |prefix: &str| name.strip_prefix(prefix).filter(|rest| !rest.is_empty());
    match place {
        Place::Workflow => {
            let labels = below("workflow.labels.").or(below("workflow.annotations."));
            let outputs =
                below("workflow.outputs.parameters.").or(below("workflow.outputs.artifacts."));
            let created = below("workflow.creationTimestamp.");
            labels.is_some_and(|key| key != "json")
                || outputs.is_some()
                || created.is_some_and(|format| !matches!(format, "RFC3339" | "s"))
        }
        Place::Item => names.item_keys.is_none() && below("item.").is_some(),
        Place::Steps => sibling_depends_on_run(below("steps."), names),
        Place::Dag => sibling_depends_on_run(below("tasks."), names),
        Place::Http => below("request.headers")
            .or(below("response.headers"))
            .is_some(),
        Place::Cron => below("cronworkflow.labels.")
            .or(below("cronworkflow.annotations."))
            .is_some(),
        Place::ExitHandler | Place::Template | Place::Leaf | Place::Retry | Place::Metric => false,
    }
}

/// Outputs of a sibling whose template is not known.
fn sibling_depends_on_run(rest: Option<&str>, names: &Names) -> bool {
    let Some(rest) = rest else { return false };
    names.siblings.iter().any(|sibling| {
        let below = rest.strip_prefix(sibling.name.as_str()).unwrap_or("");
        let output = |kind: &str| {
            below
                .strip_prefix(kind)
                .is_some_and(|name| !name.is_empty())
        };
        (sibling.output_parameters.is_none() && output(".outputs.parameters."))
            || (sibling.output_artifacts.is_none() && output(".outputs.artifacts."))
    })
}

#[derive(Default)]
struct Catalogue {
    names: BTreeSet<String>,
}

impl Catalogue {
    fn add(&mut self, name: impl Into<String>) {
        self.names.insert(name.into());
    }

    fn add_below<S: AsRef<str>>(&mut self, prefix: &str, names: impl IntoIterator<Item = S>) {
        for name in names {
            self.add(format!("{prefix}.{}", name.as_ref()));
        }
    }

    fn add_place(&mut self, place: Place, names: &Names) {
        match place {
            Place::Workflow => self.add_workflow(names),
            Place::ExitHandler => {
                self.add("workflow.status");
                self.add("workflow.failures");
            }
            Place::Template => {
                self.add("node.name");
                self.add("inputs.parameters");
                self.add_below("inputs.parameters", &names.input_parameters);
                self.add_below("inputs.artifacts", &names.input_artifacts);
            }
            Place::Leaf => {
                self.add("pod.name");
                self.add("retries");
                self.add_below("lastRetry", LAST_RETRY);
                for artifact in &names.input_artifacts {
                    self.add(format!("inputs.artifacts.{artifact}.path"));
                }
                for artifact in &names.output_artifacts {
                    self.add(format!("outputs.artifacts.{artifact}.path"));
                }
                for parameter in &names.output_parameters {
                    self.add(format!("outputs.parameters.{parameter}.path"));
                }
            }
            Place::Steps => {
                self.add("steps.name");
                self.add_siblings("steps", names);
            }
            Place::Dag => {
                self.add("tasks.name");
                self.add_siblings("tasks", names);
            }
            Place::Item => {
                self.add("item");
                self.add_below("item", names.item_keys.iter().flatten());
            }
            Place::Retry => {
                self.add("retries");
                self.add_below("lastRetry", LAST_RETRY);
            }
            Place::Metric => {
                METRIC.into_iter().for_each(|name| self.add(name));
                self.add("retries");
                self.add_below("outputs.parameters", &names.output_parameters);
            }
            Place::Http => {
                self.add_below("request", REQUEST);
                self.add_below("response", RESPONSE);
            }
            Place::Cron => self.add_below("cronworkflow", CRON),
        }
    }

    fn add_workflow(&mut self, names: &Names) {
        WORKFLOW.into_iter().for_each(|name| self.add(name));
        for map in ["parameters", "labels", "annotations"] {
            self.add(format!("workflow.{map}.json"));
        }
        for format in ["RFC3339", "s"] {
            self.add(format!("workflow.creationTimestamp.{format}"));
        }
        self.add_below("workflow.parameters", &names.workflow_parameters);
        self.add_below("workflow.artifacts", &names.workflow_artifacts);
        self.add_below("workflow.outputs.parameters", &names.global_outputs);
        self.add_below("workflow.outputs.artifacts", &names.global_outputs);
    }

    fn add_siblings(&mut self, prefix: &str, names: &Names) {
        for sibling in &names.siblings {
            let outputs = format!("{prefix}.{}.outputs", sibling.name);
            self.add_below(&format!("{prefix}.{}", sibling.name), SIBLING);
            self.add(format!("{outputs}.result"));
            self.add(format!("{outputs}.parameters"));
            self.add_below(
                &format!("{outputs}.parameters"),
                sibling.output_parameters.iter().flatten(),
            );
            self.add_below(
                &format!("{outputs}.artifacts"),
                sibling.output_artifacts.iter().flatten(),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn names() -> Names {
        Names {
            workflow_parameters: set(&["branch"]),
            input_parameters: set(&["path"]),
            output_parameters: set(&["plan"]),
            siblings: vec![
                Sibling {
                    name: "plan".to_owned(),
                    output_parameters: Some(set(&["summary"])),
                    output_artifacts: Some(BTreeSet::new()),
                },
                Sibling {
                    name: "far".to_owned(),
                    ..Sibling::default()
                },
            ],
            ..Names::default()
        }
    }

    #[track_caller]
    fn check(name: &str, places: &[Place], expected: Known) {
        assert_eq!(
            is_known(name, places, &names()),
            expected,
            "{name} in {places:?}"
        );
    }

    fn no(nearest: &str) -> Known {
        Known::No {
            nearest: Some(nearest.to_owned()),
        }
    }

    #[test]
    fn a_name_is_known_where_it_may_be_used() {
        use Place::{Dag, ExitHandler, Item, Leaf, Steps, Template, Workflow};
        check("workflow.parameters.branch", &[Workflow], Known::Yes);
        check(
            "workflow.parameters.brnch",
            &[Workflow],
            no("workflow.parameters.branch"),
        );
        check("workflow.labels.team", &[Workflow], Known::Perhaps);
        check("workflow.creationTimestamp.%Y", &[Workflow], Known::Perhaps);
        check("workflow.status", &[Workflow, ExitHandler], Known::Yes);
        check("inputs.parameters.path", &[Workflow, Template], Known::Yes);
        check(
            "inputs.parameters.paht",
            &[Workflow, Template],
            no("inputs.parameters.path"),
        );
        check(
            "outputs.parameters.plan.path",
            &[Workflow, Template, Leaf],
            Known::Yes,
        );
        check(
            "steps.plan.outputs.parameters.summary",
            &[Workflow, Steps],
            Known::Yes,
        );
        check(
            "steps.plan.outputs.parameters.sumary",
            &[Workflow, Steps],
            no("steps.plan.outputs.parameters.summary"),
        );
        check(
            "steps.far.outputs.parameters.any",
            &[Workflow, Steps],
            Known::Perhaps,
        );
        check("tasks.plan.exitCode", &[Workflow, Dag], Known::Yes);
        check("item.name", &[Workflow, Item], Known::Perhaps);
        check("item", &[Workflow, Item], Known::Yes);
    }

    #[test]
    fn a_name_of_another_place_is_not_known() {
        let known = is_known("workflow.status", &[Place::Workflow], &names());
        assert!(matches!(known, Known::No { .. }));
        let known = is_known("item", &[Place::Workflow], &names());
        assert_eq!(known, Known::No { nearest: None });
    }
}
