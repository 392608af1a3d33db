//! Over Redis with Sentinels replicas follow the primary: whoever waits longer than a failover takes is answered, and
//! watchers hear of every move at once.

mod common;

use std::time::{Duration, Instant};

use common::{through::Playing, *};
use reversi_proto::v1;
use reversi_testbed::SentinelTrio;

/// Two replicas. Hints alone deliver: without one, a watched game is read once an hour.
async fn replicas(trio: &SentinelTrio, flags: &[&str]) -> TestServer {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let home = Home { url: trio.url(), redis: None, folder };
    TestServer::at(home, 2, &[&["--watch-poll", "1h"], flags].concat()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failovers_are_survived_within_the_callers_deadline() {
    let mut trio = SentinelTrio::start(2, &["repl-ping-replica-period 1"]).await;
    let server = replicas(&trio, &["--durability", "replicated"]).await;
    let playing = Playing::start(&server, 8, true, Duration::from_millis(150)).await;
    playing.goes_on(16).await;
    // In good order.
    trio.fail_over().await;
    playing.goes_on(16).await;
    // And not.
    let before = trio.primary().expect("there is one");
    let killed = Instant::now();
    trio.nodes[before].server.kill();
    trio.promoted(before).await;
    let promoted = killed.elapsed();
    playing.goes_on(1).await;
    println!("promoted after {promoted:?}, a move after {:?}", killed.elapsed());
    playing.goes_on(16).await;
    let longest = playing.end().await;
    assert!(longest > Duration::from_secs(1), "somebody waited for a failover: {longest:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_primary_is_survived_within_the_callers_deadline() {
    let trio = SentinelTrio::start(2, &["repl-ping-replica-period 1"]).await;
    let server = replicas(&trio, &["--durability", "replicated"]).await;
    let playing = Playing::start(&server, 8, true, Duration::from_millis(150)).await;
    playing.goes_on(16).await;
    let before = trio.primary().expect("there is one");
    let paused = Instant::now();
    trio.nodes[before].server.pause();
    trio.promoted(before).await;
    let promoted = paused.elapsed();
    playing.goes_on(1).await;
    println!("promoted after {promoted:?}, a move after {:?}", paused.elapsed());
    playing.goes_on(16).await;
    trio.nodes[before].server.go_on();
    playing.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_most_sentinels_or_any_the_known_primary_serves_on() {
    let mut trio = SentinelTrio::start(1, &[]).await;
    let server = replicas(&trio, &[]).await;
    let mut client = server.client().await;
    for sentinel in 0..3 {
        trio.sentinels[sentinel].server.kill();
        let table = create(&mut client, v1::Rules::default()).await;
        play_out(&mut client, &table).await;
    }
}
