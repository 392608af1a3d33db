//! A failover that lost acknowledged moves is told to everybody at every replica, and nobody goes on from what was lost. With
//! `--durability replicated` none is lost, and what could be is not acknowledged.

mod common;

use std::time::Duration;

use common::{
    through::{Playing, patient},
    watch::{Watch, assert_chained},
    *,
};
use reversi_proto::v1::{self, Color, ResetReason};
use reversi_testbed::{Cluster, Node, SentinelTrio};
use tonic::{Code, Request, Status};

/// A primary with a replica that takes its place, and what else there is.
enum Redis {
    Sentinel(SentinelTrio),
    Cluster(Cluster),
}

/// The first of them is the primary of all games here.
const PRIMARY: usize = 0;

impl Redis {
    async fn sentinel() -> Self {
        Self::Sentinel(SentinelTrio::start(1, &[]).await)
    }

    async fn cluster() -> Self {
        Self::Cluster(Cluster::start(&[]).await)
    }

    fn url(&self) -> String {
        match self {
            Self::Sentinel(trio) => trio.url(),
            Self::Cluster(cluster) => cluster.url(),
        }
    }

    fn nodes(&mut self) -> &mut [Node] {
        match self {
            Self::Sentinel(trio) => &mut trio.nodes,
            Self::Cluster(cluster) => &mut cluster.nodes,
        }
    }

    fn is_at_primary(&self, id: &str) -> bool {
        match self {
            Self::Sentinel(_) => true,
            Self::Cluster(cluster) => {
                cluster.primary_of(cluster.slot_of(&format!("rv:g:{id}"))) == Some(PRIMARY)
            }
        }
    }

    fn replica(&self) -> usize {
        match self {
            Self::Sentinel(_) => 1,
            Self::Cluster(cluster) => cluster.replica_of(PRIMARY).expect("it has a replica"),
        }
    }

    /// Waits until the replica has all that was done so far, and then keeps it from hearing more.
    async fn hold_replica(&mut self) {
        let replica = self.replica();
        let nodes = self.nodes();
        let number = |text: String| text.parse::<u64>().expect("an offset");
        let done = number(nodes[PRIMARY].server.info("master_repl_offset"));
        until("the replica has it", async || {
            number(nodes[replica].server.info("slave_repl_offset")) >= done
        })
        .await;
        nodes[PRIMARY].proxy.hold_replicas();
    }

    /// Kills the primary and waits for its replica to take its place.
    async fn lose_primary(&mut self) {
        let replica = self.replica();
        self.nodes()[PRIMARY].server.kill();
        match self {
            Self::Sentinel(trio) => drop(trio.promoted(PRIMARY).await),
            Self::Cluster(cluster) => cluster.promoted(replica).await,
        }
    }

    async fn restart_old_primary(&mut self) {
        let node = &mut self.nodes()[PRIMARY];
        node.proxy.release();
        node.server.restart();
        let server = &node.server;
        until("it is a replica", async || {
            server.info("role") == "slave" && server.info("master_link_status") == "up"
        })
        .await;
    }
}

async fn replicas(redis: &Redis, flags: &[&str]) -> TestServer {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let home = Home { url: redis.url(), redis: None, folder };
    TestServer::at(home, 2, &[&["--watch-poll", "1h"], flags].concat()).await
}

/// A game at the primary that is lost.
async fn game(redis: &Redis, client: &mut Client) -> Table {
    loop {
        let table = create(client, v1::Rules::default()).await;
        if redis.is_at_primary(&table.id) {
            return table;
        }
    }
}

/// Makes a move and answers its version.
async fn make(client: &mut Client, table: &Table, color: Color, square: &str) -> v1::Version {
    let made = client.make_move(patient(table.play(color, square))).await;
    let event = made.expect("a legal move").into_inner().event.expect("an event");
    event.version.expect("a version")
}

async fn watchers(server: &TestServer, table: &Table) -> Vec<Watch> {
    let mut watches = Vec::new();
    for mut client in server.clients().await {
        let mut watch = Watch::of(&mut client, &table.id).await;
        watch.snapshot().await;
        watches.push(watch);
    }
    watches
}

async fn lost_moves_are_told_and_nobody_goes_on_from_them(mut redis: Redis) {
    let server = replicas(&redis, &[]).await;
    let [mut a, mut b]: [Client; 2] = server.clients().await.try_into().expect("two replicas");
    let shorter = game(&redis, &mut a).await;
    let as_long = game(&redis, &mut a).await;
    let longer = game(&redis, &mut a).await;
    let mut kept = Vec::new();
    for table in [&shorter, &as_long, &longer] {
        kept.push(make(&mut a, table, Color::Black, "d3").await);
    }
    let mut watches = Vec::new();
    for table in [&shorter, &as_long, &longer] {
        watches.push(watchers(&server, table).await);
    }

    redis.hold_replica().await;
    let vanished = game(&redis, &mut a).await;
    let mut of_vanished = watchers(&server, &vanished).await;
    let mut lost = Vec::new();
    // Both replicas have seen the branch that is lost, and think that they know the game.
    for (table, watches) in [&shorter, &as_long, &longer].into_iter().zip(&mut watches) {
        make(&mut a, table, Color::White, "c3").await;
        lost.push(make(&mut b, table, Color::Black, "b3").await);
        for watch in watches {
            watch.event().await;
            assert_eq!(watch.event().await.version, Some(lost[lost.len() - 1]));
        }
    }
    redis.lose_primary().await;

    // Watchers hear of it at both replicas, though nobody polls.
    for (watches, kept) in watches.iter_mut().zip(&kept) {
        for watch in watches {
            let reset = watch.reset().await;
            assert_eq!(reset.reason(), ResetReason::RevisionAhead);
            assert_eq!(reset.game.expect("a game").version, Some(*kept));
        }
    }
    for watch in &mut of_vanished {
        let failure = watch.failure().await;
        assert_eq!((failure.code, failure.reason.as_str()), (Code::NotFound, "GAME_NOT_FOUND"));
    }

    // One game is as long as before, another longer, by other moves.
    let mut now = vec![kept[0]];
    make(&mut b, &as_long, Color::White, "e3").await;
    now.push(make(&mut b, &as_long, Color::Black, "f3").await);
    make(&mut b, &longer, Color::White, "e3").await;
    make(&mut b, &longer, Color::Black, "f3").await;
    now.push(make(&mut b, &longer, Color::White, "c3").await);
    assert_eq!(now[1].revision, lost[1].revision);

    for (number, table) in [&shorter, &as_long, &longer].into_iter().enumerate() {
        let color = if number == 1 { Color::White } else { Color::Black };
        for client in [&mut a, &mut b] {
            let request = v1::MakeMoveRequest {
                expected_version: Some(lost[number]),
                ..table.play(Color::White, "c2")
            };
            let refused = refusal(client.make_move(patient(request)).await);
            assert_eq!(refused.reason, "VERSION_MISMATCH", "game {number}");
            let revision = now[number].revision.to_string();
            assert_eq!(refused.metadata["current_revision"], revision, "game {number}");
            // Nor without: it is judged on the game that there is.
            let elsewhere = refusal(client.make_move(patient(table.play(color, "a8"))).await);
            assert!(["ILLEGAL_MOVE", "NOT_YOUR_TURN"].contains(&elsewhere.reason.as_str()));
            assert_eq!(elsewhere.metadata["current_revision"], revision);

            let mut resumed = Watch::resumed(client, &table.id, Some(lost[number])).await;
            let reset = resumed.reset().await;
            let expected = match number {
                0 => ResetReason::RevisionAhead,
                _ => ResetReason::HistoryDiverged,
            };
            assert_eq!(reset.reason(), expected, "game {number}");
            assert_eq!(reset.game.expect("a game").version, Some(now[number]));
        }
        for watch in &mut watches[number] {
            let mut before = kept[number];
            while before != now[number] {
                let event = watch.event().await;
                assert_chained(std::slice::from_ref(&event), before);
                before = event.version.expect("a version");
            }
        }
    }

    // Not even he who lost them brings them back.
    redis.restart_old_primary().await;
    for (number, table) in [&shorter, &as_long, &longer].into_iter().enumerate() {
        for client in [&mut a, &mut b] {
            assert_eq!(get(client, &table.id).await.version, Some(now[number]));
        }
    }
    Playing::start(&server, 2, true, Duration::ZERO).await.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moves_that_sentinels_lost_are_told_and_nobody_goes_on_from_them() {
    lost_moves_are_told_and_nobody_goes_on_from_them(Redis::sentinel().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moves_that_a_cluster_lost_are_told_and_nobody_goes_on_from_them() {
    lost_moves_are_told_and_nobody_goes_on_from_them(Redis::cluster().await).await;
}

/// A request whose caller waits for two seconds and leaves it to the server to watch the time.
fn impatient<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("grpc-timeout", "2S".parse().expect("metadata"));
    request
}

/// Panics unless nobody knows, as the server says or the client's library, whose clock is the caller's as well.
fn not_acknowledged<T: std::fmt::Debug>(answer: Result<T, Status>) {
    let code = answer.expect_err("it is not acknowledged").code();
    let unknown = [Code::Unavailable, Code::DeadlineExceeded, Code::Cancelled];
    assert!(unknown.contains(&code), "{code:?}");
}

async fn what_no_replica_has_is_not_acknowledged(mut redis: Redis) {
    let server = replicas(&redis, &["--durability", "replicated"]).await;
    let mut client = server.client().await;
    let unnamed = game(&redis, &mut client).await;
    let named = game(&redis, &mut client).await;
    let creation = v1::CreateGameRequest { request_id: request_id(), ..Default::default() };
    redis.hold_replica().await;

    let told = refusal(client.make_move(impatient(unnamed.play(Color::Black, "d3"))).await);
    assert_eq!((told.code, told.reason.as_str()), (Code::Unavailable, "STORE_UNAVAILABLE"));
    let request =
        v1::MakeMoveRequest { request_id: request_id(), ..named.play(Color::Black, "d3") };
    // Nor is the repeat of one that the primary has.
    for _ in 0..2 {
        not_acknowledged(client.make_move(impatient(request.clone())).await);
    }
    // Nor is anything refused because of it.
    let too_soon =
        v1::MakeMoveRequest { request_id: request_id(), ..named.play(Color::Black, "c4") };
    not_acknowledged(client.make_move(impatient(too_soon)).await);
    // Of a Cluster it may go to another primary.
    let created = matches!(redis, Redis::Sentinel(_));
    if created {
        not_acknowledged(client.create_game(impatient(creation.clone())).await);
    }

    redis.lose_primary().await;
    // There is nobody to take the place of the new one before the old one is back.
    redis.restart_old_primary().await;
    let made = client.make_move(patient(request.clone())).await.expect("it is done now");
    let again = client.make_move(patient(request)).await.expect("and was once");
    assert_eq!(made.into_inner(), again.into_inner());
    assert_eq!(record(&mut client, &named.id, 0).await.len(), 2);
    assert_eq!(record(&mut client, &unnamed.id, 0).await.len(), 1, "and that was not");
    if created {
        client.create_game(patient(creation)).await.expect("it is done now");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_replica_has_is_not_acknowledged_with_sentinels() {
    what_no_replica_has_is_not_acknowledged(Redis::sentinel().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_replica_has_is_not_acknowledged_in_a_cluster() {
    what_no_replica_has_is_not_acknowledged(Redis::cluster().await).await;
}

/// Which replicas have a change is told by number alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_may_not_be_promoted_does_not_stand_in_for_one_that_may() {
    const ABLE: usize = 1;
    const NEVER: usize = 2;
    let trio = SentinelTrio::start(2, &[]).await;
    let to = |node: usize, command: &[&str]| trio.nodes[node].server.ask(command);
    to(NEVER, &["CONFIG", "SET", "replica-priority", "0"]);
    for sentinel in &trio.sentinels {
        reversi_testbed::until("all know that it may not be promoted", || {
            let told = sentinel.server.ask(&["SENTINEL", "REPLICAS", "games"]);
            told.contains("slave-priority\n0\n")
        })
        .await;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let home = Home { url: trio.url(), redis: None, folder };
    let server = TestServer::at(home, 2, &["--durability", "replicated"]).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;

    // It answers whoever asks, so that nobody calls it down; its primary does not take its password.
    to(ABLE, &["CONFIG", "SET", "masterauth", "wrong"]);
    to(ABLE, &["CLIENT", "KILL", "TYPE", "master"]);
    until("it has lost its primary", async || {
        trio.nodes[ABLE].server.info("master_link_status") == "down"
            && trio.nodes[PRIMARY].server.info("connected_slaves") == "1"
    })
    .await;
    // One was waited for with the number of replicas that there were before; the next with those that there are.
    for square in ["d3", "c3"] {
        let now = get(&mut client, &table.id).await;
        let color = Color::try_from(position(&now).to_move).expect("a colour");
        let told = refusal(client.make_move(impatient(table.play(color, square))).await);
        assert_eq!(told.reason, "STORE_UNAVAILABLE");
    }
    to(ABLE, &["CONFIG", "SET", "masterauth", ""]);
    trio.is_well().await;
    let now = get(&mut client, &table.id).await;
    let color = Color::try_from(position(&now).to_move).expect("a colour");
    let request = patient(table.play(color, &position(&now).legal_moves[0]));
    client.make_move(request).await.expect("it is acknowledged again");
}

/// Without `replicated` the same is acknowledged and lost: so the tests above could fail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_replica_has_is_acknowledged_by_default() {
    let mut redis = Redis::sentinel().await;
    let server = replicas(&redis, &[]).await;
    let mut client = server.client().await;
    let table = game(&redis, &mut client).await;
    redis.hold_replica().await;
    make(&mut client, &table, Color::Black, "d3").await;
    redis.lose_primary().await;
    let request = v1::GetGameRequest { game_id: table.id };
    let left = client.get_game(patient(request)).await.expect("the game").into_inner();
    assert_eq!(revision(&left.game.expect("a game").version), 1);
}
