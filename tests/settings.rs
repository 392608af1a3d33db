//! Settings are taken from flags and variables alike, and whatever keeps the server from starting is said, all at once.

mod common;

use std::{collections::BTreeMap, fs};

use clap::CommandFactory as _;
use common::process::{Process, errors, reversid, run};
use reversid::settings::Flags;
use tokio::{net::TcpListener, process::Command};

/// Every flag with the name of its variable.
fn flags() -> BTreeMap<String, String> {
    let flag = |argument: &clap::Arg| {
        let variable = argument.get_env()?.to_str().expect("a plain name").to_owned();
        Some((argument.get_long()?.to_owned(), variable))
    };
    Flags::command().get_arguments().filter_map(flag).collect()
}

/// A value that no setting takes.
const BAD: &str = "[";

async fn refused_settings(command: Command) -> String {
    let ended = run(command).await;
    assert_eq!(ended.status.code(), Some(64), "{}", errors(&ended));
    errors(&ended)
}

/// Ends with 1 and says why.
async fn failure(arguments: &[&str]) -> String {
    let ended = run(reversid(arguments)).await;
    assert_eq!(ended.status.code(), Some(1), "{}", errors(&ended));
    errors(&ended)
}

#[tokio::test]
async fn every_bad_setting_is_told_at_once_by_its_flag_and_its_variable() {
    let mut by_flag = reversid(&[]);
    let mut by_variable = reversid(&[]);
    for (flag, variable) in flags() {
        by_flag.args([format!("--{flag}"), BAD.to_owned()]);
        by_variable.env(variable, BAD);
    }
    let said = refused_settings(by_flag).await;
    assert_eq!(said, refused_settings(by_variable).await);
    for (flag, variable) in flags() {
        let names = format!("--{flag} ({variable}): ");
        let lines: Vec<_> = said.lines().filter(|line| line.contains(&names)).collect();
        assert_eq!(lines.len(), 1, "{names} in {said}");
        assert!(lines[0].contains(BAD), "{lines:?}");
    }
    // And a line that says where help is.
    assert_eq!(said.lines().count(), flags().len() + 1, "{said}");
}

#[tokio::test]
async fn the_bounds_of_numbers_and_times_are_told() {
    let said = refused_settings(reversid(&[
        "--max-in-flight=0",
        "--max-connections=1000001",
        "--max-watches=-1",
        "--idle-ttl=0s",
        "--watch-poll=200years",
        "--drain-timeout=20",
        "--store=nowhere:here",
        "--listen=localhost",
    ]))
    .await;
    for flag in ["max-in-flight", "max-connections", "max-watches"] {
        assert!(said.contains(&format!("--{flag} (")), "{said}");
    }
    for part in ["1 to 1000000", "at least 1ms", "at most 100 years", "write 500ms", "file:PATH"] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[tokio::test]
async fn a_variable_is_as_good_as_a_flag_and_a_flag_wins() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("games.redb");
    let mut by_variable = reversid(&[]);
    by_variable.env("REVERSID_LISTEN", "127.0.0.1:0");
    by_variable.env("REVERSID_STORE", format!("file:{}", file.display()));
    let server = Process::of(by_variable).await;
    assert!(file.exists());
    server.client().await;
    server.kill().await;

    let mut both = reversid(&["--listen", "127.0.0.1:0", "--store", "memory:"]);
    both.env("REVERSID_STORE", BAD).env("REVERSID_LISTEN", BAD);
    let server = Process::of(both).await;
    assert!(server.log().contains("memory:"), "{}", server.log());
}

#[tokio::test]
async fn a_collector_that_cannot_be_one_is_refused_and_its_password_is_not_shown() {
    for url in [
        "collector:4317",
        "https://collector:4317",
        "http://",
        "http://:4317",
        "http://collector:",
        "http://collector:99999",
        "http://user:hush@collector:4317",
    ] {
        for mut command in [reversid(&["--otlp-endpoint", url]), reversid(&[])] {
            command.env("OTEL_EXPORTER_OTLP_ENDPOINT", url);
            let said = refused_settings(command).await;
            assert!(said.contains("collector"), "{url}: {said}");
            assert!(!said.contains("hush"), "{url}: {said}");
        }
    }
}

/// The last word is a line of the log, in its form, however it is written and whatever is in it.
#[tokio::test]
async fn why_it_does_not_start_is_one_line_of_the_log() {
    let store = "file:/nowhere\n/games.redb";
    let flags = ["--listen=127.0.0.1:0", "--log-format=json", "--store", store];
    for more in [[].as_slice(), &["--log", "error"]] {
        let said = failure(&[&flags[..], more].concat()).await;
        let last = said.lines().last().expect("a line");
        let line: serde_json::Value = serde_json::from_str(last).expect("it is JSON");
        assert_eq!(line["level"], "ERROR", "{said}");
        assert!(line["message"].as_str().is_some_and(|text| text.contains("nowhere")), "{said}");
    }
    let silent = failure(&["--listen=127.0.0.1:0", "--log=off", "--store=file:/nowhere/it"]).await;
    assert!(silent.contains("nowhere"), "{silent}");
}

#[tokio::test]
async fn an_unknown_flag_and_a_missing_value_are_refused_like_bad_settings() {
    assert!(refused_settings(reversid(&["--listne", "127.0.0.1:0"])).await.contains("--listne"));
    assert!(refused_settings(reversid(&["--store"])).await.contains("--store"));
    assert!(refused_settings(reversid(&["games.redb"])).await.contains("games.redb"));
}

#[tokio::test]
async fn help_names_every_setting_with_its_variable_and_default() {
    let ended = run(reversid(&["--help"])).await;
    assert_eq!(ended.status.code(), Some(0));
    let help = String::from_utf8(ended.stdout).expect("UTF-8");
    assert!(!flags().is_empty());
    for (flag, variable) in flags() {
        assert!(help.contains(&format!("--{flag} <")), "--{flag} in {help}");
        assert!(help.contains(&format!("[env: {variable}=]")), "{variable} in {help}");
        assert_eq!(variable, format!("REVERSID_{}", flag.replace('-', "_").to_uppercase()));
    }
    // Those that turn something on, which is off without them.
    let without = ["admin-listen", "otlp-endpoint", "redis-ca"];
    assert_eq!(help.matches("[default: ").count(), flags().len() - without.len());
}

#[tokio::test]
async fn version_says_of_what_the_binary_was_built() {
    let said = async |flag| {
        let ended = run(reversid(&[flag])).await;
        assert_eq!(ended.status.code(), Some(0));
        String::from_utf8(ended.stdout).expect("UTF-8")
    };
    let short = format!("reversid {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(said("-V").await, short);
    let long = said("--version").await;
    let built = long.strip_prefix(&short).expect("it begins with the short one");
    let built: BTreeMap<_, _> =
        built.lines().map(|line| line.split_once(": ").expect("a name and a value")).collect();
    assert_eq!(built.keys().copied().collect::<Vec<_>>(), ["commit", "rustc", "target"]);
    let is_commit = |text: &str| text.len() == 40 && text.chars().all(|c| c.is_ascii_hexdigit());
    assert!(is_commit(built["commit"]) || built["commit"] == "unknown", "{long}");
    assert!(built["target"].contains(std::env::consts::ARCH), "{long}");
    assert!(built["rustc"].starts_with("1."), "{long}");
}

#[tokio::test]
async fn an_address_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let said = failure(&["--listen", &address, "--store", "memory:"]).await;
    assert!(said.contains(&address), "{said}");
}

#[tokio::test]
async fn a_store_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let not_a_folder = folder.path().join("file");
    fs::write(&not_a_folder, "").expect("it can be written");
    // Not by permissions: a test that runs as root would pass over those.
    for file in [folder.path().join("missing/games.redb"), not_a_folder.join("games.redb")] {
        let file = file.display().to_string();
        let said = failure(&["--listen=127.0.0.1:0", "--store", &format!("file:{file}")]).await;
        assert!(said.contains(&file), "{said}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_store_is_named_and_left_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("letter.txt");
    for text in ["Dear reader".to_owned(), "page ".repeat(20_000)] {
        fs::write(&file, &text).expect("it can be written");
        let path = file.display().to_string();
        let said = failure(&["--listen=127.0.0.1:0", "--store", &format!("file:{path}")]).await;
        assert!(said.contains(&path), "{said}");
        assert_eq!(fs::read_to_string(&file).expect("it is there"), text);
    }
}

#[test]
fn no_build_but_one_for_tests_can_be_broken_on_purpose() {
    let binary = fs::read(env!("CARGO_BIN_EXE_reversid")).expect("the binary can be read");
    let contains = |text: &[u8]| binary.windows(text.len()).any(|bytes| bytes == text);
    assert!(contains(b"REVERSID_LISTEN"), "variables are found so");
    let variable = ["REVERSID_", "SABOTAGE"].concat();
    assert!(!contains(variable.as_bytes()), "{variable} means something to this build");
}
