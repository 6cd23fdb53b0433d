//! Set-up, check, tidy, layering, generate.

fn main() {}
