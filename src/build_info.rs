//! Of what this binary was built. `build.rs` finds it out.

/// The version of the package, such as `0.1.0`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit of the sources, in full: from the variable `REVERSID_COMMIT` at build time, else from git, else `unknown`.
pub const COMMIT: &str = env!("BUILD_COMMIT");

/// The target triple, such as `x86_64-unknown-linux-gnu`.
pub const TARGET: &str = env!("BUILD_TARGET");

/// The compiler, such as `1.95.0 (59807616e 2026-04-14)`.
pub const RUSTC: &str = env!("BUILD_RUSTC");

/// All of it, as `--version` prints it after the name.
pub const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit: ",
    env!("BUILD_COMMIT"),
    "\ntarget: ",
    env!("BUILD_TARGET"),
    "\nrustc: ",
    env!("BUILD_RUSTC"),
);
