//! Real tools and real steps: what obtains the ones, and what runs the others in a sandbox and
//! without.

mod doctor;
mod machine;
mod steps;
mod tools;
