//! Tools: the real ones, and what happens when they cannot be had.

mod examples;
mod loopback;
mod real;
mod release;
