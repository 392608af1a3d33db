//! One watcher of a game: it notes all that it is told, and resumes after whatever ends its streams.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use reversi_proto::v1::{self, watch_game_response::Message};
use reversi_rules::Version;
use tokio::time::{sleep, timeout};

use crate::{
    caller::reason,
    log::{Shared, Told, Watch, version},
    random::Random,
    world::{World, any},
};

/// How long a stream may say nothing, heartbeats included, before the watcher asks for another.
const SILENCE: Duration = Duration::from_secs(5);

/// How often of a hundred messages a watcher leaves by itself, and how often it dawdles before it reads on.
const LEAVES: usize = 2;
const DAWDLES: usize = 3;

/// How a watcher begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With a snapshot.
    Fresh,
    /// With a snapshot, and no more than the latest from there on.
    Latest,
    /// With the creation.
    Creation,
}

/// Watches the game to its end, or until nobody needs to know any more.
pub async fn watch(world: Arc<World>, log: Shared, start: Start, mut random: Random) {
    let (number, game_id) = {
        let mut log = log.lock();
        log.watches.push(Watch { latest_only: start == Start::Latest, told: Vec::new() });
        (log.watches.len() - 1, log.game_id.clone())
    };
    let note = |told: Told| log.lock().watches[number].told.push((Instant::now(), told));
    let clients = world.clients();
    let mut have = (start == Start::Creation).then_some(Version::ZERO);
    while !log.is_broken() {
        let mut ended = false;
        let request = v1::WatchGameRequest {
            game_id: game_id.clone(),
            resume_after: have.map(reversi_proto::to_wire::version),
            latest_only: start == Start::Latest,
        };
        if have.is_some() {
            world.count("watches resumed");
        }
        note(Told::Asked(have));
        let over = log.lock().over;
        let mut client = any(&clients, &mut random);
        let failed = match timeout(SILENCE, client.watch_game(request)).await {
            Err(_) => String::new(),
            Ok(Err(status)) => reason(&status),
            Ok(Ok(stream)) => {
                let mut stream = stream.into_inner();
                loop {
                    if random.percent(DAWDLES) {
                        sleep(random.millis(20, 400)).await;
                    }
                    let message = match timeout(SILENCE, stream.message()).await {
                        Err(_) => break String::new(),
                        Ok(Err(status)) => break reason(&status),
                        Ok(Ok(None)) => break "OK without an end".to_owned(),
                        Ok(Ok(Some(response))) => response.message,
                    };
                    world.count("watch messages");
                    match hear(&log, number, message, &mut have) {
                        Heard::End if over || !world.can_lose() => return,
                        // What is over may be lost, and go on.
                        Heard::End => {
                            ended = true;
                            break String::new();
                        }
                        Heard::More if random.percent(LEAVES) => break String::new(),
                        Heard::More => {}
                    }
                }
            }
        };
        let vanished = failed == "GAME_NOT_FOUND";
        note(Told::Failed(failed));
        if vanished && over {
            return;
        }
        let pause = if vanished || ended { (200, 500) } else { (5, 100) };
        sleep(random.millis(pause.0, pause.1)).await;
    }
}

enum Heard {
    More,
    End,
}

/// Notes a message.
fn hear(
    log: &Shared,
    number: usize,
    message: Option<Message>,
    have: &mut Option<Version>,
) -> Heard {
    let mut log = log.lock();
    let told = match message {
        Some(Message::Snapshot(game)) => Told::Snapshot(log.state(Some(game))),
        Some(Message::Event(event)) => Told::Event(log.event(event)),
        Some(Message::CaughtUp(caught_up)) => Told::CaughtUp(version(caught_up.version)),
        Some(Message::Heartbeat(heartbeat)) => Told::Heartbeat(version(heartbeat.version)),
        Some(Message::Reset(reset)) => {
            let reason = reset.reason();
            Told::Reset(reason, log.state(reset.game))
        }
        Some(Message::End(end)) => Told::End(end.reason()),
        None => {
            log.contradict("a watch message is empty".into());
            return Heard::More;
        }
    };
    if let Told::Snapshot(version) | Told::Event(version) | Told::Reset(_, version) = told {
        *have = Some(version);
    }
    let end = matches!(told, Told::End(_));
    log.watches[number].told.push((Instant::now(), told));
    if end { Heard::End } else { Heard::More }
}
