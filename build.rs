//! Says of what the binary is built, for `src/build_info.rs`: commit, target and compiler.
//!
//! Needs no git and no network. Runs again only when HEAD moves or the variable changes.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// Names the commit where the sources come without their repository: in a container, from a tarball.
const COMMIT: &str = "REVERSID_COMMIT";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={COMMIT}");
    let named = env::var(COMMIT).ok().filter(|commit| !commit.is_empty());
    let commit = named.or_else(checked_out).unwrap_or_else(|| "unknown".into());
    let rustc = said_by(&env::var("RUSTC").expect("cargo names the compiler"), &["--version"]);
    let rustc = rustc.unwrap_or_else(|| "unknown".into());
    println!("cargo::rustc-env=BUILD_COMMIT={commit}");
    println!("cargo::rustc-env=BUILD_RUSTC={}", rustc.trim_start_matches("rustc "));
    println!(
        "cargo::rustc-env=BUILD_TARGET={}",
        env::var("TARGET").expect("cargo names the target")
    );
}

/// The commit of the repository that this package is the root of: not of one that it merely lies in.
fn checked_out() -> Option<String> {
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo names the package's folder");
    let git = |arguments: &[&str]| said_by("git", &[&["-C", &root], arguments].concat());
    let top = PathBuf::from(git(&["rev-parse", "--show-toplevel"])?);
    if top.canonicalize().ok()? != Path::new(&root).canonicalize().ok()? {
        return None;
    }
    // The log of HEAD grows with whatever moves it; HEAD itself tells a change of branches alone.
    for name in ["HEAD", "logs/HEAD"] {
        let file = Path::new(&root).join(git(&["rev-parse", "--git-path", name])?);
        if file.exists() {
            println!("cargo::rerun-if-changed={}", file.display());
        }
    }
    git(&["rev-parse", "HEAD"])
}

/// What a program prints, if it runs and succeeds.
fn said_by(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !said.is_empty()).then_some(said)
}
