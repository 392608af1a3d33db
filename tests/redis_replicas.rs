//! Replicas over one Redis are one service: a watcher at one sees at once what another commits, and still sees all of it
//! when the hints between them are lost.

mod common;

use std::time::{Duration, Instant};

use common::{
    watch::{Watch, assert_chained},
    *,
};
use reversi_proto::v1::{self, Color, EndReason, ResetReason};
use reversi_testbed::RedisServer;

/// Two replicas and the Redis under them.
async fn replicas(flags: &[&str]) -> TestServer {
    TestServer::with(StoreKind::Replicas, flags).await
}

fn redis(server: &TestServer) -> &RedisServer {
    server.home.redis.as_ref().expect("there is one")
}

fn millis(sorted: &[Duration], percent: usize) -> f64 {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)].as_secs_f64() * 1e3
}

/// Hints alone deliver here: without one, the store is read once an hour.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watcher_at_one_replica_sees_at_once_what_the_other_commits() {
    const MOVES: usize = 200;
    let server = replicas(&["--watch-poll", "1h"]).await;
    let [mut a, mut b]: [Client; 2] = server.clients().await.try_into().expect("two replicas");
    let mut after_call = Vec::new();
    let mut after_answer = Vec::new();
    while after_call.len() < MOVES {
        let table = create(&mut a, v1::Rules::default()).await;
        let mut watch = Watch::of(&mut b, &table.id).await;
        let mut now = position(&watch.snapshot().await).clone();
        let mut before = table.game.version.expect("a version");
        let watched = table.id.clone();
        until("the replica of the watcher listens", async || {
            let channels = redis(&server).ask(&["PUBSUB", "SHARDCHANNELS"]);
            channels.contains(&watched)
        })
        .await;
        while now.to_move != 0 {
            let mover = Color::try_from(now.to_move).expect("a colour");
            let request = table.play(mover, &now.legal_moves[0]);
            let called = Instant::now();
            let making = async {
                let made = a.make_move(request).await.expect("a legal move").into_inner();
                (made.event.expect("an event"), Instant::now())
            };
            let seeing = async { (watch.event().await, Instant::now()) };
            let ((made, answered), (seen, at)) = tokio::join!(making, seeing);
            assert_eq!(seen, made);
            assert_chained(&[seen], before);
            before = made.version.expect("a version");
            now = made.position.expect("a position");
            after_call.push(at - called);
            after_answer.push(at.saturating_duration_since(answered));
        }
        assert_eq!(watch.end().await, EndReason::GameFinished);
    }
    for (since, times) in [("the call", &mut after_call), ("its answer", &mut after_answer)] {
        times.sort();
        let [p50, p99, max] = [50, 99, 100].map(|percent| millis(times, percent));
        let moves = times.len();
        println!("{moves} moves, seen since {since}: p50 {p50:.1} p99 {p99:.1} max {max:.1} ms");
    }
    assert!(millis(&after_call, 50) < 100.0, "hints take no notable time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_every_subscription_killed_again_and_again_watches_miss_nothing() {
    const POLL: Duration = Duration::from_millis(300);
    let server = replicas(&["--watch-poll", "300ms"]).await;
    let clients = server.clients().await;
    let mut mover = server.client().await;
    for _ in 0..2 {
        let table = create(&mut mover, v1::Rules { players: 3, ..Default::default() }).await;
        let mut watchers = Vec::new();
        for client in &clients {
            let mut watch = Watch::of(&mut client.clone(), &table.id).await;
            let before = watch.snapshot().await.version.expect("a version");
            watchers.push(tokio::spawn(async move {
                let mut seen = Vec::new();
                while seen.last().is_none_or(|(event, _): &(v1::GameEvent, _)| {
                    event.status() != v1::GameStatus::Finished
                }) {
                    seen.push((watch.event().await, Instant::now()));
                }
                assert_eq!(watch.end().await, EndReason::GameFinished);
                (before, seen)
            }));
        }
        let mut made = Vec::new();
        let mut killed = 0;
        let mut now = position(&table.game).clone();
        while now.to_move != 0 {
            killed += redis(&server)
                .ask(&["CLIENT", "KILL", "TYPE", "pubsub"])
                .parse::<usize>()
                .expect("a number");
            let mover_color = Color::try_from(now.to_move).expect("a colour");
            let request = table.play(mover_color, &now.legal_moves[0]);
            let answer = mover.make_move(request).await.expect("a legal move").into_inner();
            let event = answer.event.expect("an event");
            now = event.position.clone().expect("a position");
            made.push((event, Instant::now()));
        }
        assert!(killed > 0, "there were subscriptions to kill");
        let mut latest = Duration::ZERO;
        for watcher in watchers {
            let (before, seen) = watcher.await.expect("no watcher panics");
            for ((made, answered), (seen, at)) in made.iter().zip(&seen) {
                assert_eq!(made, seen);
                latest = latest.max(at.saturating_duration_since(*answered));
            }
            let seen: Vec<_> = seen.into_iter().map(|(event, _)| event).collect();
            assert_eq!(seen.len(), made.len());
            assert_chained(&seen, before);
        }
        println!(
            "{killed} subscriptions killed; at most {latest:?} after the answer, poll {POLL:?}"
        );
        // The poll, and what a busy machine takes besides.
        assert!(latest < POLL + Duration::from_millis(1_500), "within the poll: {latest:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_listens_for_the_games_that_are_watched_there_and_no_others() {
    let server = replicas(&[]).await;
    let [mut a, mut b]: [Client; 2] = server.clients().await.try_into().expect("two replicas");
    let tables = [
        create(&mut a, v1::Rules::default()).await,
        create(&mut b, v1::Rules::default()).await,
        create(&mut a, v1::Rules::default()).await,
    ];
    let listeners = |games: [usize; 3]| {
        let (tables, server) = (&tables, &server);
        async move {
            until(&format!("the games have {games:?} listeners"), async || {
                let counts = tables.each_ref().map(|table| {
                    let channel = format!("rv:g:{}", table.id);
                    let answer = redis(server).ask(&["PUBSUB", "SHARDNUMSUB", &channel]);
                    answer.lines().nth(1).and_then(|count| count.parse().ok())
                });
                counts == games.map(Some)
            })
            .await;
            let channels = redis(server).ask(&["PUBSUB", "SHARDCHANNELS"]);
            let listened = games.iter().filter(|count| **count > 0).count();
            assert_eq!(channels.lines().filter(|line| !line.is_empty()).count(), listened);
        }
    };
    listeners([0, 0, 0]).await;
    let at_a = Watch::of(&mut a, &tables[0].id).await;
    let also_at_a = Watch::of(&mut a, &tables[0].id).await;
    listeners([1, 0, 0]).await;
    let at_b = Watch::of(&mut b, &tables[0].id).await;
    let of_another = Watch::of(&mut b, &tables[1].id).await;
    listeners([2, 1, 0]).await;
    drop(at_a);
    listeners([2, 1, 0]).await;
    drop(also_at_a);
    listeners([1, 1, 0]).await;
    drop((at_b, of_another));
    listeners([0, 0, 0]).await;
}

/// As after a failover to a copy that was behind: Redis has less than it acknowledged, and goes on from there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_redis_has_lost_is_told_to_every_watcher_and_never_forked() {
    let server = replicas(&["--watch-poll", "100ms"]).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let key = format!("rv:g:{}", table.id);
    client.make_move(table.play(Color::Black, "d3")).await.expect("a legal move");
    let kept = get(&mut client, &table.id).await;
    assert_eq!(redis(&server).ask(&["COPY", &key, "behind"]), "1");
    let mut watches = Vec::new();
    for mut client in server.clients().await {
        let mut watch = Watch::of(&mut client, &table.id).await;
        assert_eq!(watch.snapshot().await, kept);
        watches.push(watch);
    }
    let lost = client.make_move(table.play(Color::White, "c3")).await.expect("a legal move");
    let lost = lost.into_inner().event;
    for watch in &mut watches {
        assert_eq!(Some(watch.event().await), lost);
    }

    assert_eq!(redis(&server).ask(&["COPY", "behind", &key, "REPLACE"]), "1");
    for watch in &mut watches {
        let reset = watch.reset().await;
        assert_eq!(reset.reason(), ResetReason::RevisionAhead);
        assert_eq!(reset.game.as_ref(), Some(&kept));
    }
    // Every replica judges on what is there, whatever it remembers.
    let other =
        v1::MakeMoveRequest { expected_version: kept.version, ..table.play(Color::White, "e3") };
    let made = client.make_move(other).await.expect("it is white's turn").into_inner().event;
    for watch in &mut watches {
        assert_eq!(Some(watch.event().await), made);
    }
    let stale = v1::MakeMoveRequest {
        expected_version: lost.as_ref().expect("an event").version,
        ..table.play(Color::Black, "f3")
    };
    for mut client in server.clients().await {
        let refused = refusal(client.make_move(stale.clone()).await);
        assert_eq!(refused.reason, "VERSION_MISMATCH", "the same revision of another history");
        let resume_after = lost.as_ref().expect("an event").version;
        let mut watch = Watch::resumed(&mut client, &table.id, resume_after).await;
        assert_eq!(watch.reset().await.reason(), ResetReason::HistoryDiverged);
    }

    assert_eq!(redis(&server).ask(&["DEL", &key]), "1");
    for watch in &mut watches {
        assert_eq!(watch.failure().await.reason, "GAME_NOT_FOUND");
    }
    let gone = client.make_move(table.play(Color::Black, "f3")).await;
    assert_eq!(refusal(gone).reason, "GAME_NOT_FOUND");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_one_client_go_to_the_replicas_in_turn() {
    let server = replicas(&[]).await;
    let mut client = server.client().await;
    let commands = || {
        let list = redis(&server).ask(&["CLIENT", "LIST", "TYPE", "normal"]);
        let gets = list.lines().filter(|line| line.contains(" cmd=get "));
        gets.map(|line| line.split(' ').next().expect("an id").to_owned()).collect::<Vec<_>>()
    };
    // Readiness asks with PING; so whose last command is GET has been asked for a game just now.
    let table = create(&mut client, v1::Rules::default()).await;
    until("both replicas have read the game", async || {
        for _ in 0..2 {
            get(&mut client, &table.id).await;
        }
        commands().len() == 2
    })
    .await;
}
