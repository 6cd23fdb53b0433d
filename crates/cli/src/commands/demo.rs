//! `groundplan demo`.

use crate::{
    arguments::{Demo, Global},
    exit::Exit,
    failure::Failure,
};

/// Shows how it all works.
pub(crate) fn demo(_global: &Global, _demo: &Demo) -> Result<Exit, Failure> {
    Err(Failure::user("the demo is not there yet"))
}
