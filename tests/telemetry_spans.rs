//! Of one process: which spans are errors, how many an event makes, and that no setting of the log has a say in them.

mod common;

use std::process::Stdio;

use bytes::Bytes;
use common::{
    collector::Collector,
    process::{Process, reversid},
    raw::{Raw, unfinished},
    watch::Watch,
    *,
};
use reversi_proto::v1::{self, Color};
use tokio::net::{TcpListener, TcpStream};
use tonic::Request;

async fn traced(flags: &[&str]) -> (Process, Collector) {
    let (collector, endpoint) = Collector::start().await;
    let base = ["--listen=127.0.0.1:0", "--store=memory:", "--otlp-endpoint", &endpoint];
    let mut command = reversid(&[&base, flags].concat());
    command.env("OTEL_BSP_SCHEDULE_DELAY", "20");
    (Process::of(command).await, collector)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_are_no_errors_and_faults_are() {
    let (server, collector) = traced(&[]).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    client.make_move(table.play(Color::Black, "a1")).await.expect_err("it flips nothing");
    client.make_move(table.play(Color::Black, "z9")).await.expect_err("no such square");
    let request = v1::GetGameRequest { game_id: "nowhere".into() };
    client.get_game(request).await.expect_err("no such game");
    let raw = Raw::connect(server.address).await;
    let (_rest, body) = unfinished(&[0, 0]);
    let late = raw.send(raw.post("ListGames", &[("grpc-timeout", "20m")], body)).await;
    assert!(late.is_ok_and(|answer| answer.status().is_some()), "it is too late");
    raw.call("Made\u{2e}Up", &[], Bytes::from_static(&[0; 5])).await;

    let spans = collector.wait_for(2, "reversi.v1.GameService/MakeMove").await;
    let said = |span: &common::collector::Span| {
        let own = |key: &str| span.attributes.get(key).cloned().unwrap_or_default();
        let keys = ["rpc.response.status_code", "reversi.reason", "error.type"];
        let [code, reason, error] = keys.map(own);
        (code, reason, error, span.status)
    };
    let plain = |code: &str, reason: &str| (code.to_owned(), reason.to_owned(), String::new(), 0);
    assert_eq!(said(&spans[0]), plain("FAILED_PRECONDITION", "ILLEGAL_MOVE"));
    assert_eq!(spans[0].attributes["reversi.revision"], "1", "the version it was judged at");
    assert_eq!(said(&spans[1]), plain("INVALID_ARGUMENT", "INVALID_FIELD"));
    let read = &collector.wait_for(1, "reversi.v1.GameService/GetGame").await[0];
    assert_eq!(said(read), plain("NOT_FOUND", "GAME_NOT_FOUND"));
    assert_eq!(read.attributes["reversi.game_id"], "nowhere");
    let fault = |code: &str| (code.to_owned(), code.to_owned(), code.to_owned(), 2);
    let late = &collector.wait_for(1, "reversi.v1.GameService/ListGames").await[0];
    assert_eq!(said(late), fault("DEADLINE_EXCEEDED"));
    let unknown = &collector.wait_for(1, "grpc").await[0];
    assert_eq!(said(unknown), fault("UNIMPLEMENTED"));
    assert_eq!(unknown.attributes["rpc.method"], "_OTHER");
    assert_eq!(unknown.attributes["rpc.method_original"], "reversi.v1.GameService/Made.Up");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_makes_a_bounded_number_of_spans() {
    let (server, collector) = traced(&[]).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let mut watches = Vec::new();
    for _ in 0..70 {
        let mut watch = Watch::of(&mut client, &table.id).await;
        watch.snapshot().await;
        watches.push(watch);
    }
    for (color, square) in [(Color::Black, "d3"), (Color::White, "c3")] {
        client.make_move(table.play(color, square)).await.expect("a legal move");
        for watch in &mut watches {
            watch.event().await;
        }
    }
    drop(watches);
    // The second move's spans come after all of the first's.
    let of = |revision: &str| {
        let spans = collector.named("deliver event").into_iter();
        spans.filter(|span| span.attributes["reversi.revision"] == revision).count()
    };
    until("both moves were delivered", async || of("3") == 64).await;
    assert_eq!(of("2"), 64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replays_and_snapshots_make_no_spans() {
    let (server, collector) = traced(&[]).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    client.make_move(table.play(Color::Black, "d3")).await.expect("a legal move");
    Watch::of(&mut client, &table.id).await.snapshot().await;
    let mut watch = Watch::resumed(&mut client, &table.id, table.game.version).await;
    watch.event().await;
    client.make_move(table.play(Color::White, "c3")).await.expect("a legal move");
    watch.message().await;
    watch.event().await;
    let delivered = collector.wait_for(1, "deliver event").await;
    let revisions: Vec<_> =
        delivered.iter().map(|span| span.attributes["reversi.revision"].as_str()).collect();
    assert_eq!(revisions, ["3"]);
}

/// The context of a caller, of the examples of the specification.
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callers_context_survives_every_level_of_the_log() {
    for level in ["off", "error", "trace"] {
        let (collector, endpoint) = Collector::start().await;
        let free =
            TcpListener::bind("127.0.0.1:0").await.and_then(|listener| listener.local_addr());
        let address = free.expect("a free port");
        let listen = address.to_string();
        let flags =
            ["--listen", &listen, "--store=memory:", "--otlp-endpoint", &endpoint, "--log", level];
        let mut command = reversid(&flags);
        command.env("OTEL_BSP_SCHEDULE_DELAY", "20");
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let _server = command.spawn().expect("the binary can be started");
        until("it listens", async || TcpStream::connect(address).await.is_ok()).await;
        let mut client = client_of(address).await;
        let mut request = Request::new(v1::CreateGameRequest::default());
        request.metadata_mut().insert("traceparent", PARENT.parse().expect("ASCII"));
        request.metadata_mut().insert("tracestate", "vendor=1".parse().expect("ASCII"));
        client.create_game(request).await.expect("a game is created");
        let name = "reversi.v1.GameService/CreateGame";
        let call = collector.wait_for(1, name).await.remove(0);
        let create = collector.wait_for(1, "create").await.remove(0);
        let [_, trace, parent, _] = PARENT.split('-').collect::<Vec<_>>().try_into().expect("four");
        assert_eq!((call.trace.as_str(), call.parent.as_str()), (trace, parent), "{level}");
        assert_eq!((create.trace.as_str(), &create.parent), (trace, &call.id), "{level}");
    }
}
