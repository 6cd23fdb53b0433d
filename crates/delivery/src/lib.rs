//! The pure product: what a plan says, and how it is shown.
//!
//! Values in, values out: no file, clock, environment or randomness. It runs no tool and knows
//! nothing of nodes or processes; `tofu show -json` is run by others.
//!
//! Read first: [`plan::json::Plan`] (a plan as the tool writes it) and
//! [`plan::summary::PlanSummary`] (what it comes to).

#![warn(clippy::wildcard_enum_match_arm)]

pub mod plan;
pub mod render;
