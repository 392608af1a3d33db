//! When Redis restarts, forgets scripts, or is cut off, no caller is told anything wrong: what could not be done is
//! UNAVAILABLE, and a repeat under the same request id settles it.

mod common;

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use common::{
    watch::{Watch, assert_chained},
    *,
};
use reversi_proto::v1::{self, Color};
use reversi_testbed::{Proxy, RedisServer};
use tokio::task::JoinSet;
use tonic::{Code, Request, Response, Status};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

/// Games are to survive a restart, whatever was acknowledged last.
const DURABLE: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

/// A Redis behind a proxy, for as many replicas as are to be.
async fn proxied(flags: &[&str]) -> (Home, Proxy) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let redis = RedisServer::start(folder.path(), flags);
    let proxy = Proxy::to(redis.port()).await;
    (Home { url: proxy.url(), redis: Some(redis), folder }, proxy)
}

/// Repeats a call until it is answered, and holds every failure to the one that may be. Answers how many there were.
async fn settled<T, F>(client: &Client, call: impl Fn(Client) -> F) -> (T, usize)
where
    F: Future<Output = Result<Response<T>, Status>>,
{
    let begun = Instant::now();
    let mut failures = 0;
    loop {
        match call(client.clone()).await {
            Ok(answer) => return (answer.into_inner(), failures),
            Err(status) if status.code() == Code::DeadlineExceeded => {}
            Err(status) => {
                let refused = refused(&status);
                assert_eq!(refused.reason, "STORE_UNAVAILABLE", "{status:?}");
                assert_eq!(refused.code, Code::Unavailable);
                tokio::time::sleep(refused.retry_after.expect("it says when to retry")).await;
            }
        }
        failures += 1;
        assert!(begun.elapsed() < PATIENCE, "it is settled in time");
    }
}

/// A request whose caller waits for five seconds and leaves it to the server to say so.
fn patient<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("grpc-timeout", "5S".parse().expect("metadata"));
    request
}

/// Plays a game to its end by calls under request ids, each repeated until it is answered. Answers how many were not at once.
async fn play_through(client: Client, made: &AtomicUsize) -> usize {
    let request = v1::CreateGameRequest {
        seats: vec![v1::NewSeat::default(); 2],
        request_id: request_id(),
        ..Default::default()
    };
    let (created, mut failures) = settled(&client, |mut client| {
        let request = patient(request.clone());
        async move { client.create_game(request).await }
    })
    .await;
    let table = table(created);
    let mut now = position(&table.game).clone();
    let mut before = table.game.version.expect("a version");
    let mut events = Vec::new();
    while now.to_move != 0 {
        let square = &now.legal_moves[events.len() % now.legal_moves.len()];
        let request = v1::MakeMoveRequest {
            expected_version: Some(before),
            request_id: request_id(),
            ..table.play(Color::try_from(now.to_move).expect("a colour"), square)
        };
        let (answer, more) = settled(&client, |mut client| {
            let request = patient(request.clone());
            async move { client.make_move(request).await }
        })
        .await;
        let event = answer.event.expect("an event");
        assert_chained(std::slice::from_ref(&event), before);
        before = event.version.expect("a version");
        now = event.position.clone().expect("a position");
        events.push(event);
        failures += more;
        made.fetch_add(1, Ordering::SeqCst);

        let request = v1::GetGameRequest { game_id: table.id.clone() };
        let (read, _) = settled(&client, |mut client| {
            let request = patient(request.clone());
            async move { client.get_game(request).await }
        })
        .await;
        assert_eq!(
            read.game.expect("a game").version,
            Some(before),
            "what was acknowledged is read"
        );
    }
    let request = v1::ListGameEventsRequest {
        game_id: table.id.clone(),
        page_size: 500,
        ..Default::default()
    };
    let (history, _) = settled(&client, |mut client| {
        let request = patient(request.clone());
        async move { client.list_game_events(request).await }
    })
    .await;
    assert_eq!(history.events[1..], events, "each request is one event");
    failures
}

/// Has games played while `disturb` does its work every so often, until all are over. Answers how many calls had to be
/// repeated.
async fn play_while(server: &TestServer, every: Duration, mut disturb: impl FnMut()) -> usize {
    let made = std::sync::Arc::<AtomicUsize>::default();
    let mut playing = JoinSet::new();
    for _ in 0..6 {
        let (client, made) = (server.client().await, made.clone());
        playing.spawn(async move { play_through(client, &made).await });
    }
    let mut failures = 0;
    let mut disturbed = 0;
    while !playing.is_empty() {
        let ended = tokio::time::timeout(every, playing.join_next()).await;
        match ended {
            Ok(ended) => failures += ended.expect("there was one").expect("no player panics"),
            Err(_) => {
                tokio::task::block_in_place(&mut disturb);
                disturbed += 1;
            }
        }
    }
    let made = made.load(Ordering::SeqCst);
    println!("{made} moves, disturbed {disturbed} times; {failures} calls had to be repeated");
    assert!(disturbed > 1, "something happened while they played");
    failures
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_that_redis_forgets_are_told_again_and_nobody_notices() {
    let server = TestServer::start(StoreKind::Replicas).await;
    let operator = ::redis::Client::open(&*server.home.url).expect("a URL");
    let connected = operator.get_multiplexed_async_connection().await;
    let mut operator = connected.expect("a connection");
    let mut playing = JoinSet::new();
    for _ in 0..4 {
        let mut client = server.client().await;
        playing.spawn(async move {
            let table = create(&mut client, v1::Rules::default()).await;
            play_out(&mut client, &table).await.len()
        });
    }
    let mut flushed = 0;
    let mut moves = 0;
    while !playing.is_empty() {
        let mut flush = ::redis::cmd("SCRIPT");
        flush.arg("FLUSH").exec_async(&mut operator).await.expect("scripts are forgotten");
        flushed += 1;
        while let Some(ended) = playing.try_join_next() {
            moves += ended.expect("every call is answered");
        }
    }
    println!("{moves} moves, scripts forgotten {flushed} times");
    assert!(flushed > 20, "it forgot while they played");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_break_under_load_cost_no_answer_its_truth() {
    let (home, proxy) = proxied(&[]).await;
    let server = TestServer::at(home, 2, &[]).await;
    play_while(&server, Duration::from_millis(70), || proxy.cut()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarts_of_a_durable_redis_under_load_lose_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut redis = RedisServer::start(folder.path(), &DURABLE);
    let home = Home { url: redis.url(), redis: None, folder };
    let server = TestServer::at(home, 2, &[]).await;
    let mut restarts = 0;
    let repeated = play_while(&server, Duration::from_millis(250), || {
        redis.kill();
        // The first time it is away for longer than its callers wait.
        restarts += 1;
        std::thread::sleep(Duration::from_millis(match restarts {
            1 => 6_000,
            other => other % 3 * 500,
        }));
        redis.restart();
    })
    .await;
    assert!(repeated > 0, "callers were told, and settled it");
}

/// A move whose answer is lost: Redis has committed it, and the connection breaks before it can say so.
struct Lost {
    table: Table,
    request: v1::MakeMoveRequest,
    answer: Result<v1::MakeMoveResponse, Status>,
    client: Client,
    _server: TestServer,
    _proxy: Proxy,
}

impl Lost {
    async fn under(request_id: String) -> Self {
        let (home, proxy) = proxied(&[]).await;
        let server = TestServer::at(home, 1, &[]).await;
        let mut client = server.client().await;
        let table = create(&mut client, v1::Rules::default()).await;
        client.make_move(table.play(Color::Black, "d3")).await.expect("a legal move");
        proxy.hold_answers();
        let request = v1::MakeMoveRequest { request_id, ..table.play(Color::White, "c3") };
        let (mut mover, made) = (client.clone(), request.clone());
        let call = tokio::spawn(async move { mover.make_move(patient(made)).await });
        let redis = server.home.redis.as_ref().expect("there is one");
        let key = format!("rv:g:{}", table.id);
        // The last byte of the revision.
        until("Redis has committed it", async || {
            redis.ask(&["GETRANGE", &key, "9", "9"]) == "\u{3}"
        })
        .await;
        proxy.cut();
        proxy.release();
        let answer = call.await.expect("the call does not panic").map(Response::into_inner);
        let game = get(&mut client, &table.id).await;
        assert_eq!(revision(&game.version), 3, "it was committed once");
        Self { table, request, answer, client, _server: server, _proxy: proxy }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_is_found_again_for_a_call_with_a_request_id() {
    let mut lost = Lost::under(request_id()).await;
    let answer = lost.answer.expect("the server settles it by itself");
    let repeated = lost.client.make_move(lost.request).await.expect("it was done").into_inner();
    assert_eq!(repeated, answer);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_is_not_guessed_for_a_call_without_one() {
    let mut lost = Lost::under(String::new()).await;
    let refused = refusal(lost.answer);
    assert_eq!((refused.code, refused.reason.as_str()), (Code::Unavailable, "STORE_UNAVAILABLE"));
    assert!(refused.retry_after.is_some());
    let again = lost.client.make_move(lost.table.play(Color::White, "c3")).await;
    assert_eq!(refusal(again).reason, "NOT_YOUR_TURN");
}

/// What is asked while no connection can be made is not done, and that is known: so it is attempted again, with or without
/// a request id, for as long as its caller waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_go_on_until_their_deadline_while_redis_is_away() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut redis = RedisServer::start(folder.path(), &DURABLE);
    let home = Home { url: redis.url(), redis: None, folder };
    let server = TestServer::at(home, 1, &[]).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    redis.kill();
    until("it is noticed", async || {
        let request = v1::GetGameRequest { game_id: table.id.clone() };
        client.clone().get_game(request).await.is_err()
    })
    .await;

    let begun = Instant::now();
    let hasty = client.clone().make_move(table.play(Color::Black, "d3")).await;
    assert_eq!(refusal(hasty).reason, "STORE_UNAVAILABLE");
    let took = begun.elapsed();
    println!("without a deadline it is told after {took:?}");
    assert!(took > Duration::from_millis(500) && took < Duration::from_secs(3), "after a second");

    let (mut mover, make) = (client.clone(), table.play(Color::Black, "d3"));
    let making = tokio::spawn(async move { mover.make_move(patient(make)).await });
    let (mut reader, read) = (client.clone(), v1::GetGameRequest { game_id: table.id.clone() });
    let reading = tokio::spawn(async move { reader.get_game(patient(read)).await });
    let (mut watcher, watch) =
        (client.clone(), v1::WatchGameRequest { game_id: table.id.clone(), ..Default::default() });
    let watching = tokio::spawn(async move { watcher.watch_game(patient(watch)).await });
    tokio::time::sleep(Duration::from_secs(2)).await;
    redis.restart();
    making.await.expect("no panic").expect("it is made once Redis is back");
    reading.await.expect("no panic").expect("it is read once Redis is back");
    watching.await.expect("no panic").expect("it opens once Redis is back");
    assert_eq!(record(&mut client, &table.id, 0).await.len(), 2, "once");
}

async fn health(client: &mut HealthClient<tonic::transport::Channel>, name: &str) -> ServingStatus {
    let request = HealthCheckRequest { service: name.into() };
    client.check(request).await.expect("health answers").into_inner().status()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readiness_follows_redis_and_liveness_does_not() {
    const NAME: &str = "reversi.v1.GameService";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut redis = RedisServer::start(folder.path(), &DURABLE);
    redis.kill();
    // It starts all the same.
    let home = Home { url: redis.url(), redis: None, folder };
    let server = TestServer::at(home, 1, &[]).await;
    let mut client = server.client().await;
    let mut asked = HealthClient::new(channel_to(server.address).await);
    assert_eq!(health(&mut asked, NAME).await, ServingStatus::NotServing);
    let refused = refusal(client.create_game(v1::CreateGameRequest::default()).await);
    assert_eq!((refused.code, refused.reason.as_str()), (Code::Unavailable, "STORE_UNAVAILABLE"));
    assert!(refused.retry_after.is_some());

    let mut tables = Vec::new();
    for _ in 0..2 {
        redis.restart();
        until("it is ready again", async || {
            assert_eq!(health(&mut asked, "").await, ServingStatus::Serving);
            health(&mut asked, NAME).await == ServingStatus::Serving
        })
        .await;
        tables.push(create(&mut client, v1::Rules::default()).await);
        for table in &tables {
            get(&mut client, &table.id).await;
        }
        let mut watch = Watch::of(&mut client, &tables[0].id).await;
        watch.snapshot().await;

        redis.kill();
        until("it is not ready any more", async || {
            assert_eq!(health(&mut asked, "").await, ServingStatus::Serving);
            health(&mut asked, NAME).await == ServingStatus::NotServing
        })
        .await;
    }
}

/// Turned away at the door, a connection is not broken: nothing says by itself when to try again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_turned_the_server_away_for_a_while_is_found_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let redis = RedisServer::start(folder.path(), &[]);
    let home = Home { url: redis.url(), redis: None, folder };
    let server = TestServer::at(home, 1, &["--watch-poll", "1h"]).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let mut watch = Watch::of(&mut client, &table.id).await;
    watch.snapshot().await;
    let reads = async || {
        let request = v1::GetGameRequest { game_id: table.id.clone() };
        match client.clone().get_game(request).await {
            Ok(_) => true,
            Err(status) => {
                assert_eq!(refused(&status).reason, "STORE_UNAVAILABLE");
                false
            }
        }
    };
    let insider = ["-a", "secret", "--no-auth-warning"];
    let ask = |command: &[&str]| redis.ask(&[&insider, command].concat());
    for square in ["d3", "c3"] {
        assert_eq!(redis.ask(&["CONFIG", "SET", "requirepass", "secret"]), "OK");
        for kind in ["normal", "pubsub"] {
            ask(&["CLIENT", "KILL", "TYPE", kind]);
        }
        until("it is turned away", async || !reads().await).await;
        assert_eq!(ask(&["CONFIG", "SET", "requirepass", ""]), "OK");
        until("it is let in again", &reads).await;

        // And hints come again.
        let color = if square == "d3" { Color::Black } else { Color::White };
        let made = client.clone().make_move(table.play(color, square)).await;
        assert_eq!(Some(watch.event().await), made.expect("a legal move").into_inner().event);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_without_memory_takes_no_changes_and_keeps_what_it_has() {
    let server = TestServer::start(StoreKind::Redis).await;
    let redis = server.home.redis.as_ref().expect("there is one");
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    assert_eq!(redis.ask(&["CONFIG", "SET", "maxmemory", "1"]), "OK");
    let make = v1::MakeMoveRequest { request_id: request_id(), ..table.play(Color::Black, "d3") };
    for _ in 0..2 {
        let refused = refusal(client.make_move(make.clone()).await);
        assert_eq!(refused.reason, "STORE_UNAVAILABLE");
        let creation = client.create_game(v1::CreateGameRequest::default()).await;
        assert_eq!(refusal(creation).reason, "STORE_UNAVAILABLE");
        assert_eq!(get(&mut client, &table.id).await, table.game);
    }
    assert_eq!(redis.ask(&["CONFIG", "SET", "maxmemory", "0"]), "OK");
    let made = client.make_move(make).await.expect("there is room again").into_inner();
    assert_eq!(revision(&made.event.expect("an event").version), 2);
}
