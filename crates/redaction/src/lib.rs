//! Finding and masking secret values in byte streams, in every form in which tools print them.
//!
//! Pure: bytes in, bytes out. It reads no file, clock or environment, and knows nothing of where
//! values come from. What it does not do: guess what might be a secret; only given values are
//! masked.
//!
//! Read first: [`Needles`] (the values and their forms) and [`Masker`] (one stream).

mod forms;
mod masker;
mod needles;

pub use masker::{MASK, Masker, Position};
pub use needles::{MIN_CHARACTERS, Needles, NeedlesError};
