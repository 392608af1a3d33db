//! When Redis falls silent without a word (nothing comes back, no connection breaks), every call is answered in its time,
//! watches stay open, nobody storms it, and all is well by itself once it speaks again.

mod common;

use std::time::{Duration, Instant};

use common::{
    raw::{Raw, framed},
    watch::{Watch, assert_chained},
    *,
};
use prost::Message as _;
use reversi_proto::v1::{self, Color};
use reversi_testbed::{Proxy, RedisServer};
use tokio::task::JoinSet;
use tonic::{Code, Request};

/// How long a caller waits.
const DEADLINE: Duration = Duration::from_secs(1);

/// How much later than that an answer may come on a busy machine.
const LATE_MAX: Duration = Duration::from_secs(1);

/// Two replicas over a Redis that can fall silent to them.
async fn replicas(flags: &[&str]) -> (TestServer, Proxy) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let redis = RedisServer::start(folder.path(), &[]);
    let proxy = Proxy::to(redis.port()).await;
    let home = Home { url: proxy.url(), redis: Some(redis), folder };
    (TestServer::at(home, 2, flags).await, proxy)
}

/// A request whose caller leaves it to the server to watch the time.
fn timed<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("grpc-timeout", "1S".parse().expect("metadata"));
    request
}

/// Calls again and again, in every way, and each call must fail in its time and as it may. Answers how many there were.
async fn call_in_vain(raw: Raw, table: Table, until: Instant) -> usize {
    let mut calls = 0;
    while Instant::now() < until {
        let (game_id, request_id) = (table.id.clone(), request_id());
        let make = v1::MakeMoveRequest { request_id, ..table.play(Color::Black, "d3") };
        let create =
            v1::CreateGameRequest { request_id: make.request_id.clone(), ..Default::default() };
        let watch = v1::WatchGameRequest { game_id: game_id.clone(), ..Default::default() };
        let (method, message) = match calls % 5 {
            0 => ("GetGame", v1::GetGameRequest { game_id }.encode_to_vec()),
            1 => ("MakeMove", make.encode_to_vec()),
            2 => ("ListGames", v1::ListGamesRequest::default().encode_to_vec()),
            3 => ("CreateGame", create.encode_to_vec()),
            _ => ("WatchGame", watch.encode_to_vec()),
        };
        let begun = Instant::now();
        let answer = raw.call(method, &[("grpc-timeout", "1S")], framed(0, &message)).await;
        let took = begun.elapsed();
        assert!(took < DEADLINE + LATE_MAX, "{method} is answered in time, not after {took:?}");
        let refused = refused(&answer.status().expect("a status"));
        match refused.code {
            Code::DeadlineExceeded => assert_eq!(refused.reason, "DEADLINE_EXCEEDED"),
            Code::Unavailable => assert_eq!(refused.reason, "STORE_UNAVAILABLE"),
            other => panic!("{method} fails with {other:?}: {refused:?}"),
        }
        calls += 1;
    }
    calls
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_redis_costs_callers_no_more_than_their_deadline_and_watchers_nothing() {
    const SILENT: Duration = Duration::from_secs(9);
    const CALLERS: usize = 8;
    let (server, proxy) = replicas(&["--watch-heartbeat", "300ms"]).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let vain = create(&mut client, v1::Rules::default()).await;
    let mut watches = Vec::new();
    for mut client in server.clients().await {
        let mut watch = Watch::of(&mut client, &table.id).await;
        watch.snapshot().await;
        watches.push(watch);
    }

    let (connections, commands) = (proxy.connections(), proxy.commands());
    proxy.hold();
    let mut calling = JoinSet::new();
    for address in server.addresses().into_iter().cycle().take(CALLERS) {
        let raw = Raw::connect(address).await;
        calling.spawn(call_in_vain(raw, vain.clone(), Instant::now() + SILENT));
    }
    let calls: usize = calling.join_all().await.into_iter().sum();
    let (connections, commands) = (proxy.connections() - connections, proxy.commands() - commands);
    println!(
        "{SILENT:?} of silence: {calls} calls, {connections} connections, {commands} commands"
    );
    let seconds = SILENT.as_secs() as usize;
    assert!(connections <= 2 * 4 * seconds, "few connections are tried: {connections}");
    // What a replica asks by itself, and what callers ask: a call that fails is not asked for many times.
    assert!(commands <= 2 * 15 * seconds + 4 * calls, "few commands are tried: {commands}");

    proxy.release();
    let released = Instant::now();
    let mover = &mut server.client().await;
    let made = async {
        loop {
            let answer = mover.make_move(timed(table.play(Color::Black, "d3"))).await;
            if let Ok(made) = answer {
                return made.into_inner().event.expect("an event");
            }
            // Without a request id an earlier one may have been done all the same.
            let game =
                mover.get_game(timed(v1::GetGameRequest { game_id: table.id.clone() })).await;
            if let Ok(game) = game
                && revision(&game.into_inner().game.expect("a game").version) == 2
            {
                return record(mover, &table.id, 0).await.remove(1);
            }
        }
    };
    let made = tokio::time::timeout(PATIENCE, made).await.expect("all is well by itself");
    println!("well again {:?} after the silence", released.elapsed());
    for watch in &mut watches {
        let seen = watch.event().await;
        assert_eq!(seen, made);
        assert_chained(&[seen], table.game.version.expect("a version"));
    }
    let vain = get(mover, &vain.id).await;
    assert!(revision(&vain.version) <= 2, "of all those moves one was made at most");
}

/// As when a firewall has forgotten what was open. Callers here never wait as long as an answer may take.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_lead_nowhere_are_replaced_though_nobody_waits_for_them() {
    let (server, proxy) = replicas(&["--watch-poll", "1h"]).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let mut watches = Vec::new();
    for mut client in server.clients().await {
        let mut watch = Watch::of(&mut client, &table.id).await;
        watch.snapshot().await;
        watches.push(watch);
    }
    let connections = proxy.connections();
    proxy.bury();
    let buried = Instant::now();
    for mut client in server.clients().await {
        let request = v1::GetGameRequest { game_id: table.id.clone() };
        let found = async { while client.get_game(timed(request.clone())).await.is_err() {} };
        tokio::time::timeout(PATIENCE, found).await.expect("it is found again");
    }
    println!("found again after {:?}", buried.elapsed());
    assert!(buried.elapsed() < Duration::from_secs(10), "a few seconds at most");

    // Hints are there again as well: nothing else can deliver in an hour.
    client.make_move(table.play(Color::Black, "d3")).await.expect("a legal move");
    for watch in &mut watches {
        assert_eq!(revision(&watch.event().await.version), 2);
    }
    println!("and watched again after {:?}", buried.elapsed());
    let connections = proxy.connections() - connections;
    assert!(connections <= 12, "few connections were made: {connections}");
}
