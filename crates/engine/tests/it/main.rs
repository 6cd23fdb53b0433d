//! Tests of the engine from outside: documents and outcomes in, events and actions out.

mod cost;
mod locks;
mod oracle;
mod properties;
mod stories;
mod table;
