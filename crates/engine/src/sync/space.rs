//! The lock space: who holds what, who waits for what, and who is next.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Holder, LockAnswer, LockKey, LockRequest};
use crate::{id::RunId, time::Timestamp};

/// What happened to the lock space: the facts that are recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockEvent {
    /// Somebody wants locks.
    Claimed(Claim),
    /// A claim has all its locks.
    Granted {
        /// Whose.
        holder: Holder,
    },
    /// A claim is gone, and what it held is free.
    Released {
        /// Whose.
        holder: Holder,
    },
}

impl LockEvent {
    /// Stable name of the kind of event.
    pub fn kind(&self) -> &'static str {
        match self {
            LockEvent::Claimed(_) => "lock_claimed",
            LockEvent::Granted { .. } => "lock_granted",
            LockEvent::Released { .. } => "lock_released",
        }
    }

    /// Version of the format of this kind's body.
    pub fn version(&self) -> u16 {
        Self::NEWEST_VERSION
    }

    /// The newest version that this program can read.
    pub const NEWEST_VERSION: u16 = 1;
}

/// A set of locks that a holder has or waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Who.
    pub holder: Holder,
    /// Name shown to those who wait behind.
    pub holder_name: String,
    /// Which locks; no two are equal.
    pub keys: Vec<LockKey>,
    /// Higher goes first.
    pub priority: i32,
    /// Earlier goes first among equals; then by run id.
    pub created_at: Timestamp,
    /// Number of the claim within the lock space: the order within a run.
    pub arrival: u64,
}

impl Claim {
    fn rank(&self) -> Rank {
        Rank {
            priority: std::cmp::Reverse(self.priority),
            created_at: self.created_at,
            run: self.holder.run.clone(),
            arrival: self.arrival,
            holder: self.holder.clone(),
        }
    }
}

/// Order in a queue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    priority: std::cmp::Reverse<i32>,
    created_at: Timestamp,
    run: RunId,
    arrival: u64,
    holder: Holder,
}

/// All locks, who holds them and who waits. The default value is free of claims. Its JSON is its
/// snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Record", into = "Record")]
pub struct LockSpace {
    claims: BTreeMap<Holder, Claim>,
    held: BTreeMap<LockKey, Holder>,
    queues: BTreeMap<LockKey, BTreeSet<Rank>>,
    /// Number of claims so far.
    arrivals: u64,
}

/// A snapshot: the claims, and which of them are granted.
#[derive(Serialize, Deserialize)]
struct Record {
    granted: Vec<Claim>,
    waiting: Vec<Claim>,
    arrivals: u64,
}

impl From<LockSpace> for Record {
    fn from(space: LockSpace) -> Self {
        let (granted, waiting) = space
            .claims
            .values()
            .cloned()
            .partition(|claim| space.has(&claim.holder));
        Record {
            granted,
            waiting,
            arrivals: space.arrivals,
        }
    }
}

impl From<Record> for LockSpace {
    fn from(record: Record) -> Self {
        let mut space = LockSpace::default();
        for claim in record.granted {
            let holder = claim.holder.clone();
            evolve(&mut space, &LockEvent::Claimed(claim));
            evolve(&mut space, &LockEvent::Granted { holder });
        }
        for claim in record.waiting {
            evolve(&mut space, &LockEvent::Claimed(claim));
        }
        space.arrivals = record.arrivals;
        space
    }
}

/// What the lock space decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockDecision {
    /// Facts in order.
    pub events: Vec<LockEvent>,
    /// What to tell whom, in order: everybody who asked, everybody who was granted, and those near
    /// the front of a queue whose place or whose obstacle changed.
    pub answers: Vec<(Holder, LockAnswer)>,
}

/// So many at the front of each queue are told when their place changes; those behind are told
/// their first place, and again when they come this near.
const TOLD: usize = 10;

impl LockSpace {
    /// Who holds a lock.
    pub fn holder(&self, key: &LockKey) -> Option<&Claim> {
        self.held
            .get(key)
            .and_then(|holder| self.claims.get(holder))
    }

    /// Who waits for a lock, in order.
    pub fn waiting(&self, key: &LockKey) -> impl Iterator<Item = &Claim> {
        self.queues
            .get(key)
            .into_iter()
            .flatten()
            .filter_map(|rank| self.claims.get(&rank.holder))
    }

    /// Whether nobody holds or wants anything.
    pub fn is_idle(&self) -> bool {
        self.claims.is_empty()
    }

    /// Whether this holder has all its locks.
    pub fn has(&self, holder: &Holder) -> bool {
        self.claims.get(holder).is_some_and(|claim| {
            claim
                .keys
                .iter()
                .all(|key| self.held.get(key) == Some(holder))
        })
    }

    /// What this holder would be told now; `None` if it never asked.
    pub fn answer(&self, holder: &Holder) -> Option<LockAnswer> {
        let claim = self.claims.get(holder)?;
        if self.has(holder) {
            return Some(LockAnswer::Granted);
        }
        let rank = claim.rank();
        let (key, blocker) = claim.keys.iter().find_map(|key| {
            let blocker = self.held.get(key)?;
            (blocker != holder).then_some((key, blocker))
        })?;
        let blocker = self.claims.get(blocker)?;
        Some(LockAnswer::Waiting {
            blocked_by: key.clone(),
            holder: blocker.holder_name.clone(),
            place: self.place(key, &rank),
        })
    }

    /// For each claim of a run that waits: the run that holds the first lock in its way, and that
    /// lock.
    pub fn in_the_way_of(&self, run: &RunId) -> Vec<(RunId, LockKey)> {
        let claims = self
            .claims
            .values()
            .filter(|claim| claim.holder.run == *run);
        claims
            .filter_map(|claim| {
                claim.keys.iter().find_map(|key| {
                    let blocker = self.held.get(key)?;
                    (*blocker != claim.holder).then(|| (blocker.run.clone(), key.clone()))
                })
            })
            .collect()
    }

    fn place(&self, key: &LockKey, rank: &Rank) -> u32 {
        let ahead = self.queues.get(key).map_or(0, |queue| {
            if queue.last() == Some(rank) {
                queue.len() - 1
            } else {
                queue.range(..rank).count()
            }
        });
        u32::try_from(ahead + 1).unwrap_or(u32::MAX)
    }

    fn is_free(&self, claim: &Claim) -> bool {
        claim.keys.iter().all(|key| !self.held.contains_key(key))
    }

    /// The first claim, in queue order, that could have its whole set now and wants one of `keys`.
    fn next_grant(&self, keys: &BTreeSet<LockKey>) -> Option<Holder> {
        keys.iter()
            .filter(|key| !self.held.contains_key(key))
            .filter_map(|key| {
                self.queues.get(key)?.iter().find(|rank| {
                    self.claims
                        .get(&rank.holder)
                        .is_some_and(|claim| self.is_free(claim))
                })
            })
            .min()
            .map(|rank| rank.holder.clone())
    }

    fn fronts(&self, keys: &BTreeSet<LockKey>) -> BTreeMap<Holder, LockAnswer> {
        keys.iter()
            .filter_map(|key| self.queues.get(key))
            .flat_map(|queue| queue.iter().take(TOLD))
            .filter_map(|rank| {
                let answer = self.answer(&rank.holder)?;
                Some((rank.holder.clone(), answer))
            })
            .collect()
    }
}

/// Answers requests in their order, as one step: first all releases and claims are taken in, then
/// whatever became possible is granted in queue order.
pub fn decide(space: &mut LockSpace, requests: &[LockRequest]) -> LockDecision {
    let touched = touched_keys(space, requests);
    let before = space.fronts(&touched);
    let mut decision = LockDecision::default();
    let mut asked = Vec::new();
    for request in requests {
        match request {
            LockRequest::Acquire {
                holder,
                holder_name,
                keys,
                priority,
                created_at,
            } => {
                if let Some(message) = fault_of(keys) {
                    let refusal = LockAnswer::Refused { message };
                    decision.answers.push((holder.clone(), refusal));
                    continue;
                }
                if !space.claims.contains_key(holder) {
                    let claim = Claim {
                        holder: holder.clone(),
                        holder_name: holder_name.clone(),
                        keys: keys.clone(),
                        priority: *priority,
                        created_at: *created_at,
                        arrival: space.arrivals + 1,
                    };
                    record(space, &mut decision, LockEvent::Claimed(claim));
                }
                asked.push(holder.clone());
            }
            LockRequest::Release { holder } => {
                if space.claims.contains_key(holder) {
                    let holder = holder.clone();
                    record(space, &mut decision, LockEvent::Released { holder });
                }
            }
        }
    }
    let mut granted = Vec::new();
    while let Some(holder) = space.next_grant(&touched) {
        granted.push(holder.clone());
        record(space, &mut decision, LockEvent::Granted { holder });
    }
    answer(space, &mut decision, &asked, &granted, &before, &touched);
    decision
}

fn answer(
    space: &LockSpace,
    decision: &mut LockDecision,
    asked: &[Holder],
    granted: &[Holder],
    before: &BTreeMap<Holder, LockAnswer>,
    touched: &BTreeSet<LockKey>,
) {
    let mut told = BTreeSet::new();
    for holder in granted.iter().chain(asked) {
        if told.insert(holder.clone())
            && let Some(answer) = space.answer(holder)
        {
            decision.answers.push((holder.clone(), answer));
        }
    }
    for (holder, answer) in space.fronts(touched) {
        if before.get(&holder) != Some(&answer) && told.insert(holder.clone()) {
            decision.answers.push((holder, answer));
        }
    }
}

/// The locks whose queues these requests may change.
fn touched_keys(space: &LockSpace, requests: &[LockRequest]) -> BTreeSet<LockKey> {
    let mut keys = BTreeSet::new();
    for request in requests {
        match request {
            LockRequest::Acquire { keys: wanted, .. } => keys.extend(wanted.iter().cloned()),
            LockRequest::Release { holder } => {
                if let Some(claim) = space.claims.get(holder) {
                    keys.extend(claim.keys.iter().cloned());
                }
            }
        }
    }
    keys
}

fn fault_of(keys: &[LockKey]) -> Option<String> {
    let distinct: BTreeSet<&LockKey> = keys.iter().collect();
    (distinct.len() < keys.len()).then(|| "duplicate synchronization item found".to_owned())
}

fn record(space: &mut LockSpace, decision: &mut LockDecision, event: LockEvent) {
    evolve(space, &event);
    decision.events.push(event);
}

/// Takes an event into the lock space. The same events in the same order make the same space.
pub fn evolve(space: &mut LockSpace, event: &LockEvent) {
    match event {
        LockEvent::Claimed(claim) => {
            for key in &claim.keys {
                let queue = space.queues.entry(key.clone()).or_default();
                queue.insert(claim.rank());
            }
            space.arrivals = space.arrivals.max(claim.arrival);
            space.claims.insert(claim.holder.clone(), claim.clone());
        }
        LockEvent::Granted { holder } => {
            let Some(claim) = space.claims.get(holder) else {
                return;
            };
            let (keys, rank) = (claim.keys.clone(), claim.rank());
            for key in keys {
                space.leave_queue(&key, &rank);
                space.held.insert(key, holder.clone());
            }
        }
        LockEvent::Released { holder } => {
            let Some(claim) = space.claims.remove(holder) else {
                return;
            };
            let rank = claim.rank();
            for key in &claim.keys {
                space.leave_queue(key, &rank);
                if space.held.get(key) == Some(holder) {
                    space.held.remove(key);
                }
            }
        }
    }
}

impl LockSpace {
    fn leave_queue(&mut self, key: &LockKey, rank: &Rank) {
        if let Some(queue) = self.queues.get_mut(key) {
            queue.remove(rank);
            if queue.is_empty() {
                self.queues.remove(key);
            }
        }
    }
}
