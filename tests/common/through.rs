//! Games that are played and watched through whatever happens meanwhile. Nothing is repeated here: each call is answered
//! within its deadline, or the test fails.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use reversi_proto::v1::{self, Color, EndReason};
use tokio::task::JoinSet;
use tonic::Request;

use super::{
    Client, TestServer, position, request_id, table,
    watch::{Watch, assert_chained},
};

/// How long each call has: longer than any failover here.
pub const DEADLINE: &str = "20S";

/// A request whose caller waits for [`DEADLINE`] and leaves it to the server to watch the time.
pub fn patient<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("grpc-timeout", DEADLINE.parse().expect("metadata"));
    request
}

/// A watch that may take as long to open, and then lasts for minutes.
fn patient_stream<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("grpc-timeout", "5M".parse().expect("metadata"));
    request
}

/// Games that are being played, each with a watcher at every replica.
pub struct Playing {
    games: JoinSet<Duration>,
    /// How many moves were made.
    pub made: Arc<AtomicUsize>,
}

impl Playing {
    /// Begins so many games; each move but the first waits for `pace` before it. With request ids they are played through
    /// failovers too, in which watchers may lose again what they saw before its caller was told.
    pub async fn start(server: &TestServer, games: usize, ids: bool, pace: Duration) -> Self {
        let mut playing = Self { games: JoinSet::new(), made: Arc::default() };
        for _ in 0..games {
            let (client, watchers) = (server.client().await, server.clients().await);
            playing.games.spawn(play(client, watchers, ids, pace, playing.made.clone()));
        }
        playing
    }

    /// Waits until so many more moves were made.
    pub async fn goes_on(&self, moves: usize) {
        let before = self.made.load(Ordering::SeqCst);
        super::until("moves go on", async || self.made.load(Ordering::SeqCst) >= before + moves)
            .await;
    }

    /// Waits until all are over and every watcher has seen all of it. Answers how long the longest call took.
    pub async fn end(self) -> Duration {
        let moves = self.made.clone();
        let longest = self.games.join_all().await.into_iter().max().unwrap_or_default();
        println!("{} moves, the longest call took {longest:?}", moves.load(Ordering::SeqCst));
        longest
    }
}

async fn play(
    mut client: Client,
    watchers: Vec<Client>,
    ids: bool,
    pace: Duration,
    made: Arc<AtomicUsize>,
) -> Duration {
    let seats = vec![v1::NewSeat { player_id: "ann".into(), ..Default::default() }; 2];
    let creation = v1::CreateGameRequest { seats, request_id: request_id(), ..Default::default() };
    let created = client.create_game(patient(creation)).await;
    let table = table(created.expect("it is created in time").into_inner());
    let before = table.game.version.expect("a version");
    let mut watching = JoinSet::new();
    for mut watcher in watchers {
        let request = v1::WatchGameRequest { game_id: table.id.clone(), ..Default::default() };
        let opened = watcher.watch_game(patient_stream(request)).await;
        let mut watch = Watch(opened.expect("it opens in time").into_inner());
        assert_eq!(watch.snapshot().await, table.game);
        watching.spawn(async move {
            let mut seen: Vec<v1::GameEvent> = Vec::new();
            while seen.last().is_none_or(|event| event.status() != v1::GameStatus::Finished) {
                match watch.change().await {
                    Ok(event) => seen.push(event),
                    // What no caller was told of yet may be lost in a failover, and is then made again.
                    Err(reset) if ids => {
                        let now = reset.game.expect("a game").version.expect("a version");
                        let of = |event: &v1::GameEvent| event.version.expect("a version");
                        seen.retain(|event| of(event).revision <= now.revision);
                        assert_eq!(seen.last().map_or(before, of), now, "it was seen before");
                    }
                    Err(reset) => panic!("nothing is lost here: {reset:?}"),
                }
            }
            assert_eq!(watch.end().await, EndReason::GameFinished);
            assert_chained(&seen, before);
            seen
        });
    }
    let mut longest = Duration::ZERO;
    let mut events = Vec::new();
    let mut now = position(&table.game).clone();
    let mut version = before;
    while now.to_move != 0 {
        tokio::time::sleep(pace).await;
        let mover = Color::try_from(now.to_move).expect("a colour");
        let square = &now.legal_moves[events.len() % now.legal_moves.len()];
        let request = v1::MakeMoveRequest {
            request_id: if ids { request_id() } else { String::new() },
            expected_version: Some(version),
            ..table.play(mover, square)
        };
        let called = Instant::now();
        let answer = client.make_move(patient(request)).await;
        let event = answer.expect("it is made in time").into_inner().event.expect("an event");
        longest = longest.max(called.elapsed());
        version = event.version.expect("a version");
        now = event.position.clone().expect("a position");
        events.push(event);
        made.fetch_add(1, Ordering::SeqCst);
    }
    assert_chained(&events, before);
    // A move that was seen before a failover lost it, and was made again by the same call, has another time.
    let timeless = |mut events: Vec<v1::GameEvent>| {
        events.iter_mut().for_each(|event| event.time = None);
        events
    };
    for seen in watching.join_all().await {
        let (seen, events) = (timeless(seen), timeless(events.clone()));
        assert_eq!(seen, events, "every watcher sees every move, once");
    }
    let request = v1::ListGameEventsRequest {
        game_id: table.id.clone(),
        page_size: 500,
        ..Default::default()
    };
    let stored = client.list_game_events(patient(request)).await.expect("it is read in time");
    assert_eq!(stored.into_inner().events[1..], events, "each call is one event");
    longest
}
