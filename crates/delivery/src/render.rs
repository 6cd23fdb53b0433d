//! Text for people. Limits and escaping live here, decisions don't.

mod escape;
mod summary;

pub use escape::escaped;
pub use summary::summary_text;
