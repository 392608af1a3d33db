//! This release beside the one before it, both as real binaries: over one Redis at once, in a rolling upgrade and back, and one
//! after the other on one file. `./test --all` builds the other and names its binary in `REVERSI_PREVIOUS`; without that, nothing
//! here is tested, and each test says so.

mod common;

use std::{
    collections::HashMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use common::{
    process::{Process, without_variables},
    variants::variants,
    watch::{Watch, assert_chained},
    *,
};
use reversi_proto::v1::{self, Color, EndReason, watch_game_response::Message};
use tokio::{
    sync::watch::{self, Receiver},
    task::JoinSet,
    time::timeout,
};
use tonic::{Code, Response, Status, transport::Channel};
use tonic_types::StatusExt as _;

/// The binary of the release before, if there is one to be had.
fn previous() -> Option<PathBuf> {
    let named = std::env::var_os("REVERSI_PREVIOUS").map(PathBuf::from);
    if named.is_none() {
        println!(
            "SKIPPED: REVERSI_PREVIOUS names no binary of the release before; ./test --all builds it"
        );
    }
    named
}

fn current() -> &'static Path {
    env!("CARGO_BIN_EXE_reversid").as_ref()
}

async fn start(binary: &Path, url: &str) -> Process {
    let flags = ["--listen", "127.0.0.1:0", "--store", url, "--watch-poll", "200ms"];
    Process::of(without_variables(binary, &flags)).await
}

/// The version that a server announces; 0.1.0 writes it between quotes.
fn version(server: &Process) -> String {
    let log = server.log();
    let rest = log.split("version=").nth(1).expect("it is announced").trim_start_matches('"');
    let end = rest.find(['"', ' ', '\n']).expect("more follows");
    rest[..end].to_owned()
}

fn seated(players: u32) -> v1::CreateGameRequest {
    v1::CreateGameRequest {
        rules: Some(v1::Rules { players, ..Default::default() }),
        seats: (0..players.max(2))
            .map(|seat| v1::NewSeat { player_id: format!("player-{seat}"), ..Default::default() })
            .collect(),
        request_id: request_id(),
        ..Default::default()
    }
}

/// What is told of a game in every way that there is to read it.
async fn read(client: &mut Client, id: &str) -> (v1::Game, Vec<v1::GameEvent>) {
    (get(client, id).await, record(client, id, 50).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_may_go_to_either_release_over_one_redis() {
    let Some(previous) = previous() else { return };
    let home = StoreKind::Redis.home();
    let servers = [start(&previous, &home.url).await, start(current(), &home.url).await];
    println!("{} beside {}", version(&servers[0]), version(&servers[1]));
    assert_ne!(version(&servers[0]), version(&servers[1]), "two releases");
    let mut clients = [servers[0].client().await, servers[1].client().await];
    let mut ids = Vec::new();
    for (number, rules) in variants().into_iter().enumerate() {
        let players = rules.players;
        let request = v1::CreateGameRequest { rules: Some(rules), ..seated(players) };
        let (here, there) = (number % 2, (number + 1) % 2);
        let created = clients[here].create_game(request.clone()).await.expect("a game");
        let again = clients[there].create_game(request.clone()).await.expect("the first answer");
        let created = created.into_inner();
        assert_eq!(created, again.into_inner(), "a creation is repeated at the other release");
        let table = table(created);

        let mut watches = Vec::new();
        for client in &mut clients {
            let mut watch = Watch::of(client, &table.id).await;
            assert_eq!(watch.snapshot().await, table.game);
            watches.push(watch);
        }
        let mut now = position(&table.game).clone();
        let mut before = table.game.version;
        let mut made = Vec::new();
        // Some to the end, the others for a while; moves alternate, and each is repeated at the other release.
        let until = if number % 5 == 0 { usize::MAX } else { 8 };
        while now.to_move != 0 && made.len() < until {
            let (here, there) = (made.len() % 2, (made.len() + 1) % 2);
            let request = v1::MakeMoveRequest {
                expected_version: before,
                request_id: request_id(),
                ..table.play(Color::try_from(now.to_move).expect("a colour"), &now.legal_moves[0])
            };
            let answer = clients[here].make_move(request.clone()).await.expect("a legal move");
            let again = clients[there].make_move(request).await.expect("the first answer");
            let event = answer.into_inner().event.expect("an event");
            assert_eq!(again.into_inner().event.as_ref(), Some(&event));
            for watch in &mut watches {
                assert_eq!(watch.event().await, event);
            }
            (before, now) = (event.version, event.position.clone().expect("a position"));
            made.push(event);
        }
        let [old, new] = &mut clients;
        let (of_old, of_new) = (read(old, &table.id).await, read(new, &table.id).await);
        assert_eq!(of_old, of_new);
        assert_eq!(of_new.1[1..], made);
        assert_chained(&made, table.game.version.expect("a version"));
        if now.to_move == 0 {
            for mut watch in watches {
                assert_eq!(watch.end().await, EndReason::GameFinished);
            }
        }
        // Resumes cross over too.
        let middle = made[made.len() / 2].version;
        for client in &mut clients {
            let mut resumed = Watch::resumed(client, &table.id, middle).await;
            for event in &made[made.len() / 2 + 1..] {
                assert_eq!(&resumed.event().await, event);
            }
        }
        ids.push((table.id, table.owner));
    }

    // Listings, page by page, from either.
    for request in [
        v1::ListGamesRequest { page_size: 500, ..Default::default() },
        v1::ListGamesRequest { player_id: "player-2".into(), page_size: 500, ..Default::default() },
    ] {
        let [old, new] = clients.each_mut().map(|client| client.list_games(request.clone()));
        let (old, new) = (old.await.expect("a page"), new.await.expect("a page"));
        assert_eq!(old.into_inner(), new.into_inner());
    }
    for (here, there, seed) in [(0, 1, 1), (1, 0, 2)] {
        let draw = v1::CreateLayoutRequest { count: 4, seed: Some(seed), ..Default::default() };
        let layout = clients[here].create_layout(draw).await.expect("a layout").into_inner().layout;
        let layout_id = layout.clone().expect("a layout").layout_id;
        let request = v1::GetLayoutRequest { layout_id };
        let read = clients[there].get_layout(request).await.expect("it is there").into_inner();
        assert_eq!(read.layout, layout);
    }
    // What one deletes is deleted at the other, and its watchers there are told.
    for (number, (game_id, owner_token)) in ids.into_iter().enumerate().take(2) {
        let there = &mut clients[(number + 1) % 2];
        let finished = get(there, &game_id).await.status() == v1::GameStatus::Finished;
        let watch = Watch::resumed(there, &game_id, Some(v1::Version::default())).await;
        let delete = v1::DeleteGameRequest { game_id: game_id.clone(), owner_token };
        clients[number % 2].delete_game(delete).await.expect("the owner may");
        if !finished {
            let mut watch = watch;
            let end = loop {
                if let Message::End(end) = watch.message().await {
                    break end.reason();
                }
            };
            assert_eq!(end, EndReason::GameDeleted);
        }
        let gone = clients[(number + 1) % 2].get_game(v1::GetGameRequest { game_id }).await;
        assert_eq!(refusal(gone).reason, "GAME_NOT_FOUND");
    }
}

/// Whoever calls: at any server that is there, again until it is answered.
#[derive(Clone)]
struct Anywhere {
    servers: Receiver<Vec<SocketAddr>>,
    clients: HashMap<SocketAddr, Client>,
    turn: usize,
}

impl Anywhere {
    fn next(&mut self) -> Client {
        self.turn += 1;
        let servers = self.servers.borrow();
        let address = servers[self.turn % servers.len()];
        let connect = || {
            let endpoint = Channel::from_shared(format!("http://{address}")).expect("an address");
            Client::new(endpoint.connect_lazy().into())
        };
        self.clients.entry(address).or_insert_with(connect).clone()
    }

    /// Panics at any answer that a server going away does not give.
    fn assert_passing(status: &Status) {
        let details = status.get_error_details();
        let Some(info) = details.error_info() else { return };
        assert_eq!(status.code(), Code::Unavailable, "{status:?}");
        assert!(
            ["SERVER_DRAINING", "STORE_UNAVAILABLE"].contains(&info.reason.as_str()),
            "{info:?}"
        );
    }

    async fn settled<T, F>(&mut self, call: impl Fn(Client) -> F) -> T
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let answered = async {
            loop {
                match call(self.next()).await {
                    Ok(answer) => return answer.into_inner(),
                    Err(status) => Self::assert_passing(&status),
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, answered).await.expect("some server answers")
    }

    /// Watches a game to its end, over as many streams as it takes.
    async fn watch(mut self, game_id: String) -> Vec<v1::GameEvent> {
        let mut seen: Vec<v1::GameEvent> = Vec::new();
        loop {
            let resume_after =
                Some(seen.last().and_then(|event| event.version).unwrap_or_default());
            let request =
                v1::WatchGameRequest { game_id: game_id.clone(), resume_after, latest_only: false };
            let mut stream = self
                .settled(|mut client| {
                    let request = request.clone();
                    async move { client.watch_game(request).await }
                })
                .await;
            loop {
                let next = timeout(PATIENCE, stream.message()).await.expect("it goes on in time");
                match next.map(|message| message.and_then(|message| message.message)) {
                    Ok(Some(Message::Event(event))) => seen.push(event),
                    Ok(Some(Message::CaughtUp(_) | Message::Heartbeat(_))) => {}
                    Ok(Some(Message::End(_))) => return seen,
                    Ok(other) => panic!("not {other:?}"),
                    Err(status) => {
                        Self::assert_passing(&status);
                        break;
                    }
                }
            }
        }
    }

    /// Plays games under request ids, each watched twice, until it is told to stop. Answers how many it played.
    async fn play(mut self, over: Receiver<bool>, moves: Arc<AtomicUsize>) -> usize {
        let mut games = 0;
        while !*over.borrow() {
            let request = seated(2 + games % 3);
            let created = self
                .settled(|mut client| {
                    let request = request.clone();
                    async move { client.create_game(request).await }
                })
                .await;
            let table = table(created);
            let watching = [0, 1].map(|turn| {
                let watcher = Self { turn, ..self.clone() };
                tokio::spawn(watcher.watch(table.id.clone()))
            });
            let mut now = position(&table.game).clone();
            let mut before = table.game.version;
            let mut made = Vec::new();
            while now.to_move != 0 && !*over.borrow() {
                let square = &now.legal_moves[made.len() % now.legal_moves.len()];
                let request = v1::MakeMoveRequest {
                    expected_version: before,
                    request_id: request_id(),
                    ..table.play(Color::try_from(now.to_move).expect("a colour"), square)
                };
                let answer = self
                    .settled(|mut client| {
                        let request = request.clone();
                        async move { client.make_move(request).await }
                    })
                    .await;
                let event = answer.event.expect("an event");
                (before, now) = (event.version, event.position.clone().expect("a position"));
                made.push(event);
                moves.fetch_add(1, Ordering::SeqCst);
            }
            if now.to_move != 0 {
                let request = v1::AbortGameRequest {
                    game_id: table.id.clone(),
                    owner_token: table.owner.clone(),
                    request_id: request_id(),
                };
                let answer = self
                    .settled(|mut client| {
                        let request = request.clone();
                        async move { client.abort_game(request).await }
                    })
                    .await;
                made.push(answer.event.expect("an event"));
            }
            for watcher in watching {
                let seen = watcher.await.expect("no watcher panics");
                assert_chained(&seen, v1::Version::default());
                assert_eq!(seen[1..], made, "each change once, in order, over every restart");
            }
            games += 1;
        }
        games as usize
    }
}

/// Two replicas are replaced one by one by those of the other release, under play, and then replaced back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_upgrade_and_a_rollback_cost_no_player_and_no_watcher_anything() {
    const MOVES: usize = 150;
    let Some(previous) = previous() else { return };
    let home = StoreKind::Redis.home();
    let mut running = vec![start(&previous, &home.url).await, start(&previous, &home.url).await];
    let addresses = |running: &[Process]| running.iter().map(|it| it.address).collect::<Vec<_>>();
    let (servers, seen) = watch::channel(addresses(&running));
    let (over, stop) = watch::channel(false);
    let moves = Arc::<AtomicUsize>::default();
    let mut players = JoinSet::new();
    for turn in 0..6 {
        let anywhere = Anywhere { servers: seen.clone(), clients: HashMap::new(), turn };
        players.spawn(anywhere.play(stop.clone(), moves.clone()));
    }
    for binary in [current(), current(), previous.as_path(), previous.as_path()] {
        let before = moves.load(Ordering::SeqCst);
        until("they play on", async || {
            assert!(!players.is_empty() && players.try_join_next().is_none(), "a player panicked");
            moves.load(Ordering::SeqCst) >= before + MOVES
        })
        .await;
        // The next is there before one goes.
        running.push(start(binary, &home.url).await);
        let mut going = running.remove(0);
        servers.send_replace(addresses(&running));
        going.signal(&["TERM"]).await;
        assert_eq!(going.ended().await.code(), Some(0), "it drains:\n{}", going.log());
        println!(
            "after {} moves: {:?}",
            moves.load(Ordering::SeqCst),
            running.iter().map(version).collect::<Vec<_>>()
        );
    }
    let before = moves.load(Ordering::SeqCst);
    until("they play on", async || moves.load(Ordering::SeqCst) >= before + MOVES).await;
    over.send_replace(true);
    let games: usize = players.join_all().await.into_iter().sum();
    println!("{games} games, {} moves", moves.load(Ordering::SeqCst));
    let mut last = start(current(), &home.url).await;
    for server in &running {
        assert!(!server.log().contains("ERROR"), "{}", server.log());
    }
    let request = v1::ListGamesRequest { page_size: 500, ..Default::default() };
    let listed = last.client().await.list_games(request).await.expect("a page").into_inner();
    assert_eq!(listed.games.len(), games);
    last.signal(&["TERM"]).await;
    last.ended().await;
}

/// The file goes from release to release and back, with games going on all the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_file_goes_to_this_release_and_back() {
    let Some(previous) = previous() else { return };
    let home = StoreKind::File.home();
    let mut tables: Vec<(Table, Vec<v1::GameEvent>)> = Vec::new();
    let mut last_request = None;
    for binary in [&previous, current(), &previous, current()] {
        let mut server = start(binary, &home.url).await;
        let mut client = server.client().await;
        if let Some((request, event)) = last_request.take() {
            let again: Response<v1::MakeMoveResponse> =
                client.make_move(request).await.expect("the first answer");
            assert_eq!(again.into_inner().event, event, "a repeat at the other release");
        }
        tables.push((create_with(&mut client, seated(2)).await, Vec::new()));
        for (table, events) in &mut tables {
            let game = get(&mut client, &table.id).await;
            assert_eq!(record(&mut client, &table.id, 50).await[1..], events[..]);
            let mut watch = Watch::resumed(&mut client, &table.id, table.game.version).await;
            for event in &*events {
                assert_eq!(&watch.event().await, event);
            }
            let mut now = position(&game).clone();
            for _ in 0..9 {
                let request = v1::MakeMoveRequest {
                    request_id: request_id(),
                    ..table
                        .play(Color::try_from(now.to_move).expect("a colour"), &now.legal_moves[0])
                };
                let made = client.make_move(request.clone()).await.expect("a legal move");
                let event = made.into_inner().event;
                last_request = Some((request, event.clone()));
                let event = event.expect("an event");
                now = event.position.clone().expect("a position");
                events.push(event);
            }
        }
        let request = v1::ListGamesRequest { page_size: 500, ..Default::default() };
        let listed = client.list_games(request).await.expect("a page").into_inner();
        assert_eq!(listed.games.len(), tables.len());
        drop(client);
        server.signal(&["TERM"]).await;
        assert_eq!(server.ended().await.code(), Some(0), "{}", server.log());
    }
}
