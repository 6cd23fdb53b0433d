//! Git itself; the forges come later.
//!
//! It reads repositories, fetches and makes them by running the user's `git`, hardened so that
//! nothing in a repository, its configuration or the machine's makes it run anything else. It
//! composes no text and decides nothing.
//!
//! Read first: [`git::Git`] and [`git::Repository`].

pub mod git;
