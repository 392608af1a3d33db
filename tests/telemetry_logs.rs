//! A line of the log is one event, whatever others wrote into it; it names its trace, and tells faults from refusals.

mod common;

use common::{
    collector::Collector,
    process::{Process, reversid},
    stored::{Stored, change},
    watch::Watch,
    *,
};
use reversi_proto::v1::{self, Color};
use reversi_testbed::RedisServer;
use serde_json::Value;
use tonic::{Code, Request};

/// A new line and a whole line of a forger's, in both forms of a terminal's escape.
const HOSTILE: &str = "x\n2026-01-01T00:00:00Z ERROR reversid: forged a=\"b\u{1b}[31m\u{9b}2J";

/// A game under a hostile id that cannot be read, which is logged by its id.
async fn cannot_read_hostile(format: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let redis = RedisServer::start(folder.path(), &[]);
    let flags = ["--listen=127.0.0.1:0", "--store", &redis.url(), "--log=debug", "--log-format"];
    let server = Process::of(reversid(&[&flags[..], &[format]].concat())).await;
    let mut client = server.client().await;
    // Where a game of this id would be.
    let table = create(&mut client, v1::Rules::default()).await;
    let keys = redis.ask(&["KEYS", &format!("*{}*", table.id)]);
    let key = keys.lines().next().expect("a game has a key").replace(&table.id, HOSTILE);
    assert_eq!(redis.ask(&["SET", &key, "nonsense"]), "OK");
    let request = v1::WatchGameRequest { game_id: HOSTILE.into(), ..Default::default() };
    client.watch_game(request).await.expect_err("it cannot be read");
    let seats =
        vec![
            v1::NewSeat { player_id: HOSTILE.into(), display_name: HOSTILE.into(), open: false };
            2
        ];
    let request = v1::CreateGameRequest { seats, ..Default::default() };
    client.create_game(request).await.expect_err("names have no control characters");
    server.logged("a watched game cannot be read").await;
    server.logged("INVALID_ARGUMENT").await;
    server.log()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_forges_a_line_of_text() {
    let log = cannot_read_hostile("text").await;
    for line in log.lines() {
        let (time, rest) = line.split_once(' ').expect("a time first");
        assert!(humantime::parse_rfc3339(time).is_ok(), "{line}");
        let level = rest.trim_start().split(' ').next();
        let levels = ["ERROR", "WARN", "INFO", "DEBUG"];
        assert!(level.is_some_and(|level| levels.contains(&level)), "{line}");
        assert!(!line.contains(char::is_control), "{line:?}");
        assert!(!line.starts_with("2026-01-01"), "{line}");
    }
    assert!(
        log.contains(
            r#"game_id="x\n2026-01-01T00:00:00Z ERROR reversid: forged a=\"b\u001b[31m\u009b2J""#
        ),
        "{log}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_forges_a_line_of_json() {
    let log = cannot_read_hostile("json").await;
    let mut told = false;
    for line in log.lines() {
        assert!(!line.contains(char::is_control), "{line:?}");
        let line: Value = serde_json::from_str(line).expect("each line is an object");
        for key in ["time", "level", "target", "message"] {
            assert!(line[key].is_string(), "{key} of {line}");
        }
        assert!(line["fields"].is_object(), "{line}");
        told |= line["fields"]["game_id"] == HOSTILE && line["level"] == "WARN";
    }
    assert!(told, "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_name_their_trace_and_refusals_are_told_at_debug_alone() {
    let (collector, endpoint) = Collector::start().await;
    let flags = ["--listen=127.0.0.1:0", "--store=memory:", "--log-format=json", "--log=debug"];
    let flags = [&flags[..], &["--otlp-endpoint", &endpoint]].concat();
    let mut command = reversid(&flags);
    command.env("OTEL_BSP_SCHEDULE_DELAY", "20");
    let server = Process::of(command).await;
    let mut client = server.client().await;
    let seats = vec![v1::NewSeat { player_id: "ann-of-cleves".into(), ..Default::default() }; 2];
    let request = v1::CreateGameRequest { seats, request_id: request_id(), ..Default::default() };
    let secret = request.request_id.clone();
    let table = create_with(&mut client, request).await;
    client.make_move(table.play(Color::Black, "a1")).await.expect_err("it flips nothing");
    let span = collector.wait_for(1, "reversi.v1.GameService/MakeMove").await.remove(0);
    let log = server.logged("ILLEGAL_MOVE").await;
    let lines: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    let refused = lines.iter().find(|line| line["fields"]["reason"] == "ILLEGAL_MOVE");
    let refused = refused.expect("the refusal is told");
    assert_eq!(refused["level"], "DEBUG");
    assert_eq!(refused["fields"]["path"], "/reversi.v1.GameService/MakeMove");
    assert_eq!(refused["fields"]["code"], "FAILED_PRECONDITION");
    assert!(refused["fields"]["millis"].is_u64(), "{refused}");
    assert_eq!((&refused["trace_id"], &refused["span_id"]), (&span.trace.into(), &span.id.into()));
    let ours =
        |line: &&Value| line["target"].as_str().is_some_and(|own| own.starts_with("reversid"));
    let loud = lines
        .iter()
        .filter(ours)
        .filter(|line| line["level"] == "WARN" || line["level"] == "ERROR");
    assert_eq!(loud.count(), 0, "{log}");
    let tokens = table.tokens.values().chain([&table.owner, &secret]);
    for secret in tokens.map(String::as_str).chain(["ann-of-cleves"]) {
        assert!(!log.contains(secret), "{secret} is in the log");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_away_is_an_error_with_its_cause() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut redis = RedisServer::start(folder.path(), &[]);
    let flags = ["--listen=127.0.0.1:0", "--store", &redis.url()];
    let server = Process::of(reversid(&flags)).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    redis.kill();
    let request = v1::GetGameRequest { game_id: table.id.clone() };
    client.get_game(request).await.expect_err("Redis is gone");
    let log = server.logged("the store is unavailable").await;
    let line = log.lines().find(|line| line.contains("the store is unavailable")).expect("a line");
    assert!(line.contains(" ERROR ") && line.contains("refused"), "{line}");
}

/// Nothing is exported: what operators have is the log alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_names_its_game_and_the_callers_trace() {
    let home = StoreKind::Redis.home();
    let flags = ["--listen=127.0.0.1:0", "--store", &home.url, "--log-format=json"];
    let server = Process::of(reversid(&flags)).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let traces = [(); 2].map(|()| request_id().replace('-', ""));
    let parents = traces.each_ref().map(|trace| format!("00-{trace}-b7ad6b7169203331-01"));
    let mut watching =
        Request::new(v1::WatchGameRequest { game_id: table.id.clone(), ..Default::default() });
    watching.metadata_mut().insert("traceparent", parents[0].parse().expect("ASCII"));
    let opened = client.watch_game(watching).await.expect("the watch opens");
    assert_eq!(opened.metadata().get("traceparent"), None, "there is no span of ours");
    let mut watch = Watch(opened.into_inner());
    watch.snapshot().await;
    // Of a newer release, and with the next revision.
    change(&home, Stored::Game(&table.id), |bytes| {
        bytes[0] += 1;
        bytes[9] += 1;
    });
    assert_eq!(watch.failure().await.reason, "SERVER_OUTDATED");
    change(&home, Stored::Game(&table.id), |bytes| {
        bytes[0] -= 1;
        bytes.truncate(7);
    });
    let mut reading = Request::new(v1::GetGameRequest { game_id: table.id.clone() });
    reading.metadata_mut().insert("traceparent", parents[1].parse().expect("ASCII"));
    assert_eq!(refusal(client.get_game(reading).await).code, Code::Internal);

    let log = server.log();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("an object"));
    let said = [
        ("WARN", "a newer release wrote what was asked for"),
        ("ERROR", "a call failed by a fault of ours"),
    ];
    let lines: Vec<_> =
        lines.filter(|line| said.iter().any(|(_, said)| line["message"] == *said)).collect();
    assert_eq!(lines.len(), 2, "{log}");
    for ((line, trace), (level, message)) in lines.iter().zip(traces).zip(said) {
        assert_eq!((&line["level"], &line["message"]), (&level.into(), &message.into()));
        assert_eq!(line["fields"]["game_id"], table.id, "{line}");
        assert_eq!(line["trace_id"], trace, "{line}");
        assert_eq!(line.get("span_id"), None, "{line}");
    }
}
