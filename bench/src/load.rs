//! Loads one service for a while, and tells what that took.

use std::{
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

use crate::{
    play::{Client, Game, Moves},
    process::{Redis, Server},
    report::Sample,
};

/// Calls a second that games are made for before anything is known of a service.
const GUESS: f64 = 5_000.0;

/// How much faster than last time a service may be before its games run out.
const SPARE: f64 = 1.3;

/// How many games are created at a time.
const CREATING: usize = 64;

/// One of the two that are compared: a service, a connection to it, and games to play there.
pub struct Side {
    server: Server,
    client: Client,
    plays: Arc<[Moves]>,
    games: Arc<Games>,
    created: usize,
    /// Whether games have to be created there.
    real: bool,
    /// How many calls were in flight when it was last measured, and how many calls a second that gave.
    last: (usize, f64),
}

/// Games that nobody plays at the moment, begun or not.
#[derive(Default)]
struct Games(Mutex<Vec<Game>>);

impl Games {
    fn lock(&self) -> MutexGuard<'_, Vec<Game>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Side {
    /// The real service.
    pub async fn real(server: Server, plays: Arc<[Moves]>) -> Result<Self, String> {
        Self::of(server, plays, true).await
    }

    /// The bare service.
    pub async fn bare(server: Server, plays: Arc<[Moves]>) -> Result<Self, String> {
        Self::of(server, plays, false).await
    }

    async fn of(server: Server, plays: Arc<[Moves]>, real: bool) -> Result<Self, String> {
        let connected = Client::connect(server.address().to_owned()).await;
        let client = connected.map_err(|error| format!("a service does not accept: {error}"))?;
        Ok(Self { server, client, plays, games: Arc::default(), created: 0, real, last: (0, 0.0) })
    }

    /// What it is called.
    pub fn name(&self) -> &'static str {
        if self.real { "real" } else { "bare" }
    }

    /// Plays moves for `seconds` with so many calls in flight. It ends earlier if the games run out; creating them is not
    /// measured.
    ///
    /// # Errors
    ///
    /// A call failed, or was answered wrongly.
    pub async fn measure(
        &mut self,
        in_flight: usize,
        seconds: f64,
        redis: Option<&Redis>,
    ) -> Result<Sample, String> {
        let expected = match self.last {
            (before, rate) if before == in_flight => rate * SPARE,
            _ => GUESS,
        };
        let plies = self.plays.iter().map(Vec::len).min().unwrap_or(1);
        self.prepare((expected * seconds) as usize / plies + 2 * in_flight).await?;

        let begun = Instant::now();
        let (server_before, redis_before) = (self.server.cpu()?, cpu(redis)?);
        let stop = Arc::new(AtomicBool::new(false));
        let mut workers = JoinSet::new();
        for _ in 0..in_flight {
            workers.spawn(play(
                self.client.clone(),
                self.plays.clone(),
                self.games.clone(),
                stop.clone(),
                begun + Duration::from_secs_f64(seconds),
            ));
        }
        let mut times = Vec::new();
        while let Some(done) = workers.join_next().await {
            times.extend(done.map_err(|error| error.to_string())??);
        }
        let elapsed = begun.elapsed().as_secs_f64();
        let server = self.server.cpu()?.saturating_sub(server_before);
        let redis = cpu(redis)?.zip(redis_before).map(|(now, before)| now.saturating_sub(before));
        let sample = Sample::of(times, elapsed, server, redis)
            .ok_or_else(|| format!("the {} service answered nothing", self.name()))?;
        self.last = (in_flight, sample.calls_a_second);
        Ok(sample)
    }

    /// Makes games until so many wait to be played.
    async fn prepare(&mut self, wanted: usize) -> Result<(), String> {
        let mut missing = wanted.saturating_sub(self.games.lock().len());
        let mut creating = JoinSet::new();
        while missing > 0 || !creating.is_empty() {
            while missing > 0 && creating.len() < CREATING {
                let (number, play) = (self.created, self.created % self.plays.len());
                match self.real {
                    true => drop(creating.spawn(Game::create(self.client.clone(), number, play))),
                    false => self.games.lock().push(Game::pretend(number, play)),
                }
                self.created += 1;
                missing -= 1;
            }
            if let Some(created) = creating.join_next().await {
                self.games.lock().push(created.map_err(|error| error.to_string())??);
            }
        }
        Ok(())
    }
}

fn cpu(redis: Option<&Redis>) -> Result<Option<Duration>, String> {
    redis.map(Redis::cpu).transpose()
}

/// Plays one game after the other, one move at a time, and answers how long each move took.
async fn play(
    mut client: Client,
    plays: Arc<[Moves]>,
    games: Arc<Games>,
    stop: Arc<AtomicBool>,
    until: Instant,
) -> Result<Vec<Duration>, String> {
    let next = || games.lock().pop();
    let mut times = Vec::new();
    let mut now = Instant::now();
    let mut game = next();
    while now < until && !stop.load(Ordering::Relaxed) {
        let Some(current) = &mut game else {
            stop.store(true, Ordering::Relaxed);
            break;
        };
        let Some(request) = current.request(&plays) else {
            game = next();
            continue;
        };
        let asked = Instant::now();
        let answer = client.make_move(request).await;
        now = Instant::now();
        times.push(now - asked);
        let answer = answer.map_err(|error| format!("MakeMove: {error}"))?;
        current.answered(answer.into_inner())?;
    }
    games.lock().extend(mem::take(&mut game));
    Ok(times)
}
