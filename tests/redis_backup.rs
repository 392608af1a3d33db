//! A backup of Redis, taken in the ways that `docs/backup.md` has while games are played, is restored with all that was
//! acknowledged before it; replicas that run on tell everybody what is lost.

mod common;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use common::{folds::assert_folds, watch::Watch, *};
use reversi_proto::v1::{self, Color, ResetReason};
use reversi_testbed::{Cluster, Node, RedisServer, SentinelTrio};

/// A game, and who watches it at each replica.
struct Watched {
    table: Table,
    events: Vec<v1::GameEvent>,
    watches: Vec<Watch>,
}

/// Two replicas over a Redis with these flags, and games on them.
struct Scene {
    server: TestServer,
    games: Vec<Watched>,
}

impl Scene {
    async fn new(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let redis = RedisServer::start(folder.path(), flags);
        Self::at(Home { url: redis.url(), redis: Some(redis), folder }).await
    }

    async fn at(home: Home) -> Self {
        Self { server: TestServer::at(home, 2, &[]).await, games: Vec::new() }
    }

    fn redis(&mut self) -> &mut RedisServer {
        self.server.home.redis.as_mut().expect("there is one")
    }

    fn folder(&self) -> &Path {
        self.server.home.folder.path()
    }

    /// Begins games, and plays so many moves in all that there are.
    async fn play(&mut self, games: usize, moves: usize) {
        let mut client = self.server.client().await;
        for _ in 0..games {
            let table = create(&mut client, v1::Rules::default()).await;
            let mut watches = Vec::new();
            for mut client in self.server.clients().await {
                let mut watch = Watch::of(&mut client, &table.id).await;
                watch.snapshot().await;
                watches.push(watch);
            }
            self.games.push(Watched { table, events: Vec::new(), watches });
        }
        for game in &mut self.games {
            for _ in 0..moves {
                let last = game.events.last().and_then(|event| event.position.as_ref());
                let now = last.unwrap_or_else(|| position(&game.table.game));
                let color = Color::try_from(now.to_move).expect("a colour");
                let request = game.table.play(color, &now.legal_moves[0]);
                let made = client.make_move(request).await.expect("a legal move");
                let event = made.into_inner().event.expect("an event");
                for watch in &mut game.watches {
                    assert_eq!(watch.event().await, event);
                }
                game.events.push(event);
            }
        }
    }

    /// Puts what `restore` does in place of what Redis has, while the replicas run; then as [`told`](Self::told).
    async fn restored(mut self, kept: usize, moves: usize, restore: impl FnOnce(&Path)) {
        self.redis().kill();
        restore(self.folder());
        self.redis().restart();
        self.told(kept, moves).await;
    }

    /// Holds everybody to be told what is lost. Of the first `kept` games so many moves are there.
    async fn told(self, kept: usize, moves: usize) {
        let mut client = self.server.client().await;
        until("the replicas are back", async || {
            let request = v1::ListGamesRequest::default();
            client.list_games(request).await.is_ok()
        })
        .await;
        let request = v1::ListGamesRequest { page_size: 500, ..Default::default() };
        let listed = client.list_games(request).await.expect("a page").into_inner();
        assert_eq!(listed.games.len(), kept);
        for (number, mut game) in self.games.into_iter().enumerate() {
            let seen = game.events.last().expect("an event").version;
            let Ok(color) = Color::try_from(position(&game.table.game).to_move) else {
                panic!("a colour")
            };
            if number >= kept {
                // Begun after the backup.
                for watch in &mut game.watches {
                    assert_eq!(watch.failure().await.reason, "GAME_NOT_FOUND");
                }
                let late = client.make_move(game.table.play(color, "d3")).await;
                assert_eq!(refusal(late).reason, "GAME_NOT_FOUND");
                continue;
            }
            let now = get(&mut client, &game.table.id).await;
            let history = record(&mut client, &game.table.id, 500).await;
            assert_eq!(history[1..], game.events[..moves], "all before the backup, and no more");
            assert_folds(&history, &now);
            for watch in &mut game.watches {
                let reset = watch.reset().await;
                assert_eq!(reset.reason(), ResetReason::RevisionAhead);
                assert_eq!(reset.game.as_ref(), Some(&now));
            }
            let color = Color::try_from(position(&now).to_move).expect("a colour");
            let moves = &position(&now).legal_moves;
            let late =
                v1::MakeMoveRequest { expected_version: seen, ..game.table.play(color, &moves[0]) };
            assert_eq!(refusal(client.make_move(late).await).reason, "VERSION_MISMATCH");
            // It goes on from there, another way.
            let request = game.table.play(color, &moves[moves.len() - 1]);
            let made = client.make_move(request).await.expect("a legal move").into_inner().event;
            for watch in &mut game.watches {
                assert_eq!(Some(watch.event().await), made);
            }
        }
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("it is made");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("it is copied");
    }
}

/// `redis-cli --rdb` asks the server for a snapshot, as a replica does, from any machine.
fn fetch(redis: &RedisServer, backup: &Path) {
    let mut fetch = Command::new("redis-cli");
    fetch.args(["-p", &redis.port().to_string(), "--rdb"]).arg(backup);
    assert!(fetch.output().expect("redis-cli runs").status.success());
}

/// Stops all, and starts them again, the first ones on these copies, the others on nothing.
fn restore_first(nodes: &mut [Node], backups: &[PathBuf]) {
    let folders: Vec<_> =
        nodes.iter().map(|node| node.server.ask(&["CONFIG", "GET", "dir"])).collect();
    nodes.iter_mut().for_each(|node| node.server.kill());
    for (folder, backup) in folders.iter().zip(backups) {
        let folder = folder.lines().last().expect("a folder");
        fs::copy(backup, Path::new(folder).join("dump.rdb")).expect("it is copied");
    }
    nodes.iter_mut().for_each(|node| node.server.restart());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_that_was_fetched_is_restored_and_what_is_lost_is_told() {
    let mut scene = Scene::new(&[]).await;
    scene.play(5, 6).await;
    let backup = scene.folder().join("backup.rdb");
    fetch(scene.redis(), &backup);
    scene.play(2, 4).await;
    let restore = |folder: &Path| {
        fs::copy(&backup, folder.join("dump.rdb")).expect("it is copied");
    };
    scene.restored(5, 6, restore).await;
}

/// Whoever is sent a copy counts as connected, and never confirms anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_that_is_fetched_holds_up_nothing_that_waits_for_replicas() {
    // A primary begins a copy so long after it is asked for.
    let trio = SentinelTrio::start(1, &["repl-diskless-sync-delay 3"]).await;
    trio.is_well().await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let backup = folder.path().join("backup.rdb");
    let home = Home { url: trio.url(), redis: None, folder };
    let server = TestServer::at(home, 2, &["--durability", "replicated"]).await;
    let mut client = server.client().await;
    let port = trio.nodes[0].server.port().to_string();
    let mut fetching = Command::new("redis-cli")
        .args(["-p", &port, "--rdb"])
        .arg(&backup)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("redis-cli runs");
    until("it is connected", async || trio.nodes[0].server.info("connected_slaves") == "2").await;
    while fetching.try_wait().expect("it runs").is_none() {
        create(&mut client, v1::Rules::default()).await;
    }
    assert!(fetching.wait().expect("it has ended").success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_of_a_replica_is_restored_and_what_is_lost_is_told() {
    let mut scene = Scene::new(&["--repl-diskless-sync-delay", "0"]).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let port = scene.redis().port().to_string();
    let replica = RedisServer::start(folder.path(), &["--replicaof", "127.0.0.1", &port]);
    until("it follows", async || replica.info("master_link_status") == "up").await;
    scene.play(3, 6).await;
    let has = scene.redis().info("master_repl_offset").parse::<u64>().expect("a number");
    let heard = || replica.info("slave_repl_offset").parse::<u64>().is_ok_and(|it| it >= has);
    until("it has heard of all", async || heard()).await;
    let backup = folder.path().join("backup.rdb");
    fetch(&replica, &backup);
    scene.play(2, 4).await;
    let restore = |folder: &Path| {
        fs::copy(&backup, folder.join("dump.rdb")).expect("it is copied");
    };
    scene.restored(3, 6, restore).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn snapshots_of_a_clusters_primaries_are_restored_and_what_is_lost_is_told() {
    const PRIMARIES: usize = 3;
    let mut cluster = Cluster::start(&[]).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut scene = Scene::at(Home { url: cluster.url(), redis: None, folder }).await;
    scene.play(6, 6).await;
    let backups: Vec<_> =
        (0..PRIMARIES).map(|it| scene.folder().join(format!("backup-{it}.rdb"))).collect();
    for (node, backup) in cluster.nodes.iter().zip(&backups) {
        fetch(&node.server, backup);
    }
    scene.play(3, 4).await;
    restore_first(&mut cluster.nodes, &backups);
    cluster.is_well().await;
    scene.told(6, 6).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_is_restored_under_sentinels_and_what_is_lost_is_told() {
    let mut trio = SentinelTrio::start(2, &[]).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut scene = Scene::at(Home { url: trio.url(), redis: None, folder }).await;
    scene.play(3, 6).await;
    let backup = scene.folder().join("backup.rdb");
    fetch(&trio.nodes[0].server, &backup);
    scene.play(2, 4).await;
    trio.sentinels.iter_mut().for_each(|sentinel| sentinel.server.kill());
    restore_first(&mut trio.nodes, &[backup]);
    trio.sentinels.iter_mut().for_each(|sentinel| sentinel.server.restart());
    trio.is_well().await;
    scene.told(3, 6).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_that_was_saved_is_restored_into_a_redis_that_appends() {
    let appends = ["--appendonly", "yes", "--appendfsync", "always"];
    let mut scene = Scene::new(&appends).await;
    scene.play(3, 6).await;
    let before = scene.redis().ask(&["LASTSAVE"]);
    // LASTSAVE counts seconds.
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    scene.redis().ask(&["BGSAVE"]);
    until("it is saved", async || scene.redis().ask(&["LASTSAVE"]) != before).await;
    let backup = scene.folder().join("backup.rdb");
    fs::copy(scene.folder().join("dump.rdb"), &backup).expect("it is copied");
    scene.play(2, 4).await;
    let restore = |folder: &Path| {
        // With a log Redis does not look at the snapshot: the log is made anew from it, by a Redis without one.
        fs::remove_dir_all(folder.join("appendonlydir")).expect("there is a log");
        fs::copy(&backup, folder.join("dump.rdb")).expect("it is copied");
        let once = RedisServer::start(folder, &["--dbfilename", "dump.rdb"]);
        assert_eq!(once.ask(&["CONFIG", "SET", "appendonly", "yes"]), "OK");
        let rewritten = || {
            let info = once.ask(&["INFO", "persistence"]);
            info.contains("aof_rewrite_in_progress:0") && info.contains("aof_rewrite_scheduled:0")
        };
        let begun = std::time::Instant::now();
        while !rewritten() {
            assert!(begun.elapsed() < PATIENCE, "the log is written in time");
        }
    };
    scene.restored(3, 6, restore).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_of_the_log_is_restored_and_what_is_lost_is_told() {
    let mut scene = Scene::new(&["--appendonly", "yes", "--appendfsync", "always"]).await;
    scene.play(3, 6).await;
    // No rewrite while it is copied.
    scene.redis().ask(&["CONFIG", "SET", "auto-aof-rewrite-percentage", "0"]);
    let (log, backup) = (scene.folder().join("appendonlydir"), scene.folder().join("backup"));
    copy_folder(&log, &backup);
    scene.redis().ask(&["CONFIG", "SET", "auto-aof-rewrite-percentage", "100"]);
    scene.play(2, 4).await;
    let restore = |_: &Path| {
        fs::remove_dir_all(&log).expect("there is a log");
        copy_folder(&backup, &log);
    };
    scene.restored(3, 6, restore).await;
}
