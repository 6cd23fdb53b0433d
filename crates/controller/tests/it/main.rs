//! The loop on simulated processes, steps and time.

mod simulator;
