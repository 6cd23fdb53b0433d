//! The loop on simulated processes, steps and time.

mod replay;
mod simulator;
