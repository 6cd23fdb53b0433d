//! The groundplan command.

fn main() {}
