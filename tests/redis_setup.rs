//! What an operator is told of a Redis that can lose games, and how much memory a game takes in one.

mod common;

use std::{collections::BTreeSet, sync::Arc};

use common::{
    lines::*,
    process::{Process, reversid},
    *,
};
use reversi_proto::v1::{self, Color};
use reversi_testbed::{Port, RedisServer};
use reversid::store::{Store, StoreUrl};
use tokio::task::JoinSet;

/// What the real server logs of such a Redis, at the level of a warning.
async fn warnings(flags: &[&str]) -> BTreeSet<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    warnings_of(&RedisServer::start(folder.path(), flags)).await
}

async fn warnings_of(redis: &RedisServer) -> BTreeSet<String> {
    let url = redis.url();
    let server = Process::of(reversid(&["--listen", "127.0.0.1:0", "--store", &url])).await;
    let log = server.logged("ready").await;
    assert!(log.contains(&format!("{url}/0")), "the store is named: {log}");
    let warned = log.lines().filter_map(|line| line.split_once(" WARN "));
    warned.map(|(_, text)| text.split_once(": ").expect("a target").1.to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_is_warned_of_settings_that_lose_games() {
    const NOTHING: &str = "Redis keeps nothing on disk: a restart loses every game";
    const SNAPSHOTS: &str = "Redis saves snapshots only: a crash loses what came after the last";
    let evicts =
        |policy: &str| format!("maxmemory-policy {policy} may evict games: set noeviction");
    assert_eq!(warnings(&["--appendonly", "yes"]).await, [].into());
    assert_eq!(warnings(&[]).await, [NOTHING.to_owned()].into());
    assert_eq!(warnings(&["--save", "60 1"]).await, [SNAPSHOTS.to_owned()].into());
    let evicting = ["--maxmemory", "100mb", "--maxmemory-policy", "volatile-ttl"];
    assert_eq!(warnings(&evicting).await, [NOTHING.to_owned(), evicts("volatile-ttl")].into());
    let evicting = ["--appendonly", "yes", "--maxmemory-policy", "allkeys-lru"];
    assert_eq!(warnings(&evicting).await, [evicts("allkeys-lru")].into());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_is_warned_of_a_cluster_that_is_taken_for_one_server() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let bus = Port::claim();
    let number = bus.number().to_string();
    let node = ["--cluster-enabled", "yes", "--cluster-port", &number, "--appendonly", "yes"];
    let redis = RedisServer::start(folder.path(), &node);
    assert_eq!(redis.ask(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]), "OK");
    let warned = warnings_of(&redis).await;
    assert_eq!(warned.len(), 1);
    assert!(warned.iter().any(|warning| warning.contains("redis-cluster://")), "{warned:?}");
}

/// Settings that may not be read are not warned of, and nothing else is held up by that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_tells_no_settings_is_taken_at_its_word() {
    assert_eq!(warnings(&["--rename-command", "CONFIG", ""]).await, [].into());
}

/// A game of sixty moves with a request id on every call, as Redis keeps it.
async fn finished_entry(server: &TestServer) -> Vec<u8> {
    let mut client = server.client().await;
    let mut random = Seeded(60);
    loop {
        let request = v1::CreateGameRequest { request_id: request_id(), ..Default::default() };
        let created = client.create_game(request).await.expect("a game").into_inner();
        let mut table = table(created);
        for player_id in ["player-000001", "player-000002"] {
            let request = v1::JoinGameRequest {
                game_id: table.id.clone(),
                player_id: player_id.into(),
                request_id: request_id(),
                ..Default::default()
            };
            let joined = client.join_game(request).await.expect("a seat").into_inner();
            table.tokens.insert(joined.color, joined.seat_token);
        }
        let mut now = position(&get(&mut client, &table.id).await).clone();
        while now.to_move != 0 {
            let square = &now.legal_moves[random.below(now.legal_moves.len())];
            let request = v1::MakeMoveRequest {
                request_id: request_id(),
                ..table.play(Color::try_from(now.to_move).expect("a colour"), square)
            };
            let made = client.make_move(request).await.expect("a legal move").into_inner();
            now = made.event.and_then(|event| event.position).expect("a position");
        }
        if now.ply == 60 {
            let client = ::redis::Client::open(&*server.home.url).expect("a URL");
            let mut connection =
                client.get_multiplexed_async_connection().await.expect("a connection");
            let mut command = ::redis::cmd("GET");
            command.arg(format!("rv:g:{}", table.id));
            return command.query_async(&mut connection).await.expect("the entry");
        }
    }
}

/// What `GAMES` finished games take of Redis's memory, each between two of so many players.
async fn bytes_a_game(entry: &[u8], players: usize) -> f64 {
    const GAMES: usize = 6_000;
    let home = StoreKind::Redis.home();
    let store = StoreUrl::parse(&home.url).expect("a URL").open(LIFETIMES).expect("it opens");
    let client = ::redis::Client::open(&*home.url).expect("a URL");
    let mut connection = client.get_multiplexed_async_connection().await.expect("a connection");
    let used = async |connection: &mut ::redis::aio::MultiplexedConnection| -> f64 {
        let mut command = ::redis::cmd("INFO");
        command.arg("memory");
        let info: ::redis::InfoDict =
            command.query_async(connection).await.expect("memory is told");
        let bytes = |name| info.get::<f64>(name).expect("a number");
        bytes("used_memory") - bytes("mem_clients_normal")
    };
    let before = used(&mut connection).await;
    let lines: Vec<_> = (0..GAMES)
        .map(|number| {
            // As long as an id of the server's.
            let mut creation = creation(&format!("game-{number:021}"));
            for (seat, who) in creation.seats.iter_mut().zip([number * 2, number * 2 + 1]) {
                *seat = Some((player(&format!("player-{:06}", who % players)), token(1)));
            }
            Line::create(creation)
        })
        .collect();
    put_all_at_once(&store, &lines).await;
    // Their rows are there; what a game is at its end takes the place of what it is at its beginning.
    for lines in lines.chunks(500) {
        let mut pipeline = ::redis::pipe();
        for line in lines {
            let command = pipeline.cmd("SET").arg(format!("rv:g:{}", line.id())).arg(entry);
            command.arg("PXAT").arg(line.game().expire_time.0).ignore();
        }
        pipeline.exec_async(&mut connection).await.expect("the games are replaced");
    }
    (used(&mut connection).await - before) / GAMES as f64
}

async fn put_all_at_once(store: &Arc<dyn Store>, lines: &[Line]) {
    let mut putting = JoinSet::new();
    for lines in lines.chunks(lines.len() / 64) {
        let (store, lines) = (store.clone(), lines.to_vec());
        putting.spawn(async move {
            for line in lines {
                line.put_new(&store).await;
            }
        });
    }
    putting.join_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finished_game_takes_little_memory() {
    let server = TestServer::start(StoreKind::Redis).await;
    let entry = finished_entry(&server).await;
    let redis = server.home.redis.as_ref().expect("there is one");
    let key = redis.ask(&["KEYS", "rv:g:*"]).lines().next().expect("a game").to_owned();
    println!(
        "an entry has {} bytes; {} takes {}",
        entry.len(),
        key,
        redis.ask(&["MEMORY", "USAGE", &key])
    );
    // A set of few rows is packed, which takes less than a set of its own and less than one of many rows.
    for (players, of_each, most) in [(600, 20, 1.7), (12_000, 1, 2.0), (60, 200, 2.0)] {
        let kib = bytes_a_game(&entry, players).await / 1024.0;
        println!("{kib:.2} KiB a game, rows included, where every player plays {of_each}");
        assert!(kib <= most, "at most {most} KiB where every player plays {of_each}: {kib:.2}");
    }
}
