//! What was acknowledged is there after `kill -9` and on a disk that is full, and what was not can be settled.

mod common;

use std::{collections::BTreeMap, path::Path};

use common::{
    folds::assert_folds,
    junk::Random,
    process::{Process, without_variables},
    *,
};
use reversi_proto::v1;
use tokio::{sync::watch, task::JoinSet, time::timeout};
use tonic::{Code, transport::Channel};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

/// How many clients play at once, and how often the process is killed under them.
const CLIENTS: u64 = 8;
const KILLS: u64 = 5;

/// A call that was not acknowledged yet.
#[derive(Clone, Debug)]
enum Call {
    Create(v1::CreateGameRequest),
    Move(v1::MakeMoveRequest),
    Layout(v1::CreateLayoutRequest),
}

/// A game as far as the server has acknowledged it.
struct Played {
    table: Table,
    events: Vec<v1::GameEvent>,
}

impl Played {
    fn position(&self) -> &v1::Position {
        let last = self.events.last().and_then(|event| event.position.as_ref());
        last.unwrap_or_else(|| position(&self.table.game))
    }

    fn version(&self) -> Option<v1::Version> {
        self.events.last().map_or(self.table.game.version, |event| event.version)
    }
}

/// One who plays on through every kill, and remembers what was acknowledged.
struct Player {
    random: Random,
    games: Vec<Played>,
    layouts: Vec<v1::Layout>,
    pending: Option<Call>,
    acknowledged: watch::Sender<usize>,
}

impl Player {
    /// What to do next: mostly the next move of the last game, until that is over.
    fn next(&mut self) -> Call {
        if self.random.below(10) == 0 {
            let count = 1 + self.random.below(4) as u32;
            let seed = Some(self.random.below(1 << 40) as u64);
            return Call::Layout(v1::CreateLayoutRequest { count, seed, ..Default::default() });
        }
        match self.games.last() {
            Some(game) if game.position().to_move != 0 => {
                let now = game.position();
                let mover = v1::Color::try_from(now.to_move).expect("a colour");
                let square = &now.legal_moves[self.random.below(now.legal_moves.len())];
                Call::Move(v1::MakeMoveRequest {
                    expected_version: game.version(),
                    request_id: request_id(),
                    ..game.table.play(mover, square)
                })
            }
            Some(_) | None => {
                let players = 2 + self.random.below(3) as u32;
                Call::Create(v1::CreateGameRequest {
                    rules: Some(v1::Rules { players, ..Default::default() }),
                    seats: vec![v1::NewSeat::default(); players as usize],
                    request_id: request_id(),
                    ..Default::default()
                })
            }
        }
    }

    /// Makes a call and takes its answer as acknowledged.
    async fn call(&mut self, client: &mut Client, call: Call) -> Result<(), tonic::Status> {
        match call {
            Call::Create(request) => {
                let table = table(client.create_game(request).await?.into_inner());
                self.games.push(Played { table, events: Vec::new() });
            }
            Call::Move(request) => {
                let made = client.make_move(request).await?.into_inner();
                let game = self.games.last_mut().expect("a game that it is a move of");
                game.events.push(made.event.expect("an event"));
            }
            Call::Layout(request) => {
                let drawn = client.create_layout(request).await?.into_inner();
                self.layouts.push(drawn.layout.expect("a layout"));
            }
        }
        self.acknowledged.send_modify(|count| *count += 1);
        Ok(())
    }

    /// Plays until the server is gone.
    async fn play(mut self, mut client: Client) -> Self {
        loop {
            let call = self.next();
            if let Err(status) = self.call(&mut client, call.clone()).await {
                // Killed, it says nothing more: no answer is one of the service's.
                assert_ne!(status.code(), Code::InvalidArgument, "{status:?}");
                assert_ne!(status.code(), Code::FailedPrecondition, "{status:?}");
                self.pending = Some(call);
                return self;
            }
        }
    }

    /// Checks that all that was acknowledged is there, and settles the call that was not. Answers whether that had been
    /// committed.
    async fn settle(&mut self, client: &mut Client) -> bool {
        for layout in &self.layouts {
            let request = v1::GetLayoutRequest { layout_id: layout.layout_id.clone() };
            let found = client.get_layout(request).await.expect("an acknowledged layout is there");
            assert_eq!(found.into_inner().layout.as_ref(), Some(layout));
        }
        let mut committed = false;
        let mut histories = BTreeMap::new();
        for game in &self.games {
            let history = record(client, &game.table.id, 500).await;
            assert_eq!(history[0].version, game.table.game.version);
            assert!(history[1..].starts_with(&game.events), "an acknowledged event is lost");
            assert!(history.len() <= game.events.len() + 2, "nobody asked for more");
            committed |= history.len() == game.events.len() + 2;
            histories.insert(game.table.id.clone(), history);
        }

        let call = self.pending.take().expect("the call that the kill cut off");
        self.call(client, call.clone()).await.expect("a repeat settles it");
        match &call {
            Call::Move(_) => {
                let game = self.games.last().expect("the game that it is a move of");
                let event = game.events.last().expect("the event that it is answered with");
                if committed {
                    assert_eq!(histories[&game.table.id].last(), Some(event));
                }
            }
            Call::Create(_) | Call::Layout(_) => assert!(!committed),
        }
        for game in &self.games {
            let history = record(client, &game.table.id, 500).await;
            assert_eq!(history[1..], game.events, "each request is one event");
            assert_folds(&history, &get(client, &game.table.id).await);
        }
        committed
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acknowledged_change_survives_kill_9_and_every_other_can_be_settled() {
    let seed = u64::from(uuid::Uuid::new_v4().as_fields().0);
    println!("seed {seed}");
    let mut random = Random(seed);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("games.redb");
    let (acknowledged, mut counted) = watch::channel(0);
    let mut players: Vec<_> = (0..CLIENTS)
        .map(|number| Player {
            random: Random(seed + 1 + number),
            games: Vec::new(),
            layouts: Vec::new(),
            pending: None,
            acknowledged: acknowledged.clone(),
        })
        .collect();

    for _ in 0..KILLS {
        let server = Process::start(&file, &[]).await;
        let kill_after = *counted.borrow() + 1 + random.below(150);
        let mut playing = JoinSet::new();
        for player in players.drain(..) {
            playing.spawn(player.play(server.client().await));
        }
        let enough = counted.wait_for(|count| *count >= kill_after);
        drop(timeout(PATIENCE, enough).await.expect("they play").expect("they count"));
        server.kill().await;
        players = playing.join_all().await;

        let server = Process::start(&file, &[]).await;
        let mut client = server.client().await;
        let mut committed = 0;
        for player in &mut players {
            committed += usize::from(player.settle(&mut client).await);
        }
        let games: usize = players.iter().map(|player| player.games.len()).sum();
        let request = v1::ListGamesRequest { page_size: 500, ..Default::default() };
        let listed = client.list_games(request).await.expect("a page").into_inner();
        assert_eq!((listed.games.len(), listed.next_page_token.as_str()), (games, ""));
        let count = *counted.borrow();
        println!("killed after {count}; {committed} of {CLIENTS} cut off were committed moves");
        server.kill().await;
    }
}

/// A server whose files may not grow past so many blocks of 512 bytes, as on a full disk.
async fn start_limited(file: &Path, blocks: u64) -> Process {
    let binary = env!("CARGO_BIN_EXE_reversid");
    let store = format!("file:{}", file.display());
    let script = format!("trap '' XFSZ; ulimit -S -f {blocks}; exec \"$0\" \"$@\"");
    let arguments = ["-c", &script, binary, "--listen", "127.0.0.1:0", "--store", &store];
    Process::of(without_variables("sh".as_ref(), &arguments)).await
}

/// Waits until the contract is, or is not, served.
async fn awaits_health(health: &HealthClient<Channel>, wanted: ServingStatus) {
    let request = HealthCheckRequest { service: "reversi.v1.GameService".into() };
    let mut states = health.clone().watch(request).await.expect("health answers").into_inner();
    let reached = async {
        while states.message().await.expect("it goes on").expect("it goes on").status() != wanted {}
    };
    timeout(PATIENCE, reached).await.expect("in time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_changes_loses_none_and_is_got_over() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("games.redb");
    let server = start_limited(&file, 1_024).await;
    let mut client = server.client().await;
    let mut acknowledged = Vec::new();
    let full = loop {
        let labels = (0..32).map(|key| (format!("{key}"), "x".repeat(256))).collect();
        let request = v1::CreateGameRequest { labels, ..Default::default() };
        match client.create_game(request).await {
            Ok(created) => acknowledged.push(created.into_inner().game.expect("a game")),
            Err(status) => break refused(&status),
        }
        assert!(acknowledged.len() < 1_000, "half a MiB does not hold 10 MB");
    };
    assert_eq!((full.code, full.reason.as_str()), (Code::Unavailable, "STORE_UNAVAILABLE"));
    assert!(full.retry_after.is_some());
    assert!(!acknowledged.is_empty());
    for game in &acknowledged {
        assert_eq!(get(&mut client, &game.game_id).await, *game, "reads go on");
    }
    let health = HealthClient::new(server.channel().await);

    // There is room again: all is well without a restart.
    let pid = server.pid().to_string();
    let mut free = std::process::Command::new("prlimit");
    let freed = free.args(["--pid", &pid, "--fsize=unlimited"]).status();
    assert!(freed.expect("prlimit runs").success());
    let got_over = async {
        while client.create_game(v1::CreateGameRequest::default()).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, got_over).await.expect("the file is opened again");
    awaits_health(&health, ServingStatus::Serving).await;
    let later = create(&mut client, v1::Rules::default()).await;
    assert_eq!(get(&mut client, &later.id).await, later.game);
    for game in &acknowledged {
        assert_eq!(get(&mut client, &game.game_id).await, *game, "nothing is lost");
    }
    server.kill().await;

    let server = Process::start(&file, &[]).await;
    let mut client = server.client().await;
    for game in &acknowledged {
        assert_eq!(get(&mut client, &game.game_id).await, *game);
    }
    create(&mut client, v1::Rules::default()).await;
}
