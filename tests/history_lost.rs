//! What watchers hear when the store goes wrong: it fails, it loses what was acknowledged, it holds nonsense, hints are
//! lost. Each test says what the store answers, and when.

mod common;

use std::{sync::Arc, time::Duration};

use common::{PATIENCE, lines::*, scripted::Scripted};
use prost::Message as _;
use reversi_proto::{
    v1::{self, EndReason, ResetReason},
    watch_frame::Message,
};
use reversi_rules::{Color, Version};
use reversid::{
    error::{Error, StoreError},
    events::{Hub, Watch, WatchGame, WatchSettings, Watches},
    model::{Act, GameId, Millis, Record, Stored},
    store::Lookup,
    telemetry::Telemetry,
    wire,
};
use tokio::time::timeout;
use tokio_stream::StreamExt as _;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// A hub over a scripted store.
struct Scene {
    store: Arc<Scripted>,
    hub: Hub,
    watches: Watches,
}

const NEVER: Duration = Duration::from_secs(60 * 60);
const SOON: Duration = Duration::from_millis(5);

impl Scene {
    /// A store that has `line`, read on hints and every `poll`.
    fn new(line: &Line, poll: Duration) -> Self {
        let store = Arc::new(Scripted::new(Ok(Lookup::Found(line.0.clone()))));
        let hub = Hub::new(store.clone(), LIFETIMES, poll, Telemetry::off());
        let settings =
            WatchSettings { max: 1_000, stall: NEVER, heartbeat: NEVER, lifetime: NEVER };
        let (draining, tasks) = (CancellationToken::new(), TaskTracker::new());
        let watches = Watches::new(hub.clone(), settings, draining, tasks, Telemetry::off());
        Self { store, hub, watches }
    }

    /// From now on the store answers this.
    fn answer(&self, answer: Result<Lookup, StoreError>) {
        self.store.answer(answer);
    }

    /// From now on the store has this, and the hub is told.
    fn has(&self, line: &Line) {
        self.answer(Ok(Lookup::Found(line.0.clone())));
        self.hub.hint(line.id(), None);
    }

    /// Waits until the store was read again at least twice, of which one began and ended with its present answer.
    async fn is_read(&self) {
        let mut begun = self.store.begun.subscribe();
        let enough = *begun.borrow_and_update() + 2;
        let read = begun.wait_for(|begun| {
            let read = *begun >= enough;
            if !read {
                self.hub.hint(&game_id(), None);
            }
            read
        });
        timeout(PATIENCE, read).await.expect("the store is read in time").expect("the store stays");
    }

    async fn open(&self, resume_after: Option<Version>) -> Result<Watching, Error> {
        let command =
            WatchGame { game_id: game_id(), resume_after, latest_only: false, deadline: None };
        let opened = timeout(PATIENCE, self.watches.open(command)).await;
        opened.expect("it opens or is refused in time").map(Watching)
    }

    /// A watcher that has the game as it stands.
    async fn watcher(&self, line: &Line) -> Watching {
        let mut watching = self.open(None).await.expect("the game is there");
        assert_eq!(watching.snapshot().await, wire::game(line.game()));
        watching
    }
}

struct Watching(Watch);

impl Watching {
    async fn next(&mut self) -> Option<Result<Message, Error>> {
        let next = timeout(PATIENCE, self.0.next()).await.expect("something is told in time");
        next.map(|told| told.map(|frame| frame.message.expect("one of them")))
    }

    async fn message(&mut self) -> Message {
        self.next().await.expect("the watch goes on").expect("the watch goes on")
    }

    async fn snapshot(&mut self) -> v1::Game {
        let Message::Snapshot(game) = self.message().await else { panic!("a snapshot comes next") };
        v1::Game::decode(game).expect("a game")
    }

    /// Panics unless the next message is the last event of `line`.
    async fn event(&mut self, line: &Line) {
        let message = self.message().await;
        let Message::Event(event) = message else { panic!("an event comes next, not {message:?}") };
        let event = v1::GameEvent::decode(event).expect("an event");
        assert_eq!(event.version, wire::game(line.game()).version);
        assert_eq!(event.position, wire::game(line.game()).position);
    }

    /// Panics unless the next message is a reset to `line`.
    async fn reset(&mut self, reason: ResetReason, line: &Line) {
        let message = self.message().await;
        let Message::Reset(reset) = message else { panic!("a reset comes next, not {message:?}") };
        assert_eq!(reset.reason(), reason);
        assert_eq!(reset.game, Some(wire::game(line.game())));
    }

    /// Panics unless the watch ends with this reason.
    async fn end(&mut self, reason: EndReason) {
        let message = self.message().await;
        let Message::End(end) = message else { panic!("the end comes next, not {message:?}") };
        assert_eq!(end.reason(), reason);
        assert!(self.next().await.is_none(), "and then nothing");
    }

    /// Panics unless the watch ends because the game is nowhere.
    async fn vanished(&mut self) {
        let next = self.next().await;
        assert!(matches!(next, Some(Err(Error::GameNotFound))), "not {next:?}");
        assert!(self.next().await.is_none(), "and then nothing");
    }
}

fn game_id() -> GameId {
    GameId::new("game")
}

/// A new game, made now, because watchers have a clock.
fn new_game() -> Line {
    Line::create_at(creation("game"), Millis::now(), None)
}

/// A new game and what it is after each of four moves.
fn five() -> [Line; 5] {
    let mut line = new_game();
    std::array::from_fn(|step| {
        if step > 0 {
            line = line.played(0);
        }
        line.clone()
    })
}

/// A store that lost the game's last revisions says so, and the watch goes on with what is played in their place.
#[tokio::test]
async fn lost_revisions_are_told() {
    let lines = five();
    let scene = Scene::new(&lines[4], NEVER);
    let mut watching = scene.watcher(&lines[4]).await;
    scene.has(&lines[2]);
    watching.reset(ResetReason::RevisionAhead, &lines[2]).await;
    let other = lines[2].played(1);
    scene.has(&other);
    watching.event(&other).await;
}

#[tokio::test]
async fn another_branch_is_told_at_the_same_revision_and_at_a_later_one() {
    let lines = five();
    let other = lines[1].played(1).played(0);
    let (same, longer) = (other.played(0), other.played(0).played(0));
    assert_eq!(same.version().revision, lines[4].version().revision);
    for branch in [same, longer] {
        let scene = Scene::new(&lines[4], NEVER);
        let mut watching = scene.watcher(&lines[4]).await;
        scene.has(&branch);
        watching.reset(ResetReason::HistoryDiverged, &branch).await;
        let next = branch.played(0);
        scene.has(&next);
        watching.event(&next).await;
    }
}

/// Whoever was delivered only what is still there is told nothing of what was lost.
#[tokio::test]
async fn a_watcher_that_lost_nothing_is_not_reset() {
    let lines = five();
    let scene = Scene::new(&lines[0], NEVER);
    // It has taken the snapshot, and at most one event waits for it.
    let mut behind = scene.watcher(&lines[0]).await;
    let mut ahead = scene.watcher(&lines[0]).await;
    scene.has(&lines[4]);
    for line in &lines[1..] {
        ahead.event(line).await;
    }
    let kept = lines[2].played(1);
    scene.has(&kept);
    ahead.reset(ResetReason::RevisionAhead, &kept).await;
    for line in [&lines[1], &lines[2], &kept] {
        behind.event(line).await;
    }
}

#[tokio::test]
async fn a_failing_store_ends_no_watch() {
    let lines = five();
    let scene = Scene::new(&lines[0], SOON);
    let mut watching = scene.watcher(&lines[0]).await;
    for error in [StoreError::Unavailable("gone".into()), StoreError::QueueFull] {
        scene.answer(Err(error));
        scene.is_read().await;
        let refused = scene.open(None).await.err();
        assert!(matches!(refused, Some(Error::Store(_))), "a new watcher is told: {refused:?}");
    }
    scene.answer(Ok(Lookup::Found(lines[3].0.clone())));
    for line in &lines[1..4] {
        watching.event(line).await;
    }
}

#[tokio::test]
async fn lost_hints_delay_and_do_no_harm() {
    let lines = five();
    let scene = Scene::new(&lines[0], SOON);
    let mut watching = scene.watcher(&lines[0]).await;
    for line in &lines[1..] {
        scene.answer(Ok(Lookup::Found(line.0.clone())));
        watching.event(line).await;
    }
}

#[tokio::test]
async fn a_game_that_is_nowhere_ends_its_watches_and_opens_none() {
    let line = new_game();
    let scene = Scene::new(&line, SOON);
    let mut watching = scene.watcher(&line).await;
    scene.answer(Ok(Lookup::Missing));
    watching.vanished().await;
    let refused = scene.open(None).await.err();
    assert!(matches!(refused, Some(Error::GameNotFound)), "{refused:?}");
}

#[tokio::test]
async fn a_game_that_is_back_can_be_watched_again() {
    let lines = five();
    let scene = Scene::new(&lines[2], SOON);
    // This one takes nothing, and so keeps the hub following the game all the time.
    let mut slow = scene.open(None).await.expect("the game is there");
    scene.answer(Ok(Lookup::Missing));
    scene.is_read().await;
    scene.answer(Ok(Lookup::Found(lines[2].0.clone())));
    let mut watching = scene.watcher(&lines[2]).await;
    scene.answer(Ok(Lookup::Found(lines[3].0.clone())));
    watching.event(&lines[3]).await;
    assert_eq!(slow.snapshot().await, wire::game(lines[2].game()));
}

#[tokio::test]
async fn deletion_and_expiry_are_told_apart_from_loss() {
    let line = new_game();
    let long_ago = Line::create_at(creation("game"), Millis(1), None);
    let cases = [
        (Lookup::Deleted(None), EndReason::GameDeleted),
        (Lookup::Found(long_ago.0), EndReason::GameExpired),
    ];
    for (answer, reason) in cases {
        let scene = Scene::new(&line, SOON);
        let mut watching = scene.watcher(&line).await;
        scene.answer(Ok(answer));
        watching.end(reason).await;
        assert!(matches!(scene.open(None).await.err(), Some(Error::GameNotFound)));
    }

    // Swept already when it is looked for: its own expiry tells.
    let now = Millis::now();
    let month = u64::try_from(LIFETIMES.idle.as_millis()).expect("a month of milliseconds");
    let short = Line::create_at(creation("game"), Millis(now.0 - month + 1_000), None);
    let scene = Scene::new(&short, NEVER);
    let mut watching = scene.watcher(&short).await;
    scene.answer(Ok(Lookup::Missing));
    watching.end(EndReason::GameExpired).await;
}

/// Histories that do not fold to the version that their state claims.
fn nonsense(line: &Line) -> Vec<Stored> {
    let good = line.played(0);
    let stored = |game: &Line, history: Vec<Record>| Stored { game: game.game().clone(), history };
    let history = good.0.history.clone();
    let mut illegal = history.clone();
    let first = illegal.last_mut().expect("records");
    first.act = Act::MovePlayed { color: Color::Green, square: good.moves()[0] };
    let mut twice = history.clone();
    twice.push(history[0].clone());
    vec![
        stored(&good, history[1..].to_vec()),
        stored(&good, history[..history.len() - 1].to_vec()),
        stored(&good, illegal),
        stored(&good, twice),
        stored(&line.played(1), history.clone()),
        stored(&good.played(0), history),
        stored(&good, Vec::new()),
    ]
}

#[tokio::test]
async fn a_corrupt_history_never_reaches_a_watcher() {
    let lines = five();
    let line = &lines[2];
    for (number, corrupt) in nonsense(line).into_iter().enumerate() {
        let scene = Scene::new(line, SOON);
        let mut watching = scene.watcher(line).await;
        scene.answer(Ok(Lookup::Found(Arc::new(corrupt))));
        scene.is_read().await;
        let refused = scene.open(None).await.err();
        let corrupt = matches!(refused, Some(Error::Store(StoreError::Corrupt(_))));
        assert!(corrupt, "history {number}: {refused:?}");
        scene.has(&lines[3]);
        watching.event(&lines[3]).await;
    }
}

/// However many come at once, one reading that begins after they came answers all of them.
#[tokio::test]
async fn a_crowd_of_new_watchers_shares_its_readings() {
    let line = new_game();
    let scene = Arc::new(Scene::new(&line, NEVER));
    scene.store.open.send_replace(false);
    let crowd: Vec<_> = (0..200)
        .map(|_| {
            let (scene, line) = (scene.clone(), line.clone());
            tokio::spawn(async move { scene.watcher(&line).await })
        })
        .collect();
    // Each has called before the first reading, on this one thread, begins to answer.
    let mut begun = scene.store.begun.subscribe();
    begun.wait_for(|begun| *begun > 0).await.expect("the store stays");
    scene.store.open.send_replace(true);
    for watcher in crowd {
        watcher.await.expect("it has its snapshot");
    }
    assert!(*begun.borrow() <= 4, "{} readings for 200 watchers", *begun.borrow());
}

#[tokio::test]
async fn a_game_that_nobody_watches_is_read_no_more() {
    let line = new_game();
    let scene = Scene::new(&line, SOON);
    for _ in 0..3 {
        let first = scene.watcher(&line).await;
        let second = scene.watcher(&line).await;
        drop(first);
        scene.is_read().await;
        drop(second);
    }
    let store = Arc::downgrade(&scene.store);
    drop(scene);
    let forgotten = async {
        while store.strong_count() > 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, forgotten).await.expect("what follows the game ends in time");
}
