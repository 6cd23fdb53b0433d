//! The store on real files.

mod journal;
