//! Runs of the harness, as anybody would make them.

#![allow(dead_code, reason = "each test file uses its part")]

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A run that has ended.
pub struct Run(Output);

/// Makes a run with these flags, on the reversid that was built beside it; without one it builds that.
pub fn torture(flags: &[&str]) -> Run {
    let reversid = Path::new(env!("CARGO_BIN_EXE_reversi-torture")).with_file_name("reversid");
    if !reversid.exists() {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--locked", "--bin", "reversid", "--manifest-path"]);
        cargo.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml"));
        assert!(cargo.status().expect("cargo runs").success(), "reversid is built");
    }
    torture_of(&reversid, flags)
}

/// Makes a run of this reversid.
pub fn torture_of(reversid: &Path, flags: &[&str]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reversi-torture"));
    command.arg("--reversid").arg(reversid).args(flags);
    Run(command.output().expect("the harness runs"))
}

/// A reversid that can be broken on purpose.
pub fn sabotaged() -> PathBuf {
    let named = std::env::var_os("REVERSI_SABOTAGED").map(PathBuf::from);
    named.expect(
        "REVERSI_SABOTAGED names a reversid with the feature `sabotage`; ./test --all builds it",
    )
}

impl Run {
    /// Panics unless nothing was violated and every kind of fault happened.
    pub fn holds(self) -> Self {
        assert_eq!(self.0.status.code(), Some(0), "{}", self.told());
        self
    }

    /// Panics unless it reports one of these violations.
    pub fn finds(self, promises: &[&str]) -> Self {
        let told = self.told();
        assert_eq!(self.0.status.code(), Some(1), "{told}");
        let found = promises.iter().any(|promise| told.contains(&format!("VIOLATION {promise}: ")));
        assert!(found, "{told}");
        self
    }

    /// How often it counted this.
    pub fn counted(&self, what: &str) -> u64 {
        let told = self.told();
        let count = told.lines().find_map(|line| line.trim_start().strip_suffix(what));
        count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
    }

    fn told(&self) -> String {
        let texts = [&self.0.stdout, &self.0.stderr];
        texts.map(|text| String::from_utf8_lossy(text).into_owned()).join("\n")
    }
}
