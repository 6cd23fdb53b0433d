//! Who may drive: claims, renewals, dead owners.

use super::*;

/// Waiting input, a due timer and an action that may be performed are work; nothing else is.
pub async fn claim_any_takes_what_has_work(fixture: &dyn Fixture) {
    let store = fixture.handle();
    let ids = ["input", "timer", "action", "retry", "idle"];
    for key in ids {
        let lease = claim(&*store, "a", &run(key)).await;
        let mut first = change(&run(key), 0, Some(&lease));
        first.timer = (key == "timer").then_some(Timestamp(100));
        first.actions = match key {
            "action" | "retry" => vec![b"act".to_vec()],
            _ => Vec::new(),
        };
        let committed = store.commit(turn(first)).await.unwrap();
        if key == "retry" {
            let at = Settlement::RetryAt(Timestamp(200));
            store.settle(&committed[0], at).await.unwrap();
        }
        store.release(&lease).await.unwrap();
    }
    store.receive(incoming(&run("input"), "d")).await.unwrap();
    for (at, expected) in [
        (99, vec!["action", "input"]),
        (100, vec!["action", "input", "timer"]),
        (200, vec!["action", "input", "retry", "timer"]),
    ] {
        let mut claimed = claim_any(&*store, "a", at, 9).await;
        claimed.sort();
        assert_eq!(claimed, expected, "at {at}");
    }
    let lease = claim(&*store, "a", &run("timer")).await;
    store
        .commit(turn(change(&run("timer"), 1, Some(&lease))))
        .await
        .unwrap();
    let claimed = claim_any(&*store, "a", 300, 9).await;
    assert!(!claimed.contains(&"timer".to_owned()), "{claimed:?}");
}

/// No more than asked for, and what was driven longest ago comes first.
pub async fn claim_any_is_fair_and_limited(fixture: &dyn Fixture) {
    let store = fixture.handle();
    for key in ["r1", "r2", "r3"] {
        store.receive(incoming(&run(key), "d")).await.unwrap();
    }
    let mut order = Vec::new();
    for at in 0..6 {
        let claimed = claim_any(&*store, "a", at, 1).await;
        assert_eq!(claimed.len(), 1);
        order.extend(claimed);
    }
    let mut first = order[..3].to_vec();
    first.sort();
    assert_eq!(first, ["r1", "r2", "r3"]);
    assert_eq!(order[..3], order[3..]);
}

/// What another drives is passed over until its lease ends.
pub async fn claim_passes_over_a_live_lease(fixture: &dyn Fixture) {
    let (store, other) = (fixture.handle(), fixture.handle());
    let id = run("r");
    store.receive(incoming(&id, "d")).await.unwrap();
    let lease = claim(&*store, "a", &id).await;
    assert_eq!(lease.owner, owner("a"));
    assert_eq!(lease.until, Timestamp(60_000));
    assert!(claim_any(&*other, "b", 59_999, 9).await.is_empty());
    let wanted = Wanted::This(id.clone());
    let passed = other
        .claim(&owner("b"), wanted, Timestamp(59_999), MINUTE)
        .await
        .unwrap();
    assert!(passed.is_empty());
    store.renew(&lease, Timestamp(90_000)).await.unwrap();
    assert!(claim_any(&*other, "b", 60_000, 9).await.is_empty());
    assert_eq!(claim_any(&*other, "b", 90_000, 9).await, ["r"]);
}

/// Claiming one's own prolongs it under the same generation.
pub async fn claim_again_renews(fixture: &dyn Fixture) {
    let store = fixture.handle();
    let id = run("r");
    let first = claim(&*store, "a", &id).await;
    let wanted = Wanted::This(id.clone());
    let again = store
        .claim(&owner("a"), wanted, Timestamp(10), MINUTE)
        .await
        .unwrap();
    assert_eq!(again[0].generation, first.generation);
    assert_eq!(again[0].until, Timestamp(60_010));
    store
        .commit(turn(change(&id, 0, Some(&first))))
        .await
        .unwrap();
}

/// A dead process's lease does not have to run out.
pub async fn dead_owner_is_replaced_at_once(fixture: &dyn Fixture) {
    let store = fixture.handle();
    let dead = fixture.dead_owner();
    let wanted = Wanted::This(run("r"));
    let old = store
        .claim(&dead, wanted, Timestamp(0), MINUTE)
        .await
        .unwrap();
    let held = store.lease(&run("r")).await.unwrap().unwrap();
    assert_eq!(held.owner, dead);
    let new = claim(&*store, "b", &run("r")).await;
    assert!(new.generation > old[0].generation);
    let stale = turn(change(&run("r"), 0, Some(&old[0])));
    assert_eq!(kind(store.commit(stale).await), ErrorKind::Conflict);
}

/// A lease that was given back serves nobody; the next one is newer.
pub async fn released_lease_is_worthless(fixture: &dyn Fixture) {
    let store = fixture.handle();
    let id = run("r");
    assert_eq!(store.lease(&id).await.unwrap(), None);
    let lease = claim(&*store, "a", &id).await;
    assert_eq!(store.lease(&id).await.unwrap(), Some(lease.clone()));
    for _ in 0..2 {
        store.release(&lease).await.unwrap();
    }
    assert_eq!(store.lease(&id).await.unwrap(), None);
    let stale = store.commit(turn(change(&id, 0, Some(&lease)))).await;
    assert_eq!(kind(stale), ErrorKind::Conflict);
    let stale = store.renew(&lease, Timestamp(1)).await;
    assert_eq!(kind(stale), ErrorKind::Conflict);
    let next = claim(&*store, "b", &id).await;
    assert!(next.generation > lease.generation);
}
