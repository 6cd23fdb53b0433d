//! Whatever the order in which drivers claim, load and commit, revisions only grow, each has one
//! winner, and an overtaken driver changes nothing.

use std::{sync::Arc, time::Duration};

use groundplan_engine::time::Timestamp;
use groundplan_ports::{
    error::ErrorKind,
    store::{
        AggregateId, AggregateKind, Change, Commit, EventRecord, Incoming, Lease, Owner, Revision,
        Store, StoredInput, Wanted,
    },
};
use groundplan_store::Sqlite;
use groundplan_testkit::memory_store::{MemoryStore, Verdict};
use proptest::{prelude::*, test_runner::TestCaseError};

use crate::journal::OnDisk;

const DRIVERS: usize = 3;
const LEASE: i64 = 10;

/// A thing that happens next.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// A driver claims the run.
    Claim(usize),
    /// A driver loads the run.
    Load(usize),
    /// A driver commits what it decided on what it loaded last.
    Commit(usize),
    /// A driver gives its lease back.
    Release(usize),
    /// Something arrives.
    Arrive,
    /// Time passes.
    Pass(i64),
}

fn next() -> impl Strategy<Value = Next> {
    let driver = 0..DRIVERS;
    prop_oneof![
        2 => driver.clone().prop_map(Next::Claim),
        3 => driver.clone().prop_map(Next::Load),
        4 => driver.clone().prop_map(Next::Commit),
        1 => driver.prop_map(Next::Release),
        2 => Just(Next::Arrive),
        1 => (1..LEASE).prop_map(Next::Pass),
    ]
}

/// What a driver remembers; it may be long overtaken.
#[derive(Default)]
struct Driver {
    lease: Option<Lease>,
    revision: Revision,
    inputs: Vec<StoredInput>,
}

/// What must be true, in the simplest words.
#[derive(Default)]
struct Model {
    winners: Vec<usize>,
    consumed: usize,
    arrived: usize,
    generation: u64,
    holder: Option<(usize, i64)>,
    now: i64,
}

fn owner(driver: usize) -> Owner {
    Owner {
        host: format!("host-{driver}.example.invalid"),
        boot_id: "11111111-2222-3333-4444-555555555555".to_owned(),
        pid: 1,
        start_time: 1,
    }
}

fn run() -> AggregateId {
    AggregateId {
        kind: AggregateKind::Run,
        key: "r".to_owned(),
    }
}

async fn play(handles: &[Arc<dyn Store>], script: &[Next]) -> Result<(), TestCaseError> {
    let mut drivers: Vec<Driver> = (0..DRIVERS).map(|_| Driver::default()).collect();
    let mut model = Model::default();
    for step in script {
        match *step {
            Next::Claim(number) => {
                claim(&*handles[number], number, &mut drivers[number], &mut model).await?;
            }
            Next::Load(number) => {
                let loaded = handles[number].load(&run()).await.unwrap();
                prop_assert_eq!(loaded.revision.0, model.winners.len() as u64);
                prop_assert_eq!(loaded.inputs.len(), model.arrived - model.consumed);
                drivers[number].revision = loaded.revision;
                drivers[number].inputs = loaded.inputs;
            }
            Next::Commit(number) => {
                commit(&*handles[number], number, &drivers[number], &mut model).await?;
            }
            Next::Release(number) => {
                if let Some(lease) = &drivers[number].lease {
                    handles[number].release(lease).await.unwrap();
                    if lease.generation == model.generation {
                        model.holder = None;
                    }
                }
            }
            Next::Arrive => {
                let incoming = Incoming {
                    aggregate: run(),
                    delivery: model.arrived.to_string(),
                    body: Vec::new(),
                };
                handles[0].receive(incoming).await.unwrap();
                model.arrived += 1;
            }
            Next::Pass(millis) => model.now += millis,
        }
    }
    let events = handles[0].events(&run(), Revision(0)).await.unwrap();
    let winners: Vec<usize> = events.iter().map(|event| event.body[0].into()).collect();
    prop_assert_eq!(winners, model.winners);
    Ok(())
}

async fn claim(
    store: &dyn Store,
    number: usize,
    driver: &mut Driver,
    model: &mut Model,
) -> Result<(), TestCaseError> {
    let length = Duration::from_millis(LEASE.unsigned_abs());
    let now = Timestamp(model.now);
    let leases = store
        .claim(&owner(number), Wanted::This(run()), now, length)
        .await
        .unwrap();
    match model.holder {
        Some((holder, until)) if holder != number && until > model.now => {
            prop_assert!(leases.is_empty());
            return Ok(());
        }
        Some((holder, _)) if holder == number => {}
        _ => model.generation += 1,
    }
    model.holder = Some((number, model.now + LEASE));
    prop_assert_eq!(leases.len(), 1);
    prop_assert_eq!(leases[0].generation, model.generation);
    driver.lease = leases.into_iter().next();
    Ok(())
}

async fn commit(
    store: &dyn Store,
    number: usize,
    driver: &Driver,
    model: &mut Model,
) -> Result<(), TestCaseError> {
    let Some(lease) = &driver.lease else {
        return Ok(());
    };
    let commit = Commit {
        changes: vec![Change {
            aggregate: run(),
            expected: driver.revision,
            lease: Some(lease.clone()),
            events: vec![EventRecord {
                kind: "won".to_owned(),
                version: 1,
                body: vec![u8::try_from(number).unwrap()],
            }],
            actions: Vec::new(),
            snapshot: None,
            timer: None,
        }],
        consumed: driver.inputs.iter().map(|input| input.id).collect(),
        ..Commit::default()
    };
    let current = driver.revision.0 == model.winners.len() as u64
        && model.holder.is_some()
        && lease.generation == model.generation;
    match store.commit(commit).await {
        Ok(_) => {
            prop_assert!(current, "an overtaken driver has committed");
            model.winners.push(number);
            model.consumed += driver.inputs.len();
        }
        Err(error) => {
            prop_assert_eq!(error.kind, ErrorKind::Conflict);
            prop_assert!(!current, "a driver in its right was refused: {}", error);
        }
    }
    Ok(())
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_interleaving_in_memory_has_one_winner_per_revision(
        script in prop::collection::vec(next(), 1..60),
    ) {
        let journal = MemoryStore::new();
        let handles: Vec<Arc<dyn Store>> = (0..DRIVERS)
            .map(|_| Arc::new(journal.attach(|_| Verdict::GoOn)) as Arc<dyn Store>)
            .collect();
        block_on(play(&handles, &script))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_interleaving_on_disk_has_one_winner_per_revision(
        script in prop::collection::vec(next(), 1..60),
    ) {
        let disk = OnDisk::new();
        let handles: Vec<Arc<dyn Store>> = (0..DRIVERS)
            .map(|_| Arc::new(Sqlite::new(disk.database())) as Arc<dyn Store>)
            .collect();
        block_on(play(&handles, &script))?;
    }
}
