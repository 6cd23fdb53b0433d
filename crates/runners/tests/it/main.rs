//! Real tools and real steps: what obtains the ones, and what runs the others in a sandbox and
//! without.

mod contract;
mod doctor;
mod kills;
mod machine;
mod outputs;
mod recorded;
mod steps;
mod stops;
mod tools;
mod unprivileged;
mod view;
