//! What every [`Store`] must do.

mod leases;
mod processes;
mod runs;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use groundplan_engine::{id::RunId, time::Timestamp};
use groundplan_ports::{
    error::{ErrorKind, PortResult},
    store::{
        AggregateId, AggregateKind, Change, Commit, Committed, EventRecord, Incoming, InputId,
        Lease, Owner, Projection, Receipt, Revision, RunRow, Settlement, Store, Wanted,
    },
};

pub use leases::{
    claim_again_renews, claim_any_is_fair_and_limited, claim_any_takes_what_has_work,
    claim_passes_over_a_live_lease, dead_owner_is_replaced_at_once, released_lease_is_worthless,
};
pub use processes::{contending_writers_lose_nothing, hint_reaches_another_process};
pub use runs::{run_is_found_by_id_name_or_prefix, runs_are_listed_newest_first};

use runs::row;

/// An implementation on a fresh, empty journal.
pub trait Fixture: Send + Sync {
    /// Another process's handle on the journal.
    fn handle(&self) -> Arc<dyn Store>;

    /// An owner on this host whose process lives no more, as far as the handles can know.
    fn dead_owner(&self) -> Owner;
}

/// Makes a test of every case. The argument is an expression for a fresh [`Fixture`].
#[macro_export]
macro_rules! store_contract {
    ($fixture:expr) => {
        $crate::contract_cases!(
            store,
            $fixture,
            receives_a_delivery_once,
            inputs_wait_in_order_until_consumed,
            commit_needs_the_expected_revision,
            conflict_changes_nothing,
            commit_needs_the_newest_lease,
            run_needs_a_lease_and_lock_space_has_none,
            input_is_consumed_by_one_turn,
            two_aggregates_change_together,
            deliveries_arrive_once,
            actions_stay_until_settled,
            commit_settles_actions,
            snapshot_shortens_load_and_keeps_events,
            claim_any_takes_what_has_work,
            claim_any_is_fair_and_limited,
            claim_passes_over_a_live_lease,
            claim_again_renews,
            dead_owner_is_replaced_at_once,
            released_lease_is_worthless,
            hint_reaches_another_process,
            runs_are_listed_newest_first,
            run_is_found_by_id_name_or_prefix,
            contending_writers_lose_nothing,
        );
    };
}

const MINUTE: Duration = Duration::from_secs(60);

fn run(key: &str) -> AggregateId {
    AggregateId {
        kind: AggregateKind::Run,
        key: key.to_owned(),
    }
}

fn locks() -> AggregateId {
    AggregateId {
        kind: AggregateKind::LockSpace,
        key: "locks".to_owned(),
    }
}

/// An owner on a host of which nothing is known.
fn owner(host: &str) -> Owner {
    Owner {
        host: format!("{host}.example.invalid"),
        boot_id: "11111111-2222-3333-4444-555555555555".to_owned(),
        pid: 1,
        start_time: 1,
    }
}

fn incoming(aggregate: &AggregateId, delivery: &str) -> Incoming {
    Incoming {
        aggregate: aggregate.clone(),
        delivery: delivery.to_owned(),
        body: delivery.as_bytes().to_vec(),
    }
}

fn event(body: &str) -> EventRecord {
    EventRecord {
        kind: "happened".to_owned(),
        version: 1,
        body: body.as_bytes().to_vec(),
    }
}

fn change(aggregate: &AggregateId, expected: u64, lease: Option<&Lease>) -> Change {
    Change {
        aggregate: aggregate.clone(),
        expected: Revision(expected),
        lease: lease.cloned(),
        events: vec![event("something")],
        actions: Vec::new(),
        snapshot: None,
        timer: None,
    }
}

fn turn(change: Change) -> Commit {
    Commit {
        changes: vec![change],
        ..Commit::default()
    }
}

async fn claim(store: &dyn Store, who: &str, aggregate: &AggregateId) -> Lease {
    let wanted = Wanted::This(aggregate.clone());
    let mut leases = store
        .claim(&owner(who), wanted, Timestamp(0), MINUTE)
        .await
        .unwrap();
    assert_eq!(leases.len(), 1, "`{}` can be claimed", aggregate.key);
    leases.remove(0)
}

async fn claim_any(store: &dyn Store, who: &str, at: i64, limit: usize) -> Vec<String> {
    store
        .claim(&owner(who), Wanted::Any(limit), Timestamp(at), MINUTE)
        .await
        .unwrap()
        .into_iter()
        .map(|lease| lease.aggregate.key)
        .collect()
}

fn kind<T: std::fmt::Debug>(result: PortResult<T>) -> ErrorKind {
    result.expect_err("the call must be refused").kind
}

fn bodies(actions: &[Committed]) -> Vec<&str> {
    actions
        .iter()
        .map(|action| std::str::from_utf8(action.body()).unwrap())
        .collect()
}

/// A repeated delivery is a duplicate, also after it was consumed; names are per aggregate.
pub async fn receives_a_delivery_once(fixture: &dyn Fixture) {
    let (store, other) = (fixture.handle(), fixture.handle());
    let (one, two) = (run("one"), run("two"));
    let receipt = store.receive(incoming(&one, "d")).await.unwrap();
    assert_eq!(receipt, Receipt::Stored);
    let receipt = other.receive(incoming(&one, "d")).await.unwrap();
    assert_eq!(receipt, Receipt::Duplicate);
    let receipt = other.receive(incoming(&two, "d")).await.unwrap();
    assert_eq!(receipt, Receipt::Stored);

    let lease = claim(&*store, "a", &one).await;
    let waiting = store.waiting_inputs(&one).await.unwrap();
    assert_eq!(waiting.len(), 1);
    let mut commit = turn(change(&one, 0, Some(&lease)));
    commit.consumed = vec![waiting[0].id];
    store.commit(commit).await.unwrap();
    let receipt = store.receive(incoming(&one, "d")).await.unwrap();
    assert_eq!(receipt, Receipt::Duplicate);
    assert!(other.waiting_inputs(&one).await.unwrap().is_empty());
}

/// Inputs keep their order and are there until a turn consumes them.
pub async fn inputs_wait_in_order_until_consumed(fixture: &dyn Fixture) {
    let store = fixture.handle();
    let id = run("r");
    for delivery in ["c", "a", "b"] {
        store.receive(incoming(&id, delivery)).await.unwrap();
    }
    let waiting = store.load(&id).await.unwrap().inputs;
    assert_eq!(waiting, store.waiting_inputs(&id).await.unwrap());
    let order: Vec<_> = waiting.iter().map(|input| input.body.clone()).collect();
    assert_eq!(order, [b"c", b"a", b"b"]);
    assert!(waiting.is_sorted_by_key(|input| input.id));

    let lease = claim(&*store, "a", &id).await;
    let mut commit = turn(change(&id, 0, Some(&lease)));
    commit.consumed = vec![waiting[0].id, waiting[2].id];
    store.commit(commit).await.unwrap();
    let loaded = store.load(&id).await.unwrap();
    assert_eq!(loaded.inputs, [waiting[1].clone()]);
}

/// The revision counts events; another expectation is a conflict.
pub async fn commit_needs_the_expected_revision(fixture: &dyn Fixture) {
    let store = fixture.handle();
    let id = run("r");
    let lease = claim(&*store, "a", &id).await;
    assert_eq!(store.load(&id).await.unwrap().revision, Revision(0));
    let mut first = change(&id, 0, Some(&lease));
    first.events = vec![event("one"), event("two")];
    store.commit(turn(first)).await.unwrap();
    for expected in [0, 1, 3] {
        let commit = turn(change(&id, expected, Some(&lease)));
        assert_eq!(kind(store.commit(commit).await), ErrorKind::Conflict);
    }
    let mut second = change(&id, 2, Some(&lease));
    second.events = vec![event("three")];
    store.commit(turn(second)).await.unwrap();
    let loaded = store.load(&id).await.unwrap();
    assert_eq!(loaded.revision, Revision(3));
    assert_eq!(loaded.events, [event("one"), event("two"), event("three")]);
}

/// A refused turn leaves no event, input, action, row, timer or consumption behind.
pub async fn conflict_changes_nothing(fixture: &dyn Fixture) {
    let store = fixture.handle();
    let (one, two) = (run("one"), run("two"));
    store.receive(incoming(&one, "d")).await.unwrap();
    let (lease_one, lease_two) = (
        claim(&*store, "a", &one).await,
        claim(&*store, "a", &two).await,
    );
    let before = store.load(&one).await.unwrap();
    let mut good = change(&one, 0, Some(&lease_one));
    good.actions = vec![b"act".to_vec()];
    good.timer = Some(Timestamp(5));
    good.snapshot = Some((1, b"state".to_vec()));
    let bad = change(&two, 7, Some(&lease_two));
    let commit = Commit {
        changes: vec![good, bad],
        consumed: vec![before.inputs[0].id],
        deliveries: vec![incoming(&two, "x")],
        projections: vec![Projection::Run(row("one", "name", 1))],
        at: Timestamp(1),
        ..Commit::default()
    };
    assert_eq!(kind(store.commit(commit).await), ErrorKind::Conflict);
    assert_eq!(store.load(&one).await.unwrap(), before);
    assert!(store.waiting_inputs(&two).await.unwrap().is_empty());
    assert!(store.runs(10).await.unwrap().is_empty());
}

/// After another took over, neither a turn nor a renewal under the old lease goes through.
pub async fn commit_needs_the_newest_lease(fixture: &dyn Fixture) {
    let (store, other) = (fixture.handle(), fixture.handle());
    let id = run("r");
    let old = claim(&*store, "a", &id).await;
    let later = Timestamp(60_000);
    let wanted = Wanted::This(id.clone());
    let new = other
        .claim(&owner("b"), wanted, later, MINUTE)
        .await
        .unwrap();
    assert!(new[0].generation > old.generation);
    let stale = store.commit(turn(change(&id, 0, Some(&old)))).await;
    assert_eq!(kind(stale), ErrorKind::Conflict);
    let stale = store.renew(&old, Timestamp(1_000_000)).await;
    assert_eq!(kind(stale), ErrorKind::Conflict);
    store.release(&old).await.unwrap();
    assert_eq!(store.lease(&id).await.unwrap(), Some(new[0].clone()));
    let fresh = other.commit(turn(change(&id, 0, Some(&new[0])))).await;
    fresh.unwrap();
}

/// A run is driven under a lease; the lock space cannot be claimed and needs the revision alone.
pub async fn run_needs_a_lease_and_lock_space_has_none(fixture: &dyn Fixture) {
    let store = fixture.handle();
    let refused = store.commit(turn(change(&run("r"), 0, None))).await;
    assert_eq!(kind(refused), ErrorKind::Invalid);
    store.receive(incoming(&locks(), "ask")).await.unwrap();
    store.commit(turn(change(&locks(), 0, None))).await.unwrap();
    let wanted = Wanted::This(locks());
    let claimed = store.claim(&owner("a"), wanted, Timestamp(0), MINUTE).await;
    assert_eq!(kind(claimed), ErrorKind::Invalid);
    assert!(claim_any(&*store, "a", 0, 9).await.is_empty());
    let stale = store.commit(turn(change(&locks(), 0, None))).await;
    assert_eq!(kind(stale), ErrorKind::Conflict);
}

/// An input that another turn consumed, or that never was, is a conflict.
pub async fn input_is_consumed_by_one_turn(fixture: &dyn Fixture) {
    let store = fixture.handle();
    store.receive(incoming(&locks(), "ask")).await.unwrap();
    let input = store.waiting_inputs(&locks()).await.unwrap()[0].id;
    let mut commit = turn(change(&locks(), 0, None));
    commit.changes[0].events.clear();
    commit.consumed = vec![input];
    store.commit(commit.clone()).await.unwrap();
    assert_eq!(kind(store.commit(commit).await), ErrorKind::Conflict);
    let mut commit = turn(change(&locks(), 0, None));
    commit.consumed = vec![InputId(1_000_000)];
    assert_eq!(kind(store.commit(commit).await), ErrorKind::Conflict);
    assert_eq!(store.load(&locks()).await.unwrap().revision, Revision(0));
}

/// A run and the lock space change in one turn, and their actions come in order.
pub async fn two_aggregates_change_together(fixture: &dyn Fixture) {
    let store = fixture.handle();
    let id = run("r");
    let lease = claim(&*store, "a", &id).await;
    let mut first = change(&id, 0, Some(&lease));
    first.actions = vec![b"1".to_vec(), b"2".to_vec()];
    let mut second = change(&locks(), 0, None);
    second.actions = vec![b"3".to_vec()];
    let commit = Commit {
        changes: vec![first, second],
        ..Commit::default()
    };
    let committed = store.commit(commit).await.unwrap();
    assert_eq!(bodies(&committed), ["1", "2", "3"]);
    assert!(committed.is_sorted_by_key(Committed::id));
    assert_eq!(committed[2].aggregate(), &locks());
    assert_eq!(store.load(&id).await.unwrap().revision, Revision(1));
    assert_eq!(store.load(&locks()).await.unwrap().revision, Revision(1));
}

/// What a turn delivers to another aggregate is received there, once.
pub async fn deliveries_arrive_once(fixture: &dyn Fixture) {
    let store = fixture.handle();
    for expected in [0, 1] {
        let mut commit = turn(change(&locks(), expected, None));
        commit.deliveries = vec![incoming(&run("r"), "answer")];
        store.commit(commit).await.unwrap();
    }
    let waiting = store.waiting_inputs(&run("r")).await.unwrap();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].body, b"answer");
    let receipt = store.receive(incoming(&run("r"), "answer")).await.unwrap();
    assert_eq!(receipt, Receipt::Duplicate);
}

/// A committed action is loaded until it is done; a retry says from when; repeats change nothing.
pub async fn actions_stay_until_settled(fixture: &dyn Fixture) {
    let (store, other) = (fixture.handle(), fixture.handle());
    let id = run("r");
    let lease = claim(&*store, "a", &id).await;
    let mut first = change(&id, 0, Some(&lease));
    first.actions = vec![b"1".to_vec(), b"2".to_vec()];
    let committed = store.commit(turn(first)).await.unwrap();
    assert_eq!(other.load(&id).await.unwrap().actions, committed);
    assert_eq!(committed[0].not_before(), Timestamp(0));

    let retry = Settlement::RetryAt(Timestamp(500));
    store.settle(&committed[0], retry).await.unwrap();
    store.settle(&committed[0], retry).await.unwrap();
    let actions = other.load(&id).await.unwrap().actions;
    assert_eq!(bodies(&actions), ["1", "2"]);
    assert_eq!(actions[0].not_before(), Timestamp(500));

    for _ in 0..2 {
        other.settle(&actions[0], Settlement::Done).await.unwrap();
    }
    store.settle(&committed[0], retry).await.unwrap();
    assert_eq!(bodies(&store.load(&id).await.unwrap().actions), ["2"]);
}

/// A turn takes along that earlier actions are done; a refused one does not.
pub async fn commit_settles_actions(fixture: &dyn Fixture) {
    let store = fixture.handle();
    let id = run("r");
    let lease = claim(&*store, "a", &id).await;
    let mut first = change(&id, 0, Some(&lease));
    first.actions = vec![b"1".to_vec(), b"2".to_vec()];
    let committed = store.commit(turn(first)).await.unwrap();
    let mut refused = turn(change(&id, 0, Some(&lease)));
    refused.settled = vec![committed[0].id()];
    assert_eq!(kind(store.commit(refused).await), ErrorKind::Conflict);
    assert_eq!(store.load(&id).await.unwrap().actions.len(), 2);
    for expected in [1, 2] {
        let mut commit = turn(change(&id, expected, Some(&lease)));
        commit.settled = vec![committed[0].id()];
        store.commit(commit).await.unwrap();
    }
    assert_eq!(bodies(&store.load(&id).await.unwrap().actions), ["2"]);
}

/// Load answers the newest snapshot and the events after it; all events stay readable.
pub async fn snapshot_shortens_load_and_keeps_events(fixture: &dyn Fixture) {
    let store = fixture.handle();
    let id = run("r");
    let lease = claim(&*store, "a", &id).await;
    for (expected, name) in ["one", "two", "three"].into_iter().enumerate() {
        let mut next = change(&id, expected as u64, Some(&lease));
        next.events = vec![event(name)];
        next.snapshot = (name == "two").then(|| (4, b"folded".to_vec()));
        store.commit(turn(next)).await.unwrap();
    }
    let loaded = store.load(&id).await.unwrap();
    let snapshot = loaded.snapshot.unwrap();
    assert_eq!((snapshot.revision, snapshot.version), (Revision(2), 4));
    assert_eq!(snapshot.body, b"folded");
    assert_eq!(loaded.revision, Revision(3));
    assert_eq!(loaded.events, [event("three")]);
    let all = store.events(&id, Revision(0)).await.unwrap();
    assert_eq!(all, [event("one"), event("two"), event("three")]);
    let last = store.events(&id, Revision(2)).await.unwrap();
    assert_eq!(last, [event("three")]);
    assert!(store.events(&id, Revision(3)).await.unwrap().is_empty());
    assert!(
        store
            .events(&run("no"), Revision(0))
            .await
            .unwrap()
            .is_empty()
    );
}
