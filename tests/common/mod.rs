//! Starts the real server on a real socket over a chosen store, and speaks to it as a client.

#![allow(dead_code, reason = "each test file uses its part")]

pub mod collector;
pub mod folds;
pub mod junk;
pub mod lines;
pub mod metrics;
pub mod process;
pub mod raw;
pub mod replicas;
pub mod scripted;
pub mod stored;
pub mod through;
pub mod variants;
pub mod watch;

use std::{
    collections::HashMap,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};

use clap::Parser as _;
use reversi_proto::v1::{self, game_service_client::GameServiceClient};
use reversi_testbed::RedisServer;
use reversid::{
    app::{App, Ended},
    settings::{Flags, Settings},
};
use tempfile::TempDir;
use tokio::{sync::oneshot, task::JoinHandle, time::timeout};
use tonic::{Code, Status, transport::Channel};
use tonic_types::StatusExt as _;

use self::replicas::Replicas;

pub type Client = GameServiceClient<Replicas>;

/// No condition that a test waits for takes longer, unless it is broken.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// What every promise holds on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    Memory,
    File,
    /// One server over Redis.
    Redis,
    /// Two servers over one Redis; calls and watches go to them in turn.
    Replicas,
}

/// What a store lives in, until it is dropped.
pub struct Home {
    pub url: String,
    pub redis: Option<RedisServer>,
    pub folder: TempDir,
}

impl Home {
    /// The file of an embedded store.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("games.redb")
    }
}

impl StoreKind {
    /// A new and empty place for such a store.
    pub fn home(self) -> Home {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let redis = matches!(self, Self::Redis | Self::Replicas)
            .then(|| RedisServer::start(folder.path(), &[]));
        let url = match (self, &redis) {
            (_, Some(redis)) => redis.url(),
            (Self::File, None) => format!("file:{}", folder.path().join("games.redb").display()),
            (_, None) => "memory:".to_owned(),
        };
        Home { url, redis, folder }
    }
}

/// Makes a test of each named `async fn(StoreKind)` on one of the stores.
#[macro_export]
macro_rules! on_store {
    ($module:ident, $kind:ident, $($name:ident),* $(,)?) => {
        mod $module {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() { super::$name($crate::common::StoreKind::$kind).await; })*
        }
    };
}

/// Makes a test of each on the stores that expire by the clock that they are given. Redis has its own.
#[macro_export]
macro_rules! on_every_local_store {
    ($($name:ident),* $(,)?) => {
        $crate::on_store!(memory, Memory, $($name),*);
        $crate::on_store!(file, File, $($name),*);
    };
}

/// Makes a test of each on every store with one server: for what a server promises of itself alone.
#[macro_export]
macro_rules! on_every_store {
    ($($name:ident),* $(,)?) => {
        $crate::on_store!(memory, Memory, $($name),*);
        $crate::on_store!(file, File, $($name),*);
        $crate::on_store!(redis, Redis, $($name),*);
    };
}

/// Makes a test of each on every store, and on two servers over one Redis.
#[macro_export]
macro_rules! everywhere {
    ($($name:ident),* $(,)?) => {
        $crate::on_every_store!($($name),*);
        $crate::on_store!(replicas, Replicas, $($name),*);
    };
}

/// A running server, or two replicas.
pub struct TestServer {
    /// Of the first, or only, server.
    pub address: SocketAddr,
    servers: Vec<Running>,
    /// Whose turn it is, over all clients.
    calls: Arc<AtomicUsize>,
    pub home: Home,
}

struct Running {
    address: SocketAddr,
    shutdown: Option<oneshot::Sender<()>>,
    run: JoinHandle<Result<Ended, String>>,
}

impl Running {
    async fn start(url: &str, flags: &[&str]) -> Self {
        let base = ["--listen", "127.0.0.1:0", "--store", url];
        let settings = settings(&[&base, flags].concat());
        let app = App::build(settings).await.expect("the server is built");
        let address = app.address();
        let (shutdown, asked) = oneshot::channel::<()>();
        let run = tokio::spawn(app.run(async move {
            let _ = asked.await;
        }));
        Self { address, shutdown: Some(shutdown), run }
    }
}

pub fn settings(arguments: &[&str]) -> Settings {
    let flags = Flags::try_parse_from([&["reversid"], arguments].concat()).expect("known flags");
    flags.check().expect("sound settings")
}

impl TestServer {
    pub async fn start(store: StoreKind) -> Self {
        Self::with(store, &[]).await
    }

    /// With more flags.
    pub async fn with(store: StoreKind, flags: &[&str]) -> Self {
        let replicas = if store == StoreKind::Replicas { 2 } else { 1 };
        Self::at(store.home(), replicas, flags).await
    }

    /// So many replicas over what is there.
    pub async fn at(home: Home, replicas: usize, flags: &[&str]) -> Self {
        let mut servers = Vec::new();
        for _ in 0..replicas {
            servers.push(Running::start(&home.url, flags).await);
        }
        Self { address: servers[0].address, servers, calls: Arc::default(), home }
    }

    /// A client of the server, or one whose calls go to each replica in turn.
    pub async fn client(&self) -> Client {
        let mut channels = Vec::new();
        for server in &self.servers {
            channels.push(channel_to(server.address).await);
        }
        Client::new(Replicas::new(channels, self.calls.clone()))
    }

    /// Of each server.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.servers.iter().map(|server| server.address).collect()
    }

    /// A client of each server.
    pub async fn clients(&self) -> Vec<Client> {
        let mut clients = Vec::new();
        for server in &self.servers {
            clients.push(client_of(server.address).await);
        }
        clients
    }

    /// Asks every server to drain.
    pub fn begin_shutdown(&mut self) {
        for server in &mut self.servers {
            let shutdown = server.shutdown.take().expect("asked once");
            shutdown.send(()).expect("the server runs");
        }
    }

    /// Ends every server, and leaves what they lived in.
    pub async fn stopped(mut self) -> Self {
        self.begin_shutdown();
        for server in self.servers.drain(..) {
            let ended = timeout(PATIENCE, server.run).await.expect("the server ends in time");
            assert_eq!(ended.expect("the server does not panic"), Ok(Ended::Drained));
        }
        self
    }

    /// Waits for the end of the first, or only, server.
    pub async fn ended(mut self) -> Ended {
        let ended = timeout(PATIENCE, self.servers.remove(0).run).await;
        let ended = ended.expect("the server ends in time");
        ended.expect("the server does not panic").expect("the server serves")
    }
}

pub async fn channel_to(address: SocketAddr) -> Channel {
    let channel = Channel::from_shared(format!("http://{address}")).expect("an address");
    channel.connect().await.expect("the server accepts")
}

pub async fn client_of(address: SocketAddr) -> Client {
    Client::new(channel_to(address).await.into())
}

/// Waits until `holds` does.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let held = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, held).await.unwrap_or_else(|_| panic!("in time: {what}"));
}

/// A game with every seat claimed at creation, and the rights to it.
#[derive(Clone, Debug)]
pub struct Table {
    pub id: String,
    pub game: v1::Game,
    pub tokens: HashMap<i32, String>,
    pub owner: String,
}

/// Creates a game; all seats are claimed.
pub async fn create(client: &mut Client, rules: v1::Rules) -> Table {
    let players = if rules.players == 0 { 2 } else { rules.players };
    let seats = (0..players)
        .map(|index| v1::NewSeat { player_id: format!("player-{index}"), ..Default::default() })
        .collect();
    create_with(client, v1::CreateGameRequest { rules: Some(rules), seats, ..Default::default() })
        .await
}

pub async fn create_with(client: &mut Client, request: v1::CreateGameRequest) -> Table {
    table(client.create_game(request).await.expect("a game is created").into_inner())
}

pub fn table(created: v1::CreateGameResponse) -> Table {
    let game = created.game.expect("a game");
    Table {
        id: game.game_id.clone(),
        game,
        tokens: created.seat_tokens.into_iter().map(|seat| (seat.color, seat.seat_token)).collect(),
        owner: created.owner_token,
    }
}

impl Table {
    /// A move by the holder of `color`'s token.
    pub fn play(&self, color: v1::Color, square: &str) -> v1::MakeMoveRequest {
        v1::MakeMoveRequest {
            game_id: self.id.clone(),
            square: square.into(),
            seat_token: self.tokens[&(color as i32)].clone(),
            ..Default::default()
        }
    }
}

pub fn position(game: &v1::Game) -> &v1::Position {
    game.position.as_ref().expect("a game has a position")
}

pub fn revision(version: &Option<v1::Version>) -> u64 {
    version.as_ref().expect("a version").revision
}

/// The game as it is now.
pub async fn get(client: &mut Client, id: &str) -> v1::Game {
    let request = v1::GetGameRequest { game_id: id.into() };
    client.get_game(request).await.expect("the game is there").into_inner().game.expect("a game")
}

/// Plays the first legal move until the game is over, and returns every event.
pub async fn play_out(client: &mut Client, table: &Table) -> Vec<v1::GameEvent> {
    let mut events = Vec::new();
    let mut now = position(&table.game).clone();
    while now.to_move != 0 {
        let mover = v1::Color::try_from(now.to_move).expect("a colour");
        let made = client.make_move(table.play(mover, &now.legal_moves[0])).await;
        let event = made.expect("a legal move").into_inner().event.expect("an event");
        now = event.position.clone().expect("a position");
        events.push(event);
    }
    events
}

/// The whole record, page by page.
pub async fn record(client: &mut Client, id: &str, page_size: i32) -> Vec<v1::GameEvent> {
    let mut events = Vec::new();
    let mut page_token = String::new();
    loop {
        let request = v1::ListGameEventsRequest {
            game_id: id.into(),
            page_size,
            page_token,
            ..Default::default()
        };
        let page = client.list_game_events(request).await.expect("a page").into_inner();
        events.extend(page.events);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return events;
        }
    }
}

/// What an error says: its code, reason, metadata, and the fields at fault.
#[derive(Clone, Debug)]
pub struct Refused {
    pub code: Code,
    pub reason: String,
    pub metadata: HashMap<String, String>,
    pub fields: Vec<String>,
    pub retry_after: Option<Duration>,
}

pub fn refused(status: &Status) -> Refused {
    let details = status.get_error_details();
    let info = details.error_info().unwrap_or_else(|| panic!("{status:?} has an ErrorInfo"));
    assert_eq!(info.domain, "reversi.v1");
    Refused {
        code: status.code(),
        reason: info.reason.clone(),
        metadata: info.metadata.clone(),
        fields: details
            .bad_request()
            .map(|bad| bad.field_violations.iter().map(|fault| fault.field.clone()).collect())
            .unwrap_or_default(),
        retry_after: details.retry_info().and_then(|retry| retry.retry_delay),
    }
}

/// The refusal that a call must be answered with.
pub fn refusal<T: std::fmt::Debug>(answer: Result<T, Status>) -> Refused {
    refused(&answer.expect_err("the call is refused"))
}

/// A fresh request id.
pub fn request_id() -> String {
    uuid::Uuid::new_v4().to_string()
}
