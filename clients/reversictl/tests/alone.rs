//! What `reversictl` does without a server.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

mod support;

use support::run;

/// An address where nobody listens: the port was given out, and given back.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[test]
fn without_a_server_it_tells_how_to_start_one() {
    for command in ["demo", "create", "show g1", "list", "verify g1", "watch g1 --once"] {
        let done = run(&nobody(), command);
        assert_eq!(done.code, 3, "{done:?}");
        assert!(done.stderr.contains("cargo run --release"), "{done:?}");
        assert!(!done.stderr.contains("--request-id"), "nothing was sent: {done:?}");
    }
    let done = run(&nobody(), "create --json");
    assert_eq!(done.error()["code"], "UNAVAILABLE");
    assert_eq!(done.stdout, "");
}

#[test]
fn a_peer_that_says_nothing_is_given_up_on_in_time() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let done = run(&url, "create --json --timeout 100ms");
    assert_eq!(done.code, 3, "{done:?}");
    assert_eq!(done.error()["code"], "DEADLINE_EXCEEDED");
    assert!(done.error()["next"].as_str().unwrap().contains("--request-id"), "{done:?}");
}

#[test]
fn what_is_wrong_with_the_command_line_has_its_own_exit_code() {
    for command in ["", "show", "create --board 9x9", "move g1", "--server https://x list"] {
        assert_eq!(run(&nobody(), command).code, 2, "{command}");
    }
    let done = run(&nobody(), "create --json --board 9x9");
    assert_eq!(done.error()["code"], "USAGE");
    assert!(done.error()["message"].as_str().unwrap().contains("cross-board"), "{done:?}");
}

#[test]
fn perft_counts_what_is_known() {
    let done = run(&nobody(), "perft 6 --json");
    let leaves: Vec<_> = done.json().iter().map(|line| line["leaves"].clone()).collect();
    assert_eq!(leaves, ["4", "12", "56", "244", "1396", "8200"]);
    let done = run(&nobody(), "perft 5 --divide --json");
    let leaves = done
        .json()
        .iter()
        .map(|line| line["leaves"].as_str().unwrap().parse::<u64>().unwrap())
        .sum::<u64>();
    assert_eq!(leaves, 1396);
}

#[test]
fn perft_refuses_rules_that_do_not_combine_and_layouts_that_are_elsewhere() {
    let done = run(&nobody(), "perft 3 --board 6x6 --players 4 --handicap 9");
    assert_eq!(done.code, 2);
    for field in ["board:", "handicap_corners:"] {
        assert!(done.stderr.contains(field), "{done:?}");
    }
    assert_eq!(run(&nobody(), "perft 3 --layout x").code, 2);
}
