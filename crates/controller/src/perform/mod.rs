//! Actions, performed: one file per family, no decision.

pub(crate) mod archive;
pub(crate) mod secrets;
pub(crate) mod step;
