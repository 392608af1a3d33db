//! Two replicas over one Redis, and a collector: one trace goes from the caller's span over the move and its store call to the
//! event that is delivered at the other replica, and metrics add up in both of their forms.

mod common;

use common::{
    collector::{Collector, Span},
    metrics::scrape,
    process::{Process, reversid},
    watch::Watch,
    *,
};
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use reversi_proto::v1::{self, Color};
use reversi_testbed::RedisServer;
use tempfile::TempDir;
use tonic::{Request, metadata::MetadataMap};

const MAKE_MOVE: &str = "reversi.v1.GameService/MakeMove";
const WATCH_GAME: &str = "reversi.v1.GameService/WatchGame";
const CREATE_GAME: &str = "reversi.v1.GameService/CreateGame";

/// A caller's span, as others see it.
#[derive(Clone, Debug)]
struct Caller {
    trace: String,
    span: String,
}

impl Caller {
    fn new() -> Self {
        let [trace, span] = [(); 2].map(|()| request_id().replace('-', ""));
        Self { trace, span: span[..16].to_owned() }
    }

    fn traceparent(&self, flags: &str) -> String {
        format!("00-{}-{}-{flags}", self.trace, self.span)
    }

    /// A request made within the span, which is recorded.
    fn request<T>(&self, message: T) -> Request<T> {
        traced(message, &self.traceparent("01"))
    }
}

fn traced<T>(message: T, traceparent: &str) -> Request<T> {
    let mut request = Request::new(message);
    let value = traceparent.parse().expect("ASCII");
    request.metadata_mut().insert("traceparent", value);
    request
}

/// The span that an answer names, and its flags.
fn told(metadata: &MetadataMap) -> (String, String, String) {
    let value = metadata.get("traceparent").expect("an answer names its span");
    let parts: Vec<_> = value.to_str().expect("ASCII").split('-').map(str::to_owned).collect();
    let [version, trace, span, flags] = parts.try_into().expect("four parts");
    assert_eq!(version, "00");
    (trace, span, flags)
}

/// The only one of them.
fn only(mut spans: Vec<Span>) -> Span {
    assert_eq!(spans.len(), 1, "{spans:?}");
    spans.remove(0)
}

struct Replicas {
    a: Process,
    b: Process,
    collector: Collector,
    redis: RedisServer,
    _folder: TempDir,
}

impl Replicas {
    async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let redis = RedisServer::start(folder.path(), &[]);
        let (collector, endpoint) = Collector::start().await;
        let start = async |log: &str| {
            let mut command = reversid(&[
                "--listen=127.0.0.1:0",
                "--admin-listen=127.0.0.1:0",
                // A hint that is lost shows as a span that is missing.
                "--watch-poll=30s",
                &format!("--store={}", redis.url()),
                &format!("--otlp-endpoint={endpoint}"),
                // No line of the log is needed but those that tell the addresses.
                &format!("--log=off,reversid=info{log}"),
            ]);
            command.env("OTEL_BSP_SCHEDULE_DELAY", "20").env("OTEL_SERVICE_NAME", "games");
            Process::of(command).await
        };
        let (a, b) = (start("").await, start(",reversid::api=error").await);
        Self { a, b, collector, redis, _folder: folder }
    }
}

/// The channel of the one game that is watched, once hints for it are heard: it is asked for when the watch is there already.
async fn listened_to(redis: &RedisServer) -> String {
    let mut channel = String::new();
    until("the watched game's hints are heard", async || {
        channel = redis.ask(&["PUBSUB", "SHARDCHANNELS"]);
        !channel.is_empty()
    })
    .await;
    channel
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_trace_goes_from_the_callers_span_to_the_delivered_event() {
    let Replicas { mut a, mut b, collector, redis, _folder } = Replicas::start().await;
    let (mut at_a, mut at_b) = (a.client().await, b.client().await);
    let table = create(&mut at_a, v1::Rules::default()).await;

    let viewer = Caller::new();
    let request = v1::WatchGameRequest { game_id: table.id.clone(), ..Default::default() };
    let opened = at_b.watch_game(viewer.request(request)).await.expect("the watch opens");
    let (watch_trace, watch_span, _) = told(opened.metadata());
    let mut watch = Watch(opened.into_inner());
    watch.snapshot().await;
    listened_to(&redis).await;

    let player = Caller::new();
    let request_id = request_id();
    let request = v1::MakeMoveRequest {
        request_id: request_id.clone(),
        expected_version: table.game.version,
        ..table.play(Color::Black, "d3")
    };
    let made = at_a.make_move(player.request(request)).await.expect("a legal move");
    let (move_trace, move_span, flags) = told(made.metadata());
    assert_eq!(flags, "01");
    watch.event().await;

    // The call.
    let call = only(collector.wait_for(1, MAKE_MOVE).await);
    assert_eq!((&call.trace, &call.parent), (&player.trace, &player.span));
    assert_eq!((&call.trace, &call.id), (&move_trace, &move_span));
    assert_eq!((call.kind, call.status), (SpanKind::Server, 0));
    let own = |key: &str| call.attributes.get(key).map(String::as_str);
    assert_eq!(own("rpc.system.name"), Some("grpc"));
    assert_eq!(own("rpc.method"), Some(MAKE_MOVE));
    assert_eq!(own("rpc.response.status_code"), Some("OK"));
    assert_eq!(own("reversi.game_id"), Some(table.id.as_str()));
    assert_eq!(own("reversi.revision"), Some("2"));
    assert_eq!(call.attributes.len(), 5, "and nothing else: {:?}", call.attributes);
    assert_eq!(call.resource["service.name"], "games");
    assert_eq!(call.resource["service.version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(call.schema, "https://opentelemetry.io/schemas/1.42.0");

    // Its store call, in a task of its own.
    let commit = only(collector.wait_for(1, "commit").await);
    assert_eq!((&commit.trace, &commit.parent), (&player.trace, &call.id));
    assert_eq!((commit.kind, commit.status), (SpanKind::Client, 0));
    let attributes = ["db.system.name", "db.operation.name", "reversi.store"];
    assert_eq!(attributes.map(|key| commit.attributes[key].as_str()), ["redis", "commit", "redis"]);

    // Its delivery at the other replica.
    let delivery = only(collector.wait_for(1, "deliver event").await);
    assert_eq!((&delivery.trace, &delivery.parent), (&player.trace, &call.id));
    assert_eq!(delivery.kind, SpanKind::Consumer);
    let links = [(move_trace, move_span), (watch_trace.clone(), watch_span.clone())];
    assert_eq!(delivery.links, links);
    assert_eq!(delivery.attributes["reversi.game_id"], table.id);
    assert_eq!(delivery.attributes["reversi.revision"], "2");
    let instance = |span: &Span| span.resource["service.instance.id"].clone();
    assert_eq!(instance(&call), instance(&commit));
    assert_ne!(instance(&call), instance(&delivery), "it was delivered by the other process");

    // The watch is open, and its span is over.
    let watched = only(collector.wait_for(1, WATCH_GAME).await);
    assert_eq!((&watched.trace, &watched.id), (&watch_trace, &watch_span));
    assert_eq!((&watched.trace, &watched.parent), (&viewer.trace, &viewer.span));
    assert_eq!(watched.attributes["reversi.revision"], "1");

    // Whoever sends no context begins a trace.
    assert_eq!(only(collector.named(CREATE_GAME)).parent, "");

    // No secret and no text of a player's is in any of it.
    let all = format!("{:?}", collector.spans());
    let tokens = table.tokens.values().chain([&table.owner, &request_id]);
    for secret in tokens.map(String::as_str).chain(["player-0", "player-1"]) {
        assert!(!all.contains(secret), "{secret} is in a span");
    }

    // White moves at B, so that A's cache is behind: its next move conflicts, and is judged again.
    at_b.make_move(table.play(Color::White, "c3")).await.expect("a legal move");
    watch.event().await;
    let late = refusal(at_a.make_move(table.play(Color::White, "e3")).await);
    assert_eq!(late.reason, "NOT_YOUR_TURN");
    drop(watch);
    let (admin_a, admin_b) = (a.admin().await, b.admin().await);
    until("the watch has ended", async || {
        scrape(admin_b).await.sum("reversi_watchers", &[]) == 0.0
    })
    .await;
    let scraped = [scrape(admin_a).await, scrape(admin_b).await];
    for process in [&mut a, &mut b] {
        process.signal(&["TERM"]).await;
        assert_eq!(process.ended().await.code(), Some(0), "{}", process.log());
    }
    assert_eq!(collector.instances(), 2, "both sent their last metrics");
    let both = |otlp: &str, prometheus: &str, labels: &[(&str, &str)]| {
        let label = |(key, value): &(&str, &str)| format!("{}=\"{value}\"", key.replace('.', "_"));
        let labelled: Vec<_> = labels.iter().map(label).collect();
        let labelled: Vec<_> = labelled.iter().map(String::as_str).collect();
        let scraped: f64 = scraped.iter().map(|one| one.sum(prometheus, &labelled)).sum();
        let sent = collector.sum(otlp, labels);
        assert_eq!(sent, scraped, "{otlp} {labels:?}");
        sent
    };
    let calls = |code| {
        let labels = [("rpc.method", MAKE_MOVE), ("rpc.response.status_code", code)];
        let prometheus = "rpc_server_call_duration_seconds_count";
        both("rpc.server.call.duration", prometheus, &labels)
    };
    assert_eq!((calls("OK"), calls("FAILED_PRECONDITION")), (2.0, 1.0));
    let commits = |outcome| {
        let labels = [("change", "move"), ("outcome", outcome)];
        both("reversi.commit.duration", "reversi_commit_duration_seconds_count", &labels)
    };
    assert_eq!((commits("done"), commits("conflict"), commits("failed")), (2.0, 1.0, 0.0));
    let conflicts =
        both("reversi.commit.conflicts", "reversi_commit_conflicts_total", &[("change", "move")]);
    assert_eq!(conflicts, 1.0);
    let store = "reversi_store_call_duration_seconds_count";
    let commit = [("operation", "commit"), ("store", "redis")];
    assert_eq!(both("reversi.store.call.duration", store, &commit), 3.0);
    let lag = "reversi_watch_delivery_lag_seconds_count";
    assert_eq!(both("reversi.watch.delivery.lag", lag, &[]), 2.0);
    let refused = [("reason", "NOT_YOUR_TURN")];
    assert_eq!(both("reversi.refusals", "reversi_refusals_total", &refused), 1.0);
    let gone = [("reason", "client_gone")];
    assert_eq!(both("reversi.watch.ends", "reversi_watch_ends_total", &gone), 1.0);
    assert_eq!(both("reversi.games", "reversi_games_total", &[]), 1.0);
    assert_eq!(both("reversi.store.ready", "reversi_store_ready", &[]), 2.0);
    assert_eq!(both("reversi.build.info", "reversi_build_info", &[]), 2.0);
    assert_eq!(both("reversi.watch.catch_ups", "reversi_watch_catch_ups_total", &[]), 0.0);
}

/// What a hint carries is believed only of the version that it names, and anything else is a hint like any other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hints_of_other_releases_and_nonsense_cost_no_event() {
    let Replicas { a, b, collector, redis, _folder } = Replicas::start().await;
    let (mut at_a, mut at_b) = (a.client().await, b.client().await);
    let table = create(&mut at_a, v1::Rules::default()).await;
    let mut watch = Watch::of(&mut at_b, &table.id).await;
    watch.snapshot().await;
    let channel = listened_to(&redis).await;
    // An older release's, nonsense, a newer form's, and one of another history's next version.
    let wrong = r"\0010123456789abcdef01234567\0\0\0\0\0\0\0\0021234567.";
    for said in ["", "nonsense", r"\2nonsense", wrong] {
        let script = format!("return redis.call('SPUBLISH', KEYS[1], '{said}')");
        assert_eq!(redis.ask(&["EVAL", &script, "1", &channel]), "1", "one replica heard it");
    }
    let player = Caller::new();
    let request = player.request(table.play(Color::Black, "d3"));
    at_a.make_move(request).await.expect("a legal move");
    watch.event().await;
    let delivery = only(collector.wait_for(1, "deliver event").await);
    assert_eq!(delivery.trace, player.trace);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_caller_does_not_record_is_not_recorded_and_still_passed_on() {
    let Replicas { a, b, collector, redis, _folder } = Replicas::start().await;
    let (mut at_a, mut at_b) = (a.client().await, b.client().await);
    let table = create(&mut at_a, v1::Rules::default()).await;
    let mut watch = Watch::of(&mut at_b, &table.id).await;
    watch.snapshot().await;
    listened_to(&redis).await;
    let player = Caller::new();
    let request = traced(table.play(Color::Black, "d3"), &player.traceparent("00"));
    let made = at_a.make_move(request).await.expect("a legal move");
    let (trace, _, flags) = told(made.metadata());
    assert_eq!((trace, flags), (player.trace, "00".to_owned()));
    watch.event().await;
    // A later call of the same processes shows that nothing of the first is on its way.
    let request = Caller::new().request(table.play(Color::White, "c3"));
    at_a.make_move(request).await.expect("a legal move");
    watch.event().await;
    let delivery = only(collector.wait_for(1, "deliver event").await);
    assert_eq!(delivery.attributes["reversi.revision"], "3");
    let call = only(collector.wait_for(1, MAKE_MOVE).await);
    assert_eq!((call.trace, call.id), delivery.links[0]);
    // Nonsense is no context: a trace begins.
    let request = traced(v1::GetGameRequest { game_id: table.id.clone() }, "00-nonsense-01");
    let (_, _, flags) = told(at_a.get_game(request).await.expect("it is there").metadata());
    assert_eq!(flags, "01");
    let read = only(collector.wait_for(1, "reversi.v1.GameService/GetGame").await);
    assert_eq!(read.parent, "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_caller_has_gone_is_told_of_as_cancelled() {
    let Replicas { a, b: _b, collector, redis, _folder } = Replicas::start().await;
    let admin = a.admin().await;
    let mut client = a.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    assert_eq!(redis.ask(&["CLIENT", "PAUSE", "1500"]), "OK");
    let request = v1::GetGameRequest { game_id: table.id.clone() };
    let call = tokio::spawn(async move { client.get_game(request).await.map(drop) });
    until("the call waits for Redis", async || {
        scrape(admin).await.sum("reversi_calls_in_flight", &[]) == 1.0
    })
    .await;
    call.abort();
    let name = "reversi.v1.GameService/GetGame";
    let span = only(collector.wait_for(1, name).await);
    assert_eq!(span.attributes["rpc.response.status_code"], "CANCELLED");
    assert_eq!(span.status, 0, "which is nobody's fault");
    let labels = [name, "rpc_response_status_code=\"CANCELLED\""];
    let samples = scrape(admin).await;
    assert_eq!(samples.sum("rpc_server_call_duration_seconds_count", &labels), 1.0);
    assert_eq!(samples.sum("reversi_calls_in_flight", &[]), 0.0);
}
