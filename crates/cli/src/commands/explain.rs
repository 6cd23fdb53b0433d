//! `groundplan explain`: what a code of lint means.

use crate::{exit::Exit, failure::Failure};

/// Explains a code, or lists all of them.
pub(crate) fn explain(code: Option<&str>) -> Result<Exit, Failure> {
    Err(Failure::user(format!(
        "no code `{}`",
        code.unwrap_or_default()
    )))
}
