//! A game as the service sees it: the rules' table, and who sits at it, until when, with what rights.
//!
//! A [`Game`] is always the fold of its records. Only [`Fold`] makes one from records, one record at a time; a store may
//! restore one from its stored state, which a test holds equal to the fold.

use std::collections::BTreeMap;

use reversi_rules::{Color, Game as Table, Outcome, Played, Position, Refusal, Status, Version};

use super::{Act, GameId, Lifetimes, Millis, Player, Record, Role, Salt, Token, TokenHash};
use crate::error::StoreError;

/// A game as of its version.
#[derive(Clone, Debug)]
pub struct Game {
    /// Its name.
    pub id: GameId,
    /// What the rules know of it: settings, seats, position, outcome and version.
    pub table: Table,
    /// One for each player in turn order.
    pub seats: Vec<Seat>,
    /// The caller's own.
    pub labels: BTreeMap<String, String>,
    /// The right to abort and delete it.
    pub owner: TokenHash,
    /// What derived tokens and request marks are salted with.
    pub salt: Salt,
    /// When it was created.
    pub create_time: Millis,
    /// When its version was committed.
    pub update_time: Millis,
    /// When it ended, once it has.
    pub finish_time: Option<Millis>,
    /// From when on it is gone for every reader.
    pub expire_time: Millis,
    /// Until when its creation must be known again, if a request made it.
    pub named_until: Option<Millis>,
}

/// Who holds a seat, if somebody does.
#[derive(Clone, Debug, Default)]
pub struct Seat {
    /// Empty while the seat is open.
    pub player: Player,
    /// `None` while the seat is open.
    pub token: Option<TokenHash>,
}

/// A committed change and what resulted.
#[derive(Clone, Debug)]
pub struct Event {
    /// The game's.
    pub game_id: GameId,
    /// The version after the change.
    pub version: Version,
    /// The digest of the version before.
    pub previous_digest: u64,
    /// When it was committed.
    pub time: Millis,
    /// What was done.
    pub act: Act,
    /// What the move did, for a move.
    pub played: Option<Played>,
    /// The position after.
    pub position: Position,
    /// The status after.
    pub status: Status,
    /// Present when this change ended the game.
    pub outcome: Option<Outcome>,
}

impl Game {
    /// Until when a store keeps it: longer than it can be read, where a late repeat of its creation must still be known.
    pub fn kept_until(&self) -> Millis {
        self.named_until.map_or(self.expire_time, |named| self.expire_time.max(named))
    }

    /// Its version.
    pub fn version(&self) -> Version {
        self.table.version()
    }

    /// What the holder of `token` may do here, if anything.
    pub fn role_of(&self, token: &Token) -> Option<Role> {
        let shown = token.hash();
        if self.owner.is(&shown) {
            return Some(Role::Owner);
        }
        self.colors_and_seats()
            .find(|(_, seat)| seat.token.is_some_and(|hash| hash.is(&shown)))
            .map(|(color, _)| Role::Seat(color))
    }

    /// The seats with their colours, in turn order.
    pub fn colors_and_seats(&self) -> impl Iterator<Item = (Color, &Seat)> {
        Color::ALL.into_iter().zip(&self.seats)
    }

    /// The game that a creation makes.
    ///
    /// # Errors
    ///
    /// [`StoreError::Corrupt`] when the record is none, or its seats do not fit its rules.
    pub fn created(record: &Record, lifetimes: Lifetimes) -> Result<Self, StoreError> {
        let Act::Created(creation) = &record.act else {
            return Err(StoreError::Corrupt("a history does not begin with a creation".into()));
        };
        let table = Table::create(&record.change()).map_err(|refusal| {
            StoreError::Corrupt(format!("the rules refuse a creation: {refusal}"))
        })?;
        Ok(Self {
            id: creation.game_id.clone(),
            table,
            seats: creation.seated(),
            labels: creation.labels.clone(),
            owner: creation.owner,
            salt: creation.salt,
            create_time: record.time,
            update_time: record.time,
            finish_time: None,
            expire_time: record.time.after(lifetimes.idle),
            named_until: record.named_until(),
        })
    }

    /// Makes the change of the next record and tells what it did.
    ///
    /// # Errors
    ///
    /// The rules' refusal; nothing has changed then.
    pub fn apply(&mut self, record: &Record, lifetimes: Lifetimes) -> Result<Event, Refusal> {
        let previous_digest = self.version().digest;
        let played = self.table.apply(&record.change())?.played;
        record.act.seat(&mut self.seats);
        self.update_time = record.time;
        let kept = match self.table.status() {
            Status::WaitingForPlayers | Status::InProgress => lifetimes.idle,
            Status::Finished => {
                self.finish_time = Some(record.time);
                lifetimes.finished
            }
        };
        self.expire_time = record.time.after(kept);
        Ok(self.event(record, previous_digest, played))
    }

    fn event(&self, record: &Record, previous_digest: u64, played: Option<Played>) -> Event {
        Event {
            game_id: self.id.clone(),
            version: self.version(),
            previous_digest,
            time: record.time,
            act: record.act.clone(),
            played,
            position: self.table.position().clone(),
            status: self.table.status(),
            outcome: self.table.outcome(),
        }
    }
}

/// A game being folded from its records.
#[derive(Clone, Debug)]
pub struct Fold {
    lifetimes: Lifetimes,
    game: Option<Game>,
}

impl Fold {
    /// Nothing yet: the first record must be a creation.
    pub fn new(lifetimes: Lifetimes) -> Self {
        Self { lifetimes, game: None }
    }

    /// Takes the next record and tells what it did.
    ///
    /// # Errors
    ///
    /// [`StoreError::Corrupt`] when the record does not fit the game; the fold is unchanged then.
    pub fn step(&mut self, record: &Record) -> Result<Event, StoreError> {
        match &mut self.game {
            None => {
                let game = self.game.insert(Game::created(record, self.lifetimes)?);
                Ok(game.event(record, 0, None))
            }
            Some(game) => game.apply(record, self.lifetimes).map_err(|refusal| {
                StoreError::Corrupt(format!("the rules refuse a stored change: {refusal}"))
            }),
        }
    }

    /// The game after the last record.
    pub fn game(&self) -> Option<&Game> {
        self.game.as_ref()
    }

    /// Ends the fold.
    pub fn into_game(self) -> Option<Game> {
        self.game
    }
}

/// A game and how it came about: what a store keeps under one key.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The fold of `history`.
    pub game: Game,
    /// One record for each revision, from 1 on.
    pub history: Vec<Record>,
}

impl Stored {
    /// A game that was just created, by `record`.
    pub fn created(game: Game, record: Record) -> Self {
        Self { game, history: vec![record] }
    }

    /// This game and one more record, with `game` as the fold.
    pub fn followed_by(&self, game: Game, record: Record) -> Self {
        let mut history = Vec::with_capacity(self.history.len() + 1);
        history.extend_from_slice(&self.history);
        history.push(record);
        Self { game, history }
    }

    /// The record of the last commit; none in a history that nobody made.
    pub fn last_record(&self) -> Option<&Record> {
        self.history.last()
    }

    /// The revision that a request committed, and its record.
    pub fn find(&self, tag: [u8; 6]) -> Option<(u64, &Record)> {
        (1..)
            .zip(&self.history)
            .find(|(_, record)| record.request.is_some_and(|mark| mark.tag == tag))
    }

    /// The game and the event as of `revision`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Corrupt`] when the history does not reach it or does not fold.
    pub fn at(&self, revision: u64, lifetimes: Lifetimes) -> Result<(Game, Event), StoreError> {
        let mut fold = Fold::new(lifetimes);
        let mut last = None;
        for (record, _) in self.history.iter().zip(1..=revision) {
            last = Some(fold.step(record)?);
        }
        match (fold.into_game(), last) {
            (Some(game), Some(event)) if event.version.revision == revision => Ok((game, event)),
            _ => Err(StoreError::Corrupt(format!("a history ends before revision {revision}"))),
        }
    }
}
