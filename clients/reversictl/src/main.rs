//! A command line for reversid.
fn main() {}
