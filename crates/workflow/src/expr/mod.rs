//! The small languages inside a document: `{{…}}` tags, expressions, `when`, `depends`, and how
//! fan-outs are spread and joined again.
//!
//! Everything here is text in, value out; nothing is imported from the rest of the crate. Read
//! first: [`tags::replace`] (what a template's texts go through) and [`scope::Scope`] (what the
//! names in them mean).

pub mod aggregate;
pub mod depends;
pub mod expression;
pub mod go_json;
pub mod identity;
pub mod items;
pub mod scope;
pub mod sealed;
pub mod tags;
pub mod when;
