//! The command line against the real server: whole games of every variant, and what is said when something is refused.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

mod support;

use serde_json::{Value, json};
use support::{Server, run, start};

const VARIANTS: [&str; 8] = [
    "",
    "--board 6x6 --opening parallel --objective fewest-discs",
    "--opening free --blocked 4 --seed 0",
    "--board 10x10 --handicap 4 --blocked b1,j5",
    "--board cross-board",
    "--multicolor --blocked 2",
    "--players 3 --board 10x10",
    "--players 4 --board octagon --objective fewest-discs",
];

/// A memory server.
fn server() -> Server {
    Server::start("memory:", 0)
}

/// A game in progress between ann and bob: its id, and the tokens of black, white and the owner.
fn game(url: &str, flags: &str) -> (String, [String; 3]) {
    let created = run(url, &format!("create --json --seat ann --seat bob {flags}")).object();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let tokens = &created["seatTokens"];
    (
        text(&created["game"]["gameId"]),
        [
            text(&tokens[0]["seatToken"]),
            text(&tokens[1]["seatToken"]),
            text(&created["ownerToken"]),
        ],
    )
}

#[test]
fn a_demo_of_every_variant_is_watched_to_its_end_and_verified() {
    let server = server();
    for variant in VARIANTS {
        let done = run(&server.url(), &format!("demo --json --rng-seed 3 {variant}"));
        assert_eq!(done.code, 0, "{variant}: {done:?}");
        let lines = done.json();
        let [watched @ .., end, verified] = lines.as_slice() else { panic!("{done:?}") };
        let events: Vec<_> = watched.iter().filter_map(|line| line.get("event")).collect();
        assert!(events[0]["created"].is_object(), "{variant}");
        assert_eq!(end["end"]["reason"], "END_REASON_GAME_FINISHED", "{variant}");
        assert_eq!(verified["verified"]["faults"], 0, "{variant}");
        assert_eq!(verified["verified"]["events"], events.len().to_string(), "{variant}");
    }
}

#[test]
fn a_demo_shows_the_board_and_tells_how_to_go_on() {
    let server = server();
    let done = run(&server.url(), "demo --board 6x6");
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.stdout.contains("     a  b  c  d  e  f\n"), "{done:?}");
    assert!(done.stdout.contains("Verified"), "{done:?}");
    assert!(done.stdout.contains("reversictl create"), "{done:?}");
    assert!(!done.stdout.contains('\u{1b}'), "no colours where nobody looks");
}

#[test]
fn a_token_that_looks_like_a_flag_is_still_a_token() {
    let server = server();
    let (id, _) = game(&server.url(), "");
    for command in ["move GAME d3", "resign GAME", "abort GAME", "delete GAME"] {
        let command = format!("{} --token -abc-", command.replace("GAME", &id));
        let done = run(&server.url(), &command);
        assert_eq!(done.code, 1, "{done:?}");
        assert!(done.stderr.contains("TOKEN_INVALID"), "{done:?}");
    }
}

#[test]
fn two_players_meet_and_play_by_hand() {
    let server = server();
    let url = server.url();
    let created = run(&url, "create --json --seat ann=Ann --seat open --label club=north").object();
    let id = created["game"]["gameId"].as_str().unwrap();
    assert_eq!(created["game"]["status"], "GAME_STATUS_WAITING_FOR_PLAYERS");
    let black = created["seatTokens"][0]["seatToken"].as_str().unwrap();

    let early = run(&url, &format!("move {id} d3 --token {black}"));
    assert_eq!(early.code, 1);
    assert!(early.stderr.contains(&format!("reversictl join {id}")), "{early:?}");

    let joined = start(&url, &format!("join {id} --json --player bob --name"), &["Bob B."]).done();
    let joined = joined.object();
    assert_eq!(joined["color"], "COLOR_WHITE");
    assert_eq!(joined["game"]["seats"][1]["displayName"], "Bob B.");
    let white = joined["seatToken"].as_str().unwrap();

    let moved = run(&url, &format!("move {id} D3 --json --token {black} --expect 2")).object();
    assert_eq!(moved["event"]["movePlayed"]["flips"], json!(["d4"]));
    let stale = run(&url, &format!("move {id} c3 --json --token {white} --expect 2"));
    assert_eq!(stale.error()["reason"], "VERSION_MISMATCH");
    let turn = run(&url, &format!("move {id} c4 --token {black}"));
    assert!(turn.stderr.contains("It is white's turn"), "{turn:?}");
    let illegal = run(&url, &format!("move {id} a1 --token {white}"));
    assert!(illegal.stderr.contains("Legal moves now: c3 e3 c5"), "{illegal:?}");
    let shown = run(&url, &format!("show {id}"));
    assert!(shown.stdout.contains("White to move: c3 e3 c5"), "{shown:?}");
    assert!(shown.stdout.contains("ann (Ann)"), "{shown:?}");

    let resigned = run(&url, &format!("resign {id} --token {white}"));
    assert!(resigned.stdout.contains("Black wins"), "{resigned:?}");
    let listed = run(&url, "list --json --label club=north --status finished --player bob");
    assert_eq!(listed.object()["gameId"], id);
    let history = run(&url, &format!("history {id} --json"));
    assert_eq!(history.json().len(), 4);
    let history = run(&url, &format!("history {id} --after 2"));
    assert_eq!(history.stdout.lines().count(), 2);
    assert!(history.stdout.contains("black d3, flips d4"), "{history:?}");
    let verified = run(&url, &format!("verify {id}"));
    assert_eq!(verified.code, 0, "{verified:?}");
    assert!(verified.stdout.contains("Verified 4 events"), "{verified:?}");
}

#[test]
fn a_watch_shows_a_game_from_the_start_and_from_anywhere_to_its_end() {
    let server = server();
    let url = server.url();
    let (id, [black, _, owner]) = game(&url, "");
    let watch = start(&url, &format!("watch {id} --json"), &[]);
    assert!(watch.line().contains("\"snapshot\""));
    run(&url, &format!("move {id} d3 --json --token {black}")).object();
    assert!(watch.line().contains("\"movePlayed\""));
    let aborted = run(&url, &format!("abort {id} --json --token {owner}")).object();
    assert_eq!(aborted["event"]["outcome"]["reason"], "OUTCOME_REASON_ABORTED");
    let done = watch.done();
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(done.json().last().unwrap()["end"]["reason"], "END_REASON_GAME_FINISHED");

    for (after, events) in [(0, 3), (1, 2), (3, 0)] {
        let again = run(&url, &format!("watch {id} --json --after {after}")).json();
        let shown = again.iter().filter(|line| line.get("event").is_some()).count();
        assert_eq!(shown, events, "{again:?}");
    }
    let diverged = run(&url, &format!("watch {id} --after 2:77"));
    assert!(diverged.stderr.contains("went on differently"), "{diverged:?}");
}

#[test]
fn a_watch_outlives_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("file:{}", folder.path().join("games.redb").display());
    let first = Server::start(&store, 0);
    let (port, url) = (first.port(), first.url());
    let (id, [black, white, owner]) = game(&url, "");
    let watch = start(&url, &format!("watch {id} --json"), &[]);
    assert!(watch.line().contains("\"snapshot\""));
    run(&url, &format!("move {id} d3 --json --token {black}")).object();
    assert!(watch.line().contains("\"movePlayed\""));
    drop(first);
    let _second = Server::start(&store, port);
    run(&url, &format!("move {id} c3 --json --token {white}")).object();
    run(&url, &format!("abort {id} --json --token {owner}")).object();
    let done = watch.done();
    assert_eq!(done.code, 0, "{done:?}");
    let revisions: Vec<_> = done
        .json()
        .iter()
        .filter_map(|line| Some(line.get("event")?["version"]["revision"].clone()))
        .collect();
    assert_eq!(revisions, ["3", "4"]);
    assert!(done.stderr.contains("reconnecting"), "{done:?}");
}

#[test]
fn rules_come_back_as_they_were_asked_for_and_are_accepted_again() {
    let server = server();
    let url = server.url();
    let flags = "--board 10x10 --objective fewest-discs --opening free --handicap 2 --blocked 3 \
                 --seed 18446744073709551615";
    let (id, _) = game(&url, flags);
    let game = run(&url, &format!("show {id} --json")).object()["game"].clone();
    let mut expected = json!({
        "board": "BOARD_10X10",
        "players": 2,
        "objective": "OBJECTIVE_FEWEST_DISCS",
        "opening": "OPENING_FREE",
        "handicapCorners": 2,
        "multicolor": false,
        "blockedSquares": { "count": 3, "seed": "18446744073709551615" },
    });
    expected["blockedSquares"]["squares"] = json!([]);
    expected["blockedSquares"]["layoutId"] = json!("");
    assert_eq!(game["rules"], expected);

    let layout = game["layout"]["layoutId"].as_str().unwrap();
    let same = format!("create --json --board 10x10 --handicap 2 --layout {layout}");
    let same = run(&url, &same).object();
    assert_eq!(same["game"]["layout"], game["layout"]);
}

#[test]
fn layouts_are_drawn_shown_and_played_on() {
    let server = server();
    let url = server.url();
    let drawn = run(&url, "layout create --count 2 --board octagon --seed 42 --json").object();
    let id = drawn["layout"]["layoutId"].as_str().unwrap();
    let shown = run(&url, &format!("layout get {id}"));
    assert!(shown.stdout.contains(&format!("create --board octagon --layout {id}")), "{shown:?}");
    let created = run(&url, &format!("create --board octagon --layout {id} --json")).object();
    assert_eq!(created["game"]["layout"], drawn["layout"]);
    assert_eq!(run(&url, "layout get nothing --json").error()["reason"], "LAYOUT_NOT_FOUND");
}

#[test]
fn every_fault_of_the_rules_is_told_at_once() {
    let server = server();
    let done = run(
        &server.url(),
        "create --json --players 7 --board 6x6 --multicolor --opening cross --blocked 9 --layout x",
    );
    assert_eq!(done.code, 1);
    let error = done.error();
    assert_eq!(error["reason"], "INVALID_FIELD");
    let fields: Vec<_> = error["fields"].as_array().unwrap().iter().map(|f| &f["field"]).collect();
    for field in ["rules.players", "rules.board", "rules.opening"] {
        assert!(fields.iter().any(|found| *found == field), "{field}: {fields:?}");
    }
}

#[test]
fn a_repeated_request_id_gets_the_first_answer() {
    let server = server();
    let url = server.url();
    let create = "create --json --seat ann --request-id 0b7e0c3a-9a55-4c6f-8a7e-3f1de42f8c11";
    let first = run(&url, &format!("{create} --seat bob")).object();
    assert_eq!(run(&url, &format!("{create} --seat bob")).object(), first);
    let other = run(&url, &format!("{create} --seat carl"));
    assert_eq!(other.error()["reason"], "REQUEST_ID_REUSED");
}

#[test]
fn a_deleted_game_is_gone_and_its_watchers_hear_it() {
    let server = server();
    let url = server.url();
    let (id, [black, _, owner]) = game(&url, "");
    let watch = start(&url, &format!("watch {id} --json"), &[]);
    watch.line();
    let wrong = run(&url, &format!("delete {id} --token {black}x"));
    assert!(wrong.stderr.contains("TOKEN_INVALID"), "{wrong:?}");
    let missing = run(&url, &format!("delete {id}"));
    assert!(missing.stderr.contains("TOKEN_MISSING"), "{missing:?}");
    assert_eq!(run(&url, &format!("delete {id} --json --token {owner}")).object(), json!({}));
    let done = watch.done();
    assert_eq!(done.json().last().unwrap()["end"]["reason"], "END_REASON_GAME_DELETED");
    let gone = run(&url, &format!("verify {id}"));
    assert_eq!(gone.code, 1);
    assert!(gone.stderr.contains("GAME_NOT_FOUND"), "{gone:?}");
}

#[test]
fn a_listing_follows_its_pages_to_the_limit() {
    let server = server();
    let url = server.url();
    for _ in 0..3 {
        run(&url, "create --json --label page=test").object();
    }
    assert_eq!(run(&url, "list --json --label page=test").json().len(), 3);
    assert_eq!(run(&url, "list --json --label page=test --limit 2").json().len(), 2);
    assert_eq!(run(&url, "list --limit 0").stdout.lines().count(), 3);
    let none = run(&url, "list --label page=none");
    assert!(none.code == 0 && none.stderr.contains("reversictl create"), "{none:?}");
}
