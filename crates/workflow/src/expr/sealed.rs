//! Sensitive values. What reaches this crate is a token in the place of each, since only the step
//! that is given it may learn it: a token can be handed on, and tells nothing else.

/// What every token begins with.
pub const SEALED: &str = "groundplan:sealed:";

/// Why a sensitive value cannot be used otherwise.
pub(crate) const OPAQUE: &str =
    "a sensitive value can only be handed on whole: it is opened for the step that is given it";

/// Whether a text holds a sensitive value.
pub fn holds_sealed(text: &str) -> bool {
    text.contains(SEALED)
}
