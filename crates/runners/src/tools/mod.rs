//! The tools that steps call: where they are, and how to get them.
//!
//! Look-up order: the machine configuration, the [cache](cache::Cache), `PATH`. [`locate`] finds
//! one tool fast, [`list`] says all there is to say about all of them, [`sync`] obtains the pinned
//! versions. Nothing here prints; what takes long tells its [progress](progress::Progress).
//!
//! Read first: [`Search`] and [`Located`].

mod bounded;
mod by_hand;
pub mod cache;
mod command_dir;
mod download;
pub mod error;
mod go_modules;
mod locate;
mod plan;
pub mod progress;
pub mod provider;
mod python;
pub mod release;
mod sync;
mod tool;
mod version;

pub use by_hand::by_hand;
pub use cache::Cache;
pub use command_dir::CommandDir;
pub use error::ToolError;
pub use locate::{Listed, Located, Place, Search, list, locate};
pub use plan::plan_json;
pub use progress::Progress;
pub use sync::{Obtained, SyncOptions, Synced, sync};
pub use tool::{Product, Tool};
pub use version::Version;

pub(crate) use bounded::run as run_bounded;
pub(crate) use locate::in_search_path;
