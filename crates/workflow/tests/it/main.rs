//! Integration tests of the crate, in one binary.

mod conformance;
mod depends;
mod expressions;
mod lint;
mod mutations;
mod properties;
mod seeds;
mod shared;
mod tags;
mod verdicts;
mod when;

use groundplan_workflow::expr::expression::Moment;
use groundplan_workflow::expr::scope::MapScope;

/// The moment that all tests evaluate at.
fn moment() -> Moment {
    Moment {
        seed: 7,
        now: "2026-08-21T12:34:56Z".parse().expect("a time"),
    }
}

/// A scope of texts.
fn scope(pairs: &[(&str, &str)]) -> MapScope {
    pairs.iter().copied().collect()
}
