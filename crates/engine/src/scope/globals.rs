//! What every template of a run knows: `workflow.…`.

use std::rc::Rc;

use serde::Serialize;

use crate::{decide::Turn, run::Run, time::Timestamp};
use groundplan_workflow::expr::{expression::Moment, identity, scope::MapScope};

impl Turn<'_> {
    /// What every template of the run knows.
    pub(crate) fn globals(&mut self) -> Rc<MapScope> {
        if let Some(globals) = &self.globals {
            return Rc::clone(globals);
        }
        let globals = Rc::new(globals_of(self.run, self.now));
        self.globals = Some(Rc::clone(&globals));
        globals
    }

    /// What expressions in a node may know of the world: the turn's time, and chance that depends
    /// on nothing but the run's seed and the node.
    pub(crate) fn moment(&self, node_name: &str) -> Moment {
        let seed = self.run.expect_new().seed ^ u64::from(identity::fnv1a32(node_name));
        Moment {
            seed,
            now: instant(self.now),
        }
    }
}

fn instant(at: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

/// An instant as `2026-01-31T23:59:59Z`.
pub(crate) fn rfc3339(at: Timestamp) -> String {
    instant(Timestamp(at.seconds() * 1000)).to_string()
}

/// The letters that `workflow.creationTimestamp.<letter>` takes.
const LETTERS: &str = "BbmAadHIMSYypZzL";

/// Marks the time that a cron workflow was due.
const SCHEDULED_TIME: &str = "workflows.argoproj.io/scheduled-time";

fn globals_of(run: &Run, now: Timestamp) -> MapScope {
    let new = run.expect_new();
    let (metadata, spec) = (&new.workflow.metadata, &new.workflow.spec);
    let mut scope = MapScope::new();
    scope.set("workflow.name", run.name());
    scope.set("workflow.namespace", run.namespace());
    scope.set("workflow.uid", new.uid.as_str());
    scope.set("workflow.mainEntrypoint", spec.entrypoint.as_str());
    scope.set(
        "workflow.serviceAccountName",
        spec.service_account_name.as_str(),
    );
    scope.set("workflow.status", run.phase().as_str());
    scope.set("workflow.duration", duration_of(run, now));
    if let Some(priority) = spec.priority {
        scope.set("workflow.priority", priority.to_string());
    }
    if let Some(scheduled) = metadata.annotations.get(SCHEDULED_TIME) {
        scope.set("workflow.scheduledTime", scheduled.as_str());
    }
    set_creation_time(&mut scope, new.created_at);
    let parameters = go_json_of(&spec.arguments.parameters);
    scope.set("workflow.parameters", parameters.as_str());
    scope.set("workflow.parameters.json", parameters);
    for parameter in &spec.arguments.parameters {
        if let Some(value) = &parameter.value {
            scope.set(
                format!("workflow.parameters.{}", parameter.name),
                value.as_str(),
            );
        }
    }
    for (word, map) in [
        ("labels", &metadata.labels),
        ("annotations", &metadata.annotations),
    ] {
        let list = go_json_of(map);
        scope.set(format!("workflow.{word}"), list.as_str());
        scope.set(format!("workflow.{word}.json"), list);
        for (name, value) in map {
            scope.set(format!("workflow.{word}.{name}"), value.as_str());
        }
    }
    scope
}

fn duration_of(run: &Run, now: Timestamp) -> String {
    let millis = match run.started_at() {
        Some(start) => now.0.saturating_sub(start.0).max(0),
        None => 0,
    };
    format!("{}.{:03}000", millis / 1000, millis % 1000)
}

fn set_creation_time(scope: &mut MapScope, created_at: Timestamp) {
    const NAME: &str = "workflow.creationTimestamp";
    let time = instant(Timestamp(created_at.seconds() * 1000));
    scope.set(NAME, rfc3339(created_at));
    scope.set(format!("{NAME}.RFC3339"), rfc3339(created_at));
    scope.set(format!("{NAME}.s"), created_at.seconds().to_string());
    for letter in LETTERS.chars() {
        let text = match letter {
            'L' => ".000".to_owned(),
            _ => time.strftime(&format!("%{letter}")).to_string(),
        };
        scope.set(format!("{NAME}.{letter}"), text);
    }
}

/// A value as Go prints JSON: in the order of its fields, with `<`, `>` and `&` escaped.
pub(crate) fn go_json_of<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value)
        .unwrap_or_default()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_printed_in_whole_seconds_of_utc() {
        assert_eq!(rfc3339(Timestamp(946_684_800_999)), "2000-01-01T00:00:00Z");
        assert_eq!(rfc3339(Timestamp(-1)), "1969-12-31T23:59:59Z");
    }

    #[test]
    fn the_creation_time_has_its_letters() {
        use groundplan_workflow::expr::scope::{Lookup, Scope};
        let mut scope = MapScope::new();
        set_creation_time(&mut scope, Timestamp(946_684_800_000));
        for (letter, text) in [
            ("Y", "2000"),
            ("m", "01"),
            ("d", "01"),
            ("H", "00"),
            ("A", "Saturday"),
            ("p", "AM"),
            ("Z", "UTC"),
            ("z", "+0000"),
            ("s", "946684800"),
        ] {
            let name = format!("workflow.creationTimestamp.{letter}");
            assert_eq!(scope.get(&name), Lookup::Text(text), "{letter}");
        }
    }
}
