//! Whoever goes because of a deadline is told apart from whoever goes of its own accord, whichever clock acted first.

mod common;

use std::time::Duration;

use common::{
    collector::Collector,
    metrics::scrape,
    process::{Process, reversid},
    raw::{Raw, framed, full, unfinished},
    *,
};
use prost::Message as _;
use reversi_proto::v1;
use reversi_testbed::RedisServer;
use tokio::time::{sleep, timeout};

/// What callers ask for, as the header has it.
const ASKED: (&str, &str) = ("grpc-timeout", "1S");

/// When they go: long before it; and so soon before it that the server, by its own clock, still waits.
const EARLY: Duration = Duration::from_millis(200);
const NEARLY: Duration = Duration::from_millis(950);

async fn serving(store: &str) -> (Process, Collector) {
    let (collector, endpoint) = Collector::start().await;
    let mut command = reversid(&[
        "--listen=127.0.0.1:0",
        "--admin-listen=127.0.0.1:0",
        &format!("--store={store}"),
        "--log=info,reversid::api=debug",
        &format!("--otlp-endpoint={endpoint}"),
    ]);
    command.env("OTEL_BSP_SCHEDULE_DELAY", "20");
    (Process::of(command).await, collector)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_its_caller_leaves_at_the_deadline_has_exceeded_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let redis = RedisServer::start(folder.path(), &[]);
    let (server, collector) = serving(&redis.url()).await;
    let admin = server.admin().await;
    let raw = Raw::connect(server.address).await;
    let table = create(&mut server.client().await, v1::Rules::default()).await;
    let request = v1::GetGameRequest { game_id: table.id }.encode_to_vec();
    let leave = async |method: &str, request: &[u8], after: Duration| {
        let call = raw.send(raw.post(method, &[ASKED], full(framed(0, request))));
        timeout(after, call).await.expect_err("Redis does not answer");
    };
    assert_eq!(redis.ask(&["CLIENT", "PAUSE", "1500"]), "OK");
    tokio::join!(leave("GetGame", &request, NEARLY), leave("ListGames", &[], EARLY));

    let said = async |method: &str| {
        let span =
            collector.wait_for(1, &format!("reversi.v1.GameService/{method}")).await.remove(0);
        let own = |key: &str| span.attributes.get(key).cloned().unwrap_or_default();
        let keys = ["rpc.response.status_code", "reversi.reason", "error.type"];
        (keys.map(own), span.status)
    };
    let exceeded = ["DEADLINE_EXCEEDED"; 3].map(str::to_owned);
    assert_eq!(said("GetGame").await, (exceeded, 2));
    let cancelled = ["CANCELLED", "", ""].map(str::to_owned);
    assert_eq!(said("ListGames").await, (cancelled, 0));
    let samples = scrape(admin).await;
    for (method, code) in [("GetGame", "DEADLINE_EXCEEDED"), ("ListGames", "CANCELLED")] {
        let labels = [&format!("/{method}\"")[..], &format!("status_code=\"{code}\"")];
        assert_eq!(samples.sum("rpc_server_call_duration_seconds_count", &labels), 1.0, "{method}");
    }
    assert_eq!(samples.sum("reversi_refusals_total", &["reason=\"DEADLINE_EXCEEDED\""]), 1.0);
    assert_eq!(samples.sum("reversi_refusals_total", &[]), 1.0);

    // Both are told at DEBUG, like every call, and within their traces.
    let log = server.log();
    for words in [&["/GetGame", "DEADLINE_EXCEEDED"][..], &["/ListGames", "CANCELLED"]] {
        let line = log.lines().find(|line| words.iter().all(|word| line.contains(word)));
        let line = line.unwrap_or_else(|| panic!("{words:?} in {log}"));
        assert!(line.contains(" DEBUG ") && line.contains("trace_id="), "{line}");
    }
}

/// To the server such a caller is one whose message breaks off.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_whose_message_is_late_has_exceeded_its_deadline() {
    let (server, collector) = serving("memory:").await;
    create(&mut server.client().await, v1::Rules::default()).await;
    let raw = Raw::connect(server.address).await;
    let (_rest, body) = unfinished(&[0, 0]);
    let call = raw.send(raw.post("GetGame", &[ASKED], body));
    timeout(NEARLY, call).await.expect_err("the server waits for the rest");
    let span = collector.wait_for(1, "reversi.v1.GameService/GetGame").await.remove(0);
    assert_eq!(span.attributes["rpc.response.status_code"], "DEADLINE_EXCEEDED");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_that_its_caller_leaves_at_the_deadline_ends_by_it() {
    let (server, _collector) = serving("memory:").await;
    let admin = server.admin().await;
    let table = create(&mut server.client().await, v1::Rules::default()).await;
    let raw = Raw::connect(server.address).await;
    let request = v1::WatchGameRequest { game_id: table.id, ..Default::default() };
    let message = framed(0, &request.encode_to_vec());
    for after in [NEARLY, EARLY] {
        let body = full(message.clone());
        let watch = raw.open(raw.post("WatchGame", &[ASKED], body)).await.expect("it opens");
        sleep(after).await;
        drop(watch);
    }
    let mut samples = scrape(admin).await;
    until("both watches have ended", async || {
        samples = scrape(admin).await;
        samples.sum("reversi_watch_ends_total", &[]) == 2.0
    })
    .await;
    let ends =
        |reason: &str| samples.sum("reversi_watch_ends_total", &[&format!("reason=\"{reason}\"")]);
    assert_eq!((ends("deadline_exceeded"), ends("client_gone")), (1.0, 1.0));
}
