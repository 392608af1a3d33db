//! What the clients and watchers of one game saw and when: the history that is checked. Nothing is judged here.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use reversi_proto::v1::{self, EndReason, ResetReason};
use reversi_rules::{Color, Square, Version};

/// A command, as far as its answer depends on it.
#[derive(Clone, Debug)]
pub enum Command {
    /// Create the game.
    Create,
    /// Take the seat.
    Join(Color),
    /// Place a disc.
    Move {
        /// Whose.
        color: Color,
        /// Where.
        square: Square,
        /// The version that it was judged on; digest 0 stands for any.
        expected: Option<Version>,
    },
    /// Give up.
    Resign(Color),
    /// End the game.
    Abort,
}

/// A command and what became of it, over all attempts under its one request id.
#[derive(Clone, Debug)]
pub struct Call {
    /// What was asked.
    pub command: Command,
    /// When the first attempt began.
    pub begun: Instant,
    /// When the last one did, which is the one that was answered.
    pub last_begun: Instant,
    /// When the answer came.
    pub ended: Instant,
    /// The answer.
    pub answer: Answer,
}

/// How a call ended.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It is done, at this version.
    Done(Version),
    /// It was refused.
    Refused(Refused),
    /// The run ended before it was settled.
    Open,
}

/// A refusal, as it was told.
#[derive(Clone, Debug)]
pub struct Refused {
    /// Why.
    pub reason: String,
    /// What it was judged at.
    pub revision: Option<u64>,
    /// Further words on why: `to_move`, `legal_moves`.
    pub more: HashMap<String, String>,
}

/// A game that was read.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// When it was asked for.
    pub begun: Instant,
    /// When it was there.
    pub ended: Instant,
    /// The version that it had.
    pub version: Version,
}

/// All that one watcher asked for and was told, over all its streams.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// Whether it asked for no more than the latest.
    pub latest_only: bool,
    /// In order.
    pub told: Vec<(Instant, Told)>,
}

/// A step of a watch.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// A stream was asked for, after this version.
    Asked(Option<Version>),
    /// A snapshot.
    Snapshot(Version),
    /// An event.
    Event(Version),
    /// The replay is over.
    CaughtUp(Version),
    /// Still there.
    Heartbeat(Version),
    /// Another history.
    Reset(ResetReason, Version),
    /// Nothing will follow.
    End(EndReason),
    /// The stream ended otherwise: the reason, empty where the service told none.
    Failed(String),
}

/// Everything about one game.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// Its id; empty before it is created.
    pub game_id: String,
    /// Every event that anybody was told, once.
    pub events: HashMap<Version, v1::GameEvent>,
    /// Every state that anybody was told, once.
    pub states: HashMap<Version, v1::Game>,
    /// Calls that change something.
    pub calls: Vec<Call>,
    /// Calls that were made once more after they were done, and were answered the same.
    pub repeats: Vec<Call>,
    /// Calls that read the game.
    pub reads: Vec<Read>,
    /// The watchers.
    pub watches: Vec<Watch>,
    /// The stored history in the end, and the version of the game then.
    pub record: Vec<Version>,
    /// The game in the end; none if it is gone.
    pub last: Option<Version>,
    /// Whether the service says that there is no such game.
    pub vanished: bool,
    /// Whether what the record and the game are now is how it stays.
    pub over: bool,
    /// What no correct service says, noted where it was heard.
    pub contradictions: Vec<String>,
    /// Whether times are left out: what was lost can happen again, at another time but as the same version.
    pub timeless: bool,
}

impl Log {
    /// Notes an event and answers its version.
    pub fn event(&mut self, mut event: v1::GameEvent) -> Version {
        if self.timeless {
            event.time = Some(Default::default());
        }
        let version = version(event.version);
        if let Some(known) = self.events.get(&version)
            && *known != event
        {
            self.contradict(format!("two events of one version: {known:?} and {event:?}"));
        }
        self.events.entry(version).or_insert(event);
        version
    }

    /// Notes a state and answers its version.
    pub fn state(&mut self, game: Option<v1::Game>) -> Version {
        let Some(mut game) = game else {
            self.contradict("a game is missing in an answer".into());
            return Version::ZERO;
        };
        if self.timeless {
            for time in [&mut game.create_time, &mut game.update_time, &mut game.expire_time] {
                *time = Some(Default::default());
            }
            game.finish_time = game.finish_time.map(|_| Default::default());
        }
        let version = version(game.version);
        if let Some(known) = self.states.get(&version)
            && *known != game
        {
            self.contradict(format!("two states of one version: {known:?} and {game:?}"));
        }
        self.states.entry(version).or_insert(game);
        version
    }

    /// Notes what no correct service says.
    pub fn contradict(&mut self, what: String) {
        self.contradictions.push(what);
    }
}

/// A log that the players and watchers of a game share.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<Log>>);

impl Shared {
    /// A log of a game that has not been created.
    pub fn new(timeless: bool) -> Self {
        Self(Arc::new(Mutex::new(Log { timeless, ..Log::default() })))
    }

    /// The log, for a moment.
    pub fn lock(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a violation was heard, so that there is no point in going on.
    pub fn is_broken(&self) -> bool {
        !self.lock().contradictions.is_empty()
    }
}

/// A version as the rules have it.
pub fn version(version: Option<v1::Version>) -> Version {
    version.map_or(Version::ZERO, |it| Version { revision: it.revision, digest: it.digest })
}
