//! The shape of the source: which way dependencies point, who may name what, and how long a file may be.
//!
//! A plain reading of the text, so that it runs with every `cargo test` and needs no tool of its own.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The service's modules from the bottom up: each may use those of its own row and of the rows above it.
const LAYERS: [&[&str]; 7] = [
    &["build_info", "error", "model", "sabotage"],
    &["telemetry"],
    &["store", "wire"],
    &["events"],
    &["service", "settings"],
    &["api"],
    &["app"],
];

/// A file of source code, as a path from the repository's root and the text without comments.
struct Source {
    path: String,
    lines: usize,
    documented: bool,
    code: String,
}

impl Source {
    fn read(root: &Path, file: &Path) -> Self {
        let text = fs::read_to_string(file).expect("a listed file can be read");
        let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
        Self {
            path: file.strip_prefix(root).expect("files lie below the root").display().to_string(),
            lines: text.lines().count(),
            documented: text.starts_with("//!"),
            code: code.collect::<Vec<_>>().join("\n"),
        }
    }

    /// The words of the code: what stands between characters that no identifier has.
    fn words(&self) -> impl Iterator<Item = &str> {
        self.code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
    }

    /// Whether the code names this crate, or one whose name goes on from it.
    fn names(&self, name: &str) -> bool {
        let longer = format!("{name}_");
        self.words().any(|word| word == name || word.starts_with(&longer))
    }

    /// The modules of the service that the code names after `crate::`, one by one or in braces.
    fn modules_used(&self) -> BTreeSet<&str> {
        let mut used = BTreeSet::new();
        for after in self.code.split("crate::").skip(1) {
            let mut depth = 0;
            let mut start = true;
            for (at, c) in after.char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' => {}
                    c if c.is_whitespace() => continue,
                    _ if start => {
                        let end = after[at..].find(|c: char| !c.is_alphanumeric() && c != '_');
                        used.insert(&after[at..at + end.unwrap_or(after.len() - at)]);
                    }
                    _ => {}
                }
                start = depth == 1 && matches!(c, '{' | ',');
                if depth == 0 {
                    break;
                }
            }
        }
        used
    }

    /// The module of the service that this file is part of: `store` for `src/store/memory.rs`.
    fn module(&self) -> Option<&str> {
        let inside = self.path.strip_prefix("src/")?;
        Some(inside.split('/').next()?.trim_end_matches(".rs"))
    }
}

/// Every Rust file of ours below these folders.
fn sources(folders: &[&str]) -> Vec<Source> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut folders: Vec<_> = folders.iter().map(|folder| root.join(folder)).collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of ours can be listed") {
            let path = entry.expect("an entry can be read").path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(Source::read(&root, &path));
            }
        }
    }
    assert!(!found.is_empty(), "there is source code");
    found
}

/// The paths of those service files that match, but for the allowed ones.
fn offenders(matches: impl Fn(&Source) -> bool, allowed: impl Fn(&str) -> bool) -> Vec<String> {
    let matching: Vec<_> = sources(&["src"]).into_iter().filter(|file| matches(file)).collect();
    matching.into_iter().map(|file| file.path).filter(|path| !allowed(path)).collect()
}

#[test]
fn modules_use_only_what_lies_below_them() {
    let height = |module: &str| LAYERS.iter().position(|row| row.contains(&module));
    for file in sources(&["src"]) {
        let module = file.module().expect("it is in src");
        if ["main", "lib"].contains(&module) {
            continue;
        }
        let own = height(module).unwrap_or_else(|| panic!("give `{module}` a place in LAYERS"));
        for used in file.modules_used() {
            let below = height(used).is_some_and(|used| used <= own);
            assert!(below, "{} uses `{used}`, which is not below `{module}`", file.path);
        }
    }
}

#[test]
fn only_api_and_app_know_the_transport() {
    let allowed = |path: &str| {
        ["src/api", "src/app", "src/main.rs"].iter().any(|edge| path.starts_with(edge))
    };
    assert_eq!(offenders(|file| file.names("tonic"), allowed), [""; 0]);
}

#[test]
fn one_file_turns_errors_into_statuses() {
    // `Status::` and a function of tonic's that makes one; our own status of a game is another type.
    let makes_status = |file: &Source| {
        let made = |after: &str| {
            after.starts_with(char::is_lowercase) && !after.starts_with("from_header_map")
        };
        file.names("tonic") && file.code.split("Status::").skip(1).any(made)
    };
    assert_eq!(offenders(makes_status, |path| path == "src/api/status.rs"), [""; 0]);
    assert_eq!(offenders(makes_status, |_| false), ["src/api/status.rs"]);
}

#[test]
fn only_the_redis_store_and_the_relay_know_redis() {
    // The stores' own file names the module of that name, the settings a flag.
    let allowed = |path: &str| {
        ["src/store/mod.rs", "src/settings.rs"].contains(&path)
            || ["src/store/redis", "src/events/relay"].iter().any(|part| path.starts_with(part))
    };
    assert_eq!(offenders(|file| file.names("redis"), allowed), [""; 0]);
}

#[test]
fn only_telemetry_knows_how_it_is_sent() {
    let names = |file: &Source| file.names("opentelemetry") || file.names("prometheus");
    // Settings name the SDK's variables, and the admin port one of its readers, as text.
    let allowed = |path: &str| path.starts_with("src/telemetry/");
    assert_eq!(offenders(names, allowed), [""; 0]);
}

#[test]
fn the_rules_depend_on_no_runtime_and_no_wire_format() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let lock = fs::read_to_string(root.join("Cargo.lock")).expect("the lock file is committed");
    let mut dependencies = BTreeMap::<&str, Vec<&str>>::new();
    for package in lock.split("[[package]]").skip(1) {
        let mut quoted = package.split('"').skip(1).step_by(2);
        let name = quoted.next().expect("a package has a name");
        let list = package.split_once("dependencies = [").map_or("", |(_, list)| list);
        let names = list.split('"').skip(1).step_by(2).filter_map(|entry| entry.split(' ').next());
        dependencies.entry(name).or_default().extend(names);
    }
    let mut reached = BTreeSet::new();
    let mut open = vec!["reversi-rules"];
    while let Some(name) = open.pop() {
        if reached.insert(name) {
            open.extend(&dependencies[name]);
        }
    }
    assert!(reached.len() > 1, "the lock file was understood");
    for refused in ["tokio", "tonic", "prost", "serde"] {
        assert!(!reached.contains(refused), "reversi-rules depends on {refused}");
    }
}

#[test]
fn files_are_short_and_say_what_they_own() {
    for file in sources(&["src", "tests", "crates", "clients", "bench", "torture"]) {
        let limit = if file.path.starts_with("crates/rules/") { 900 } else { 700 };
        assert!(file.lines <= limit, "{} has {} lines, past {limit}", file.path, file.lines);
        assert!(file.documented, "{} does not start with a module doc", file.path);
    }
}

#[test]
fn the_reading_of_imports_finds_every_module() {
    let code =
        "use crate::{error::{Error, Fault}, model::Game,\n store};\ncrate::wire::encode(1);".into();
    let file = Source { path: String::new(), lines: 0, documented: true, code };
    assert_eq!(
        file.modules_used().into_iter().collect::<Vec<_>>(),
        ["error", "model", "store", "wire"]
    );
}
