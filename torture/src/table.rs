//! One game: created, its seats raced for, played by two clients a seat that race for every move, watched, and read to the
//! last.

use std::{collections::HashMap, sync::Arc, time::Instant};

use reversi_proto::{to_wire, v1};
use reversi_rules::{Color, Version};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    caller::{Caller, Settled},
    check::check,
    log::{Answer, Call, Command, Log, Read, Shared, version},
    random::Random,
    watcher::{Start, watch},
    world::{SETTLE, World},
};

/// How many events a page of the record has.
const PAGE: i32 = 20;

/// Counts what may be lost, and was.
pub const LOST: &str = "acknowledged and lost, as told";

/// What the players of a table share.
#[derive(Clone)]
pub struct Table {
    /// The run's.
    pub world: Arc<World>,
    /// What was seen.
    pub log: Shared,
    /// The rights to play.
    pub tokens: HashMap<Color, String>,
    /// The right to end it.
    pub owner: String,
}

/// Plays a game from its creation to its end, and checks what was seen of it.
pub async fn play(world: Arc<World>, number: usize, mut random: Random) {
    let log = Shared::new(world.can_lose());
    world.open(number, &log);
    let mut caller = Caller::new(&world, random.fork());
    if let Some(mut table) = create(&mut caller, &log).await {
        let mut watchers = JoinSet::new();
        for start in [Start::Fresh, Start::Latest, Start::Creation] {
            watchers.spawn(watch(world.clone(), log.clone(), start, random.fork()));
        }
        table.fill_seats(&mut random).await;
        table.play(&mut random).await;
        table.conclude(&mut caller).await;
        let _ = timeout(SETTLE, watchers.join_all()).await;
    }
    world.all_safe().await;
    world.close(number);
    let log = std::mem::take(&mut *log.lock());
    if !log.calls.is_empty() {
        count(&world, &log);
    }
    // What was heard wrongly of a creation counts, though it is not known what became of that.
    if !log.calls.is_empty() || !log.contradictions.is_empty() {
        world.violated(check(&log, &world.windows()));
    }
}

/// Counts what happened in a game.
fn count(world: &World, log: &Log) {
    world.count("games");
    for call in &log.calls {
        match (&call.answer, &call.command) {
            (Answer::Done(_), Command::Move { .. }) => world.count("moves"),
            (Answer::Refused(refused), _)
                if ["SEAT_TAKEN", "NO_OPEN_SEAT"].contains(&refused.reason.as_str()) =>
            {
                world.count("races for a seat");
            }
            (Answer::Refused(refused), Command::Move { .. })
                if ["NOT_YOUR_TURN", "VERSION_MISMATCH"].contains(&refused.reason.as_str()) =>
            {
                world.count("races for a move");
            }
            (Answer::Refused(_), _) => world.count("other refusals"),
            _ => {}
        }
    }
    let kept = |version: &Version| log.record.contains(version);
    for call in &log.calls {
        if matches!(&call.answer, Answer::Done(version) if !kept(version)) {
            world.count(LOST);
        }
    }
    let told = log.watches.iter().flat_map(|watch| &watch.told);
    for (_, told) in told {
        if matches!(told, crate::log::Told::Reset(..)) {
            world.count("resets told to watchers");
        }
    }
}

/// Notes a call that changes something, and answers what it was told, if it was done.
pub fn note<R>(
    log: &Shared,
    command: Command,
    settled: Settled<R>,
    version: impl FnOnce(&R, &mut Log) -> Version,
) -> Option<R> {
    let Settled { begun, last_begun, ended, answer } = settled;
    let mut log = log.lock();
    let (answer, done) = match answer {
        Some(Ok(done)) => (Answer::Done(version(&done, &mut log)), Some(done)),
        Some(Err(refused)) => (Answer::Refused(refused), None),
        None => (Answer::Open, None),
    };
    log.calls.push(Call { command, begun, last_begun, ended, answer });
    done
}

async fn create(caller: &mut Caller, log: &Shared) -> Option<Table> {
    let random = &mut caller.random;
    let rules = rules(random);
    // A claim that was lost would take its token with it.
    let seats_open = if caller.world.loses { 0 } else { 30 };
    let seats = (1..=rules.players.max(2)).map(|color| match random.percent(seats_open) {
        true => v1::NewSeat { open: true, ..Default::default() },
        false => v1::NewSeat { player_id: format!("p{color}"), ..Default::default() },
    });
    let seats = seats.collect();
    let request = v1::CreateGameRequest {
        rules: Some(rules),
        seats,
        request_id: random.request_id(),
        ..Default::default()
    };
    let settled = caller
        .settle(
            request,
            |mut client, request| async move { client.create_game(request).await },
            |status| log.lock().contradict(format!("a creation is answered {status:?}")),
        )
        .await;
    if caller.world.loses && settled.begun != settled.last_begun {
        // Each attempt may create it, with tokens of its own, where what another did is lost in between.
        return None;
    }
    let created = note(log, Command::Create, settled, |created: &v1::CreateGameResponse, log| {
        log.game_id = created.game.as_ref().map(|game| game.game_id.clone()).unwrap_or_default();
        log.state(created.game.clone())
    })?;
    let token = |seat: v1::SeatToken| {
        let color = u8::try_from(seat.color).ok().and_then(Color::from_number);
        (color.expect("a seat has a player's colour"), seat.seat_token)
    };
    Some(Table {
        world: caller.world.clone(),
        log: log.clone(),
        tokens: created.seat_tokens.into_iter().map(token).collect(),
        owner: created.owner_token,
    })
}

fn rules(random: &mut Random) -> v1::Rules {
    // Small boards most of the time: more games end.
    let board = random.pick(&[1, 1, 1, 2, 2, 5]);
    let blocked = random.percent(30).then(|| v1::BlockedSquares {
        count: Some(1 + random.below(4) as u32),
        ..Default::default()
    });
    if random.percent(20) {
        let players = 2 + random.below(3) as u32;
        return v1::Rules { board: 2, players, multicolor: true, ..Default::default() };
    }
    v1::Rules {
        board,
        objective: 1 + random.below(2) as i32,
        opening: 1 + random.below(3) as i32,
        blocked_squares: blocked,
        ..Default::default()
    }
}

impl Table {
    /// Has two clients race for each open seat.
    async fn fill_seats(&mut self, random: &mut Random) {
        let game_id = self.log.lock().game_id.clone();
        let seats: Vec<_> =
            self.log.lock().states.values().flat_map(|it| it.seats.clone()).collect();
        let mut racers = JoinSet::new();
        for seat in seats.iter().filter(|seat| !seat.claimed) {
            for player in ["first", "second"] {
                let mut caller = Caller::new(&self.world, random.fork());
                let log = self.log.clone();
                let request = v1::JoinGameRequest {
                    game_id: game_id.clone(),
                    color: seat.color,
                    player_id: player.to_owned(),
                    request_id: caller.random.request_id(),
                    ..Default::default()
                };
                let color = u8::try_from(seat.color).ok().and_then(Color::from_number);
                let color = color.expect("a seat has a player's colour");
                racers.spawn(async move {
                    let settled = caller
                        .settle(
                            request,
                            |mut client, request| async move { client.join_game(request).await },
                            |status| {
                                log.lock().contradict(format!("a claim is answered {status:?}"))
                            },
                        )
                        .await;
                    let joined = |joined: &v1::JoinGameResponse, log: &mut Log| {
                        log.state(joined.game.clone())
                    };
                    let joined = note(&log, Command::Join(color), settled, joined)?;
                    Some((color, joined.seat_token))
                });
            }
        }
        self.tokens.extend(racers.join_all().await.into_iter().flatten());
    }

    /// Plays the game until it is over.
    async fn play(&self, random: &mut Random) {
        let mut players = JoinSet::new();
        for color in self.tokens.keys() {
            for _ in 0..2 {
                let caller = Caller::new(&self.world, random.fork());
                players.spawn(crate::player::play(self.clone(), *color, caller));
            }
        }
        if random.percent(5) {
            sleep(random.millis(200, 2_000)).await;
            let caller = Caller::new(&self.world, random.fork());
            crate::player::abort(self, caller).await;
        }
        players.join_all().await;
    }

    /// The game as it is now, which is noted; none if there is none, or no answer.
    pub async fn read(&self, caller: &mut Caller) -> Option<v1::Game> {
        let request = v1::GetGameRequest { game_id: self.log.lock().game_id.clone() };
        let read: Settled<v1::GetGameResponse> = caller
            .settle(
                request,
                |mut client, request| async move { client.get_game(request).await },
                |status| self.log.lock().contradict(format!("a read is answered {status:?}")),
            )
            .await;
        let mut log = self.log.lock();
        match read.answer? {
            Ok(response) => {
                let version = log.state(response.game.clone());
                log.reads.push(Read { begun: read.last_begun, ended: read.ended, version });
                response.game
            }
            Err(refused) => {
                if !self.world.loses {
                    log.contradict(format!("a game is gone: {refused:?}"));
                }
                None
            }
        }
    }

    /// Notes how the game is in the end.
    async fn conclude(&self, caller: &mut Caller) {
        loop {
            let begun = Instant::now();
            self.read_all(caller).await;
            if self.world.lasts(begun, Instant::now()).await {
                break;
            }
        }
        self.log.lock().over = true;
    }

    /// Reads the whole record, and then the game.
    async fn read_all(&self, caller: &mut Caller) {
        self.log.lock().record.clear();
        let mut after = 0;
        loop {
            let request = v1::ListGameEventsRequest {
                game_id: self.log.lock().game_id.clone(),
                after_revision: after,
                page_size: PAGE,
                ..Default::default()
            };
            let page: Settled<v1::ListGameEventsResponse> = caller
                .settle(
                    request,
                    |mut client, request| async move { client.list_game_events(request).await },
                    |status| self.log.lock().contradict(format!("a record is answered {status:?}")),
                )
                .await;
            let Some(Ok(page)) = page.answer else { break };
            let Some(last) = page.events.last() else { break };
            after = version(last.version).revision;
            let mut log = self.log.lock();
            for event in page.events {
                let version = log.event(event);
                log.record.push(version);
            }
        }
        let game = self.read(caller).await;
        let mut log = self.log.lock();
        log.vanished = game.is_none();
        log.last = game.map(|game| version(game.version));
    }
}

/// A version as the contract has it.
pub fn wire(version: Version) -> v1::Version {
    to_wire::version(version)
}
