//! The documents say what the source says: settings, reasons, bounds, files and links. What they say about these is read as
//! text, so that whoever changes the source is told which document to change.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use clap::{Arg, CommandFactory as _, Parser as _};
use reversid::settings::Flags;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files below a folder whose names end so, by their paths from the root.
fn files(folder: &str, extension: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of ours can be listed") {
            let path = entry.expect("an entry can be read").path();
            let ours = path.strip_prefix(root()).expect("below the root").display().to_string();
            if path.is_dir() {
                folders.push(path);
            } else if ours.ends_with(extension) {
                found.push(ours);
            }
        }
    }
    assert!(!found.is_empty(), "there are {extension} files in {folder}");
    found
}

fn documents() -> Vec<String> {
    let mut found = files("docs", ".md");
    let others = ["README", "CHANGELOG", "CONTRIBUTING", "clients/reversictl/README"];
    found.extend(others.iter().map(|name| format!("{name}.md")));
    found
}

/// The rows of a document's tables, each with its cells.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    rows.map(|row| row.split(" | ").map(str::trim).collect())
}

/// The table of every bound.
fn bounds() -> String {
    let architecture = read("docs/architecture.md");
    let (_, after) = architecture.split_once("\n## Every bound\n").expect("it has that table");
    after.split("\n## ").next().expect("a split has a first part").to_owned()
}

/// What stands between back ticks.
fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

#[test]
fn every_setting_is_listed_with_its_default() {
    let readme = read("README.md");
    let bounded = bounds();
    for argument in Flags::command().get_arguments() {
        let Some(long) = argument.get_long().filter(|_| argument.get_env().is_some()) else {
            continue;
        };
        let flag = format!("`--{long}`");
        let default = argument.get_default_values().first();
        let default = default.map(|default| default.to_str().expect("a plain default"));
        let cells = rows(&readme).find(|cells| cells[0] == flag);
        let cells = cells.unwrap_or_else(|| panic!("{flag} has no row in the README"));
        let told = default.map_or("none".to_owned(), |default| format!("`{default}`"));
        assert_eq!(cells[1], told, "{flag} in the README");
        let Some(default) = default else { continue };
        let no_bound = ["`--durability`", "`--listen`", "`--store`", "`--log`", "`--log-format`"];
        let is_bound = !no_bound.contains(&flag.as_str());
        let row = rows(&bounded).find(|cells| cells[0].contains(&flag));
        assert_eq!(row.is_some(), is_bound, "{flag} in docs/architecture.md");
        if let Some(cells) = row {
            let said = cells[1].replace([',', ' '], "");
            assert!(said.contains(default), "{flag} is {default}, not {}", cells[1]);
        }
    }
}

#[test]
fn every_variable_of_a_deployment_is_a_setting_and_its_value_is_sound() {
    let command = Flags::command();
    let flag = |variable: &str| {
        let named = |flag: &&Arg| flag.get_env().is_some_and(|name| name == variable);
        Some(command.get_arguments().find(named)?.get_long()?.to_owned())
    };
    let mut checked = BTreeSet::new();
    for file in files("deploy", ".yaml") {
        let text = read(&file);
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for word in words.filter(|word| word.starts_with("REVERSID_")) {
            assert!(flag(word).is_some(), "{file} sets {word}, which is no setting");
        }
        // `NAME: value` or `- NAME=value`, unless the value is made of other variables.
        for line in text.lines().map(|line| line.trim().trim_start_matches("- ")) {
            let Some((variable, value)) = line.split_once(['=', ':']) else { continue };
            let (Some(flag), false) = (flag(variable), value.contains('$')) else { continue };
            let flags = Flags::try_parse_from(["reversid", &format!("--{flag}"), value.trim()]);
            let sound = flags.expect("every setting takes a value").check();
            assert!(sound.is_ok(), "{file}: {line}: {sound:?}");
            checked.insert(flag);
        }
    }
    assert!(checked.len() > 4, "the settings were found: {checked:?}");
}

#[test]
fn every_reason_is_told_in_the_order_of_the_contract() {
    let screaming =
        |word: &&str| word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let proto = read("proto/reversi/v1/game_service.proto");
    let mut contract = Vec::new();
    for line in proto.lines().filter_map(|line| line.strip_prefix("//   ")) {
        let mut words = line.split([' ', ',']).filter(|word| !word.is_empty());
        let Some(code) = words.next().filter(screaming) else { continue };
        contract.extend(words.take_while(screaming).map(|reason| (code, reason)));
    }
    assert!(contract.len() > 20, "the contract's table was found: {contract:?}");

    let told = read("docs/errors.md");
    let told: Vec<_> = rows(&told)
        .filter(|cells| screaming(&cells[0]))
        .map(|cells| (cells[0], cells[1].trim_matches('`')))
        .collect();
    assert_eq!(told, contract);

    let source = read("src/api/status.rs");
    let quoted = source.split('"').skip(1).step_by(2).filter(screaming);
    let reasons = contract.into_iter().map(|(_, reason)| reason);
    assert_eq!(quoted.collect::<BTreeSet<_>>(), reasons.collect());
}

/// A constant's value as the documents write it, if it is written plainly.
fn shown(value: &str) -> Option<String> {
    let within = |prefix: &str| value.strip_prefix(prefix)?.strip_suffix(')');
    let (number, unit) = if let Some(seconds) = within("Duration::from_secs(") {
        (seconds, " s")
    } else if let Some(millis) = within("Duration::from_millis(") {
        (millis, " ms")
    } else if let Some(kibi) = value.strip_suffix(" << 10") {
        (kibi, " KiB")
    } else if let Some(mebi) = value.strip_suffix(" << 20") {
        (mebi, " MiB")
    } else {
        (value, "")
    };
    let plain = number.chars().all(|c| c.is_ascii_digit() || c == '_');
    plain.then(|| format!("{}{unit}", number.replace('_', ",")))
}

#[test]
fn every_bound_of_the_source_is_listed_with_its_value() {
    let bounded = bounds();
    let mut found = 0;
    for file in files("src", ".rs") {
        // What settings may be is told by --help.
        if file == "src/settings.rs" {
            continue;
        }
        for line in read(&file).lines() {
            let declared = line.trim().trim_start_matches("pub ").strip_prefix("const ");
            let Some((name, rest)) = declared.and_then(|rest| rest.split_once(": ")) else {
                continue;
            };
            let Some((kind, value)) = rest.trim_end_matches(';').split_once(" = ") else {
                continue;
            };
            if kind != "Duration" && !name.ends_with("_MAX") {
                continue;
            }
            found += 1;
            let span = format!("`{name}`");
            let row = rows(&bounded).find(|cells| cells.concat().contains(&span));
            let row = row.unwrap_or_else(|| {
                panic!("give {name} of {file} a row under \"Every bound\" in docs/architecture.md")
            });
            let place = file.trim_start_matches("src/");
            let placed = !row[0].contains(&span) || row[2].contains(place);
            assert!(placed, "{name} is in {file}, not in {}", row[2]);
            let value = shown(value);
            let told = value.as_ref().is_none_or(|value| row.join(" ").contains(value));
            assert!(told, "{name} of {file} is {value:?}, which its row does not say: {row:?}");
        }
    }
    assert!(found > 20, "the constants were found");
}

#[test]
fn every_test_file_is_listed_with_its_promise() {
    let testing = read("docs/testing.md");
    for file in files("tests", ".rs") {
        let name = file.trim_start_matches("tests/");
        if !name.contains('/') {
            assert!(testing.contains(&format!("| `{name}` |")), "{file} in docs/testing.md");
        }
    }
}

#[test]
fn the_image_is_built_of_every_member_and_names_its_version() {
    let version = format!("ARG VERSION={}", env!("CARGO_PKG_VERSION"));
    assert!(read("Dockerfile").lines().any(|line| line == version), "{version} in the Dockerfile");
    let context = read(".dockerignore");
    let manifest = read("Cargo.toml");
    let (_, members) = manifest.split_once("members = [").expect("a workspace");
    let members = members.split(']').next().expect("a split has a first part");
    for member in members.split('"').skip(1).step_by(2) {
        // Whole, with the folder above it, or its manifest alone.
        let above = member.split('/').next().expect("a split has a first part");
        let ways = [format!("!{member}"), format!("!{above}"), format!("!{member}/Cargo.toml")];
        let there = member == "." || context.lines().any(|line| ways.iter().any(|way| way == line));
        assert!(there, "name {member} in .dockerignore: cargo wants its manifest");
    }
}

#[test]
fn every_file_that_is_named_is_there() {
    let folders = ["src/", "crates/", "tests/", "clients/", "proto/", "docs/", "fuzz/", "deploy/"];
    for document in documents() {
        for span in code_spans(&read(&document)) {
            let ours = folders.iter().any(|folder| span.starts_with(folder));
            if ours && !span.contains(['*', ' ']) && !span.contains("NAME") {
                assert!(root().join(span).exists(), "{document} names {span}");
            }
        }
    }
}

/// The anchors of a document's headings, as forges make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let kept = |c: &char| c.is_alphanumeric() || [' ', '-', '_'].contains(c);
    headings
        .map(|line| line.trim_start_matches('#').trim().to_lowercase())
        .map(|title| title.chars().filter(kept).collect::<String>().replace(' ', "-"))
        .collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut links = 0;
    for document in documents() {
        let text = read(&document);
        let folder = Path::new(&document).parent().expect("a file is in a folder").to_owned();
        for after in text.split("](").skip(1) {
            let target = after.split(')').next().expect("a split has a first part");
            if target.starts_with("http") {
                continue;
            }
            links += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if path.is_empty() { PathBuf::from(&document) } else { folder.join(path) };
            assert!(root().join(&path).exists(), "{document} links to {target}");
            if !anchor.is_empty() {
                assert!(anchors(&read(&path)).contains(anchor), "{document} links to {target}");
            }
        }
    }
    assert!(links > 20, "the links were found");
}
