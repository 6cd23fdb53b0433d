//! The lock space: queues, sets, and Argo's own tables as far as they speak of mutexes.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests read their tables, and say how they fared"
)]

use std::collections::BTreeMap;

use groundplan_engine::{
    id::{NodeId, RunId},
    sync::{Holder, LockAnswer, LockDecision, LockKey, LockRequest, LockSpace, decide},
    time::Timestamp,
};
use proptest::prelude::*;
use serde_json::Value;

fn holder(run: &str, node: Option<&str>) -> Holder {
    Holder {
        run: RunId(run.to_owned()),
        node: node.map(|node| NodeId(node.to_owned())),
    }
}

fn key(name: &str) -> LockKey {
    LockKey::mutex("default", name)
}

fn want(run: &str, keys: &[&str], priority: i32, created: i64) -> LockRequest {
    LockRequest::Acquire {
        holder: holder(run, None),
        holder_name: format!("default/{run}"),
        keys: keys.iter().map(|name| key(name)).collect(),
        priority,
        created_at: Timestamp(created),
    }
}

fn leave(run: &str) -> LockRequest {
    LockRequest::Release {
        holder: holder(run, None),
    }
}

fn told(decision: &LockDecision) -> Vec<String> {
    let answers = decision.answers.iter();
    answers
        .map(|(holder, answer)| {
            let answer = match answer {
                LockAnswer::Granted => "granted".to_owned(),
                LockAnswer::Waiting {
                    blocked_by,
                    holder,
                    place,
                } => format!("{} by {holder}, place {place}", blocked_by.0),
                LockAnswer::Refused { message } => format!("refused: {message}"),
            };
            format!("{}: {answer}", holder.run)
        })
        .collect()
}

#[test]
fn queues_are_ordered_by_priority_then_age_then_name() {
    let mut space = LockSpace::default();
    let requests = [
        want("first", &["m"], 0, 9),
        want("young", &["m"], 0, 5),
        want("b", &["m"], 0, 2),
        want("a", &["m"], 0, 2),
        want("urgent", &["m"], 7, 8),
    ];
    assert_eq!(
        told(&decide(&mut space, &requests[..1])),
        ["first: granted"]
    );
    decide(&mut space, &requests[1..]);
    let order: Vec<_> = space
        .waiting(&key("m"))
        .map(|claim| &claim.holder.run.0)
        .collect();
    assert_eq!(order, ["urgent", "a", "b", "young"]);
    assert_eq!(
        told(&decide(&mut space, &[leave("first")])),
        [
            "urgent: granted",
            "a: default/Mutex/m by default/urgent, place 1",
            "b: default/Mutex/m by default/urgent, place 2",
            "young: default/Mutex/m by default/urgent, place 3",
        ]
    );
}

#[test]
fn a_set_is_granted_whole_or_not_at_all() {
    let mut space = LockSpace::default();
    decide(&mut space, &[want("x", &["a"], 0, 1)]);
    assert_eq!(
        told(&decide(&mut space, &[want("both", &["a", "b"], 0, 2)])),
        ["both: default/Mutex/a by default/x, place 1"]
    );
    assert!(space.holder(&key("b")).is_none());
    assert_eq!(told(&decide(&mut space, &[leave("x")])), ["both: granted"]);
    assert_eq!(
        space
            .holder(&key("b"))
            .map(|claim| claim.holder_name.as_str()),
        Some("default/both")
    );
}

#[test]
fn a_head_that_cannot_run_keeps_no_free_lock_from_others() {
    let mut space = LockSpace::default();
    decide(&mut space, &[want("x", &["a"], 0, 1)]);
    decide(&mut space, &[want("both", &["a", "b"], 0, 2)]);
    assert_eq!(
        told(&decide(&mut space, &[want("tail", &["b"], 0, 3)])),
        ["tail: granted"]
    );
}

#[test]
fn asking_again_changes_nothing_and_is_answered_again() {
    let mut space = LockSpace::default();
    decide(&mut space, &[want("x", &["a"], 0, 1)]);
    let again = decide(&mut space, &[want("x", &["a"], 0, 1)]);
    assert_eq!(
        (again.events.len(), told(&again)),
        (0, vec!["x: granted".to_owned()])
    );
    decide(&mut space, &[want("y", &["a"], 0, 2)]);
    let again = decide(&mut space, &[want("y", &["a"], 0, 2)]);
    assert!(again.events.is_empty());
    assert_eq!(told(&again), ["y: default/Mutex/a by default/x, place 1"]);
    assert_eq!(
        decide(&mut space, &[leave("stranger")]),
        LockDecision::default()
    );
}

#[test]
fn the_same_lock_twice_is_refused() {
    let mut space = LockSpace::default();
    assert_eq!(
        told(&decide(&mut space, &[want("x", &["a", "b", "a"], 0, 1)])),
        ["x: refused: duplicate synchronization item found"]
    );
    assert_eq!(space, LockSpace::default());
}

proptest! {
    /// Whatever is asked and released: no lock has two holders, nobody who could run waits, and
    /// the fold of the events is the space.
    #[test]
    fn no_lock_is_held_by_two_and_none_is_free_in_vain(
        steps in prop::collection::vec((0_u8..6, prop::collection::btree_set(0_u8..4, 1..3), 0_i32..2), 1..40)
    ) {
        let mut space = LockSpace::default();
        let mut fold = LockSpace::default();
        let mut present: BTreeMap<u8, ()> = BTreeMap::new();
        for (at, (run, keys, priority)) in steps.into_iter().enumerate() {
            let name = format!("r{run}");
            let request = if present.remove(&run).is_some() {
                leave(&name)
            } else {
                present.insert(run, ());
                let names: Vec<String> = keys.iter().map(|key| format!("k{key}")).collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                want(&name, &names, priority, i64::try_from(at).expect("few steps"))
            };
            let decision = decide(&mut space, &[request]);
            for event in &decision.events {
                groundplan_engine::sync::evolve(&mut fold, event);
            }
            prop_assert_eq!(&fold, &space);
            for number in 0..4 {
                let lock = key(&format!("k{number}"));
                for claim in space.waiting(&lock) {
                    prop_assert!(
                        claim.keys.iter().any(|key| space.holder(key).is_some()),
                        "a claim waits for nothing"
                    );
                    prop_assert!(!space.has(&claim.holder));
                }
            }
        }
    }
}

/// Rows of a table below the shared conformance data; `None`, said on stderr, where it is absent.
fn table(name: &str) -> Option<Vec<BTreeMap<String, String>>> {
    let root = std::env::var("GROUNDPLAN_SHARED")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared").to_owned());
    let path = format!("{root}/conformance/argo/{name}");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("not run: {path} is absent");
        return None;
    };
    let mut lines = text.lines().map(|line| line.split('\t'));
    let head: Vec<String> = lines.next()?.map(str::to_owned).collect();
    Some(
        lines
            .map(|fields| {
                head.iter()
                    .cloned()
                    .zip(fields.map(str::to_owned))
                    .collect()
            })
            .collect(),
    )
}

fn mutexes_of(json: &str, namespace: &str) -> Option<Vec<LockKey>> {
    let locks: Value = serde_json::from_str(json).ok()?;
    locks
        .as_array()?
        .iter()
        .map(|lock| {
            let own = lock["namespace"].as_str().unwrap_or(namespace);
            Some(LockKey::mutex(own, lock["mutex"].as_str()?))
        })
        .collect()
}

/// Scenarios of mutexes alone; each step is played with the arguments that the row gives.
#[test]
fn argos_mutex_scenarios_hold() {
    let Some(rows) = table("sync.tsv") else {
        return;
    };
    let mut scenarios: BTreeMap<&str, Vec<&BTreeMap<String, String>>> = BTreeMap::new();
    for row in &rows {
        scenarios
            .entry(row["scenario"].as_str())
            .or_default()
            .push(row);
    }
    let (mut checked, mut skipped) = (0, 0);
    let mut wrong = Vec::new();
    for (name, rows) in scenarios {
        let playable = rows.iter().all(|row| {
            let mutexes = row["locks_json"] == "-" || mutexes_of(&row["locks_json"], "d").is_some();
            mutexes && matches!(&*row["op"], "try" | "release" | "release-all")
        });
        if !playable {
            skipped += rows.len();
            continue;
        }
        let mut scenario = Scenario::default();
        for row in rows {
            match scenario.play(row) {
                Ok(()) => checked += 1,
                Err(fault) => wrong.push(format!("{name} {}: {fault}", row["step"])),
            }
        }
    }
    eprintln!(
        "sync.tsv: {checked} of {} rows hold, {skipped} speak of more than mutexes",
        rows.len()
    );
    assert_eq!(wrong, Vec::<String>::new());
    assert!(checked > 0);
}

#[derive(Default)]
struct Scenario {
    space: LockSpace,
    clock: i64,
}

impl Scenario {
    fn play(&mut self, row: &BTreeMap<String, String>) -> Result<(), String> {
        let (namespace, run) = row["workflow"].split_once('/').ok_or("no workflow")?;
        let node = (row["node"] != "-").then_some(row["node"].as_str());
        let holder = holder(run, node);
        let mut shown = row["workflow"].clone();
        if let Some(node) = node {
            shown = format!("{shown}/{node}");
        }
        self.clock += 1;
        match &*row["op"] {
            "try" => {
                let request = LockRequest::Acquire {
                    holder: holder.clone(),
                    holder_name: shown,
                    keys: mutexes_of(&row["locks_json"], namespace).ok_or("no mutexes")?,
                    priority: row["priority"].parse().unwrap_or(0),
                    created_at: Timestamp(row["created"].parse().unwrap_or(self.clock)),
                };
                decide(&mut self.space, &[request]);
                let expected = (row["expected"].as_str(), row["blocked_by"].as_str());
                match (self.space.answer(&holder), expected) {
                    (Some(LockAnswer::Granted), ("acquired", _)) => {}
                    (Some(LockAnswer::Waiting { blocked_by, .. }), ("waiting", by))
                        if by == "-" || blocked_by.0 == by => {}
                    (answer, expected) => return Err(format!("{answer:?}, not {expected:?}")),
                }
            }
            "release" => {
                let request = LockRequest::Release { holder };
                decide(&mut self.space, &[request]);
            }
            _ => {
                // Everything of the workflow, whatever its nodes.
                decide(&mut self.space, &[LockRequest::Release { holder }]);
            }
        }
        self.compare(row)
    }

    /// Compares the number of those who wait. Argo lets a lock lie free until its next holder tries
    /// again; here it is granted at once, so holders may only be more.
    fn compare(&self, row: &BTreeMap<String, String>) -> Result<(), String> {
        let Ok(state) = serde_json::from_str::<Value>(&row["state_json"]) else {
            return Ok(());
        };
        for (lock, expected) in state.as_object().into_iter().flatten() {
            let lock = LockKey(lock.clone());
            let waiting = self.space.waiting(&lock).count() as u64;
            if expected["waiting"]
                .as_u64()
                .is_some_and(|theirs| theirs != waiting)
            {
                return Err(format!("{waiting} wait for {}, not {expected}", lock.0));
            }
            let held = self
                .space
                .holder(&lock)
                .map(|claim| claim.holder_name.clone());
            for theirs in expected["holders"].as_array().into_iter().flatten() {
                if held.as_deref() != theirs.as_str() {
                    return Err(format!("{held:?} holds {}, not {expected}", lock.0));
                }
            }
        }
        Ok(())
    }
}

/// Names of mutexes, holders of one workflow, and sets that may stand in one list.
#[test]
fn argos_lock_names_hold() {
    let Some(rows) = table("lock-names.tsv") else {
        return;
    };
    let (mut good, mut other) = (0, 0);
    for row in &rows {
        let input: Value = serde_json::from_str(&row["input_json"]).expect("the input");
        let expected = &row["expected_json"];
        match &*row["op"] {
            "decode" if input.as_str().is_some_and(|name| name.contains("/Mutex/")) => {
                let parts: Value = serde_json::from_str(expected).expect("the parts");
                let text = |part: &str| parts[part].as_str().unwrap_or_default().to_owned();
                let key = LockKey::mutex(&text("namespace"), &text("name"));
                assert_eq!(Some(key.0.as_str()), input.as_str(), "{}", row["id"]);
            }
            "duplicates" => {
                let keys = mutexes_of(&row["input_json"], "default").expect("mutexes");
                let request = LockRequest::Acquire {
                    holder: holder("r", None),
                    holder_name: "default/r".to_owned(),
                    keys,
                    priority: 0,
                    created_at: Timestamp(0),
                };
                let decision = decide(&mut LockSpace::default(), &[request]);
                let accepted = decision.answers[0].1 == LockAnswer::Granted;
                assert_eq!(accepted, expected == "accepted", "{}", row["id"]);
            }
            _ => {
                other += 1;
                continue;
            }
        }
        good += 1;
    }
    eprintln!(
        "lock-names.tsv: {good} of {} rows hold, {other} speak of more than mutexes",
        rows.len()
    );
    assert!(good > 0);
}
