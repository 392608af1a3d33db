//! The index rows of games in sorted sets, by which they are listed.
//!
//! The rows only ever list too much: they are added before the commit that needs them, the ones that it makes stale are
//! removed after it, and whoever reads a row looks at its game before believing it. All scores are 0, so that a set is
//! ordered by its members, which are places.
//!
//! A set expires a while after the last game that a row of it may stand for, so that nothing is left behind. To keep that
//! from costing every commit, a game prolongs its sets once a period only, by more than the period.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use redis::{FromRedisValue, Value};

use super::{
    expiry, keys,
    link::{Keyed, Link},
};
use crate::{
    error::StoreError,
    model::{Game, Lifetimes, Millis, Stored},
    store::{
        Listing, Lookup, Query, codec,
        left_out::LeftOut,
        listing::{Cursor, Facet, SCAN_MAX, same_rows},
    },
};

/// The rows that a game has, and until when their sets are wanted.
#[derive(Debug)]
pub struct Rows {
    keys: BTreeSet<String>,
    place: Vec<u8>,
    until: Millis,
}

/// How long a prolonging lasts, beyond the game's own expiry.
fn period(lifetimes: Lifetimes) -> Duration {
    (lifetimes.idle / 2).max(Duration::from_millis(1))
}

impl Rows {
    /// All rows of a game.
    pub fn of(game: &Game, lifetimes: Lifetimes) -> Self {
        Self {
            keys: Facet::of(game).filter_map(|facet| keys::row(&facet, &game.id)).collect(),
            place: Cursor::of(game).bytes(),
            until: game.expire_time.after(period(lifetimes)),
        }
    }

    /// Whether a commit has to touch the rows, and which become stale by it.
    pub fn changed(before: &Game, after: &Game, lifetimes: Lifetimes) -> Option<(Self, Self)> {
        let turn = |time: Millis| u128::from(time.0) / period(lifetimes).as_millis().max(1);
        if same_rows(before, after) && turn(before.update_time) == turn(after.update_time) {
            return None;
        }
        let (mut old, new) = (Self::of(before, lifetimes), Self::of(after, lifetimes));
        old.keys.retain(|key| !new.keys.contains(key));
        Some((old, new))
    }

    /// Adds the rows.
    pub fn add(&self) -> Vec<Keyed> {
        let mut commands = Vec::new();
        for key in &self.keys {
            commands.push((key.clone(), redis::Cmd::zadd(key, &self.place, 0)));
            // GT never sets a first expiry, NX sets no later one.
            for condition in ["NX", "GT"] {
                let mut command = redis::cmd("PEXPIREAT");
                command.arg(key).arg(expiry(self.until)).arg(condition);
                commands.push((key.clone(), command));
            }
        }
        commands
    }

    /// Removes the rows.
    pub fn remove(&self) -> Vec<Keyed> {
        let remove = |key: &String| (key.clone(), redis::Cmd::zrem(key, &self.place));
        self.keys.iter().map(remove).collect()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether the set under `key` should have a row of this game.
    pub fn contains(&self, key: &str) -> bool {
        self.keys.contains(key)
    }
}

/// A page of games.
pub async fn list(link: &Link, query: &Query) -> Result<Listing, StoreError> {
    let sets = keys::rows(&query.facet());
    let mut after = query.after.as_ref().map(Cursor::bytes);
    // Games are spread evenly over the sets of a facet; if they should not be, there is another round.
    let wanted = query.limit + 1;
    let share = wanted.min(2 * wanted / sets.len() + 8);
    let mut found = Vec::new();
    let mut matching = 0;
    let mut left_out = LeftOut::default();
    while matching <= query.limit && found.len() <= SCAN_MAX {
        let places = next_places(link, &sets, after.as_deref(), share).await?;
        let Some(last) = places.last() else { break };
        after = Some(last.clone());
        let mut games = games_at(link, &places, &mut left_out).await?;
        for place in places {
            // A row that names nothing is passed over here, and the sweep removes it.
            let Ok(cursor) = Cursor::read(&place) else { continue };
            let stored = games.remove(&place).and_then(There::game);
            matching += usize::from(stored.as_ref().is_some_and(|it| query.matches(&it.game)));
            found.push((cursor, stored));
        }
    }
    left_out.log("a listing");
    Ok(query.page(found.into_iter().map(Ok)).unwrap_or_default())
}

/// The next places over all `sets`, `count` of each at most, in order, once each; none only at the end.
async fn next_places(
    link: &Link,
    sets: &[String],
    after: Option<&[u8]>,
    count: usize,
) -> Result<Vec<Vec<u8>>, StoreError> {
    let start = after.map_or(b"-".to_vec(), |after| [b"(", after].concat());
    let range = |set: &String| {
        let range = redis::Cmd::zrangebylex_limit(set, &start, "+", 0, count as isize);
        (set.clone(), range)
    };
    let parts: Vec<Vec<Vec<u8>>> = read_all(link.ask_all(sets.iter().map(range).collect()).await?)?;
    // Beyond the last place of a part that was cut off, that set may have places that are not here.
    let horizon = parts
        .iter()
        .filter(|part| part.len() == count)
        .filter_map(|part| part.last())
        .min()
        .cloned();
    let places: BTreeSet<Vec<u8>> = parts.into_iter().flatten().collect();
    Ok(match horizon {
        Some(horizon) => places.into_iter().take_while(|place| *place <= horizon).collect(),
        None => places.into_iter().collect(),
    })
}

/// What a place stands for.
pub enum There {
    /// The game that was created then.
    Game(Arc<Stored>),
    /// Something that cannot be read, of a newer release or damaged: perhaps that game.
    Unreadable,
}

impl There {
    fn game(self) -> Option<Arc<Stored>> {
        match self {
            Self::Game(stored) => Some(stored),
            Self::Unreadable => None,
        }
    }
}

/// What is there of the games that places stand for. What cannot be read is left out, and noted once for all its places.
pub async fn games_at(
    link: &Link,
    places: &[Vec<u8>],
    left_out: &mut LeftOut,
) -> Result<HashMap<Vec<u8>, There>, StoreError> {
    let get = |place: &Vec<u8>| {
        // Under the bare prefix there is nothing.
        let prefix = |_| keys::GAME_PREFIX.to_owned();
        let key = Cursor::read(place).map_or_else(prefix, |cursor| keys::game(&cursor.id));
        (key.clone(), redis::Cmd::get(key))
    };
    let entries: Vec<Option<Vec<u8>>> =
        read_all(link.ask_all(places.iter().map(get).collect()).await?)?;
    let games = places.iter().zip(entries).filter_map(|(place, entry)| {
        let there = match entry.as_deref().map(codec::read_entry)? {
            // Of racing creations under one request each leaves a row with its own time, and one game is there.
            Ok(Lookup::Found(stored)) if Cursor::of(&stored.game).bytes() == *place => {
                There::Game(stored)
            }
            Ok(Lookup::Found(_) | Lookup::Deleted(_) | Lookup::Missing) => return None,
            Err(error) => {
                let id = Cursor::read(place).map(|cursor| cursor.id.to_string());
                // A codec's errors are all about what is stored.
                let _ = left_out.note_once(&id.unwrap_or_default(), error);
                There::Unreadable
            }
        };
        Some((place.clone(), there))
    });
    Ok(games.collect())
}

/// What each answer says, which must be of one form.
pub fn read_all<T: FromRedisValue>(answers: Vec<Value>) -> Result<Vec<T>, StoreError> {
    let read = |answer| T::from_redis_value(answer).map_err(unreadable);
    answers.into_iter().map(read).collect()
}

/// An answer that has not the form that was asked for.
pub fn unreadable(error: impl ToString) -> StoreError {
    StoreError::Corrupt(error.to_string())
}
