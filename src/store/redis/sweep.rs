//! Repairs the index: adds rows that games miss, removes rows whose games are gone. Redis removes what has expired by
//! itself; this only keeps the rows honest, a slice at a time, round and round.

use std::collections::VecDeque;

use redis::{RedisResult, aio::ConnectionManager};

use super::{
    index::{Rows, games_at},
    keys,
};
use crate::{
    model::{Lifetimes, Millis},
    store::{Lookup, codec, listing::Cursor},
};

/// About how many keys or rows one slice looks at.
const SLICE: usize = 500;

/// Rows of games younger than this, or changed later, are left alone: a commit may be about to need them.
const GRACE_MS: u64 = 120_000;

/// Where a round is.
#[derive(Debug)]
pub enum Round {
    /// Going over all games by the cursor of SCAN; 0 begins.
    Games(u64),
    /// Going over all sets; `ended` once SCAN has named them all.
    Sets { cursor: u64, ended: bool, sets: VecDeque<String>, after: Option<Vec<u8>> },
}

impl Round {
    /// A round that begins.
    pub fn new() -> Self {
        Self::Games(0)
    }

    fn sets() -> Self {
        Self::Sets { cursor: 0, ended: false, sets: VecDeque::new(), after: None }
    }

    /// Does a slice and tells where to go on, with how many rows were removed, and whether the round is over.
    pub async fn slice(
        self,
        connection: &mut ConnectionManager,
        lifetimes: Lifetimes,
        now: Millis,
    ) -> RedisResult<(Self, usize, bool)> {
        match self {
            Self::Games(cursor) => {
                let (next, games) = scan(connection, cursor, "rv:g:*").await?;
                add_rows(connection, &games, lifetimes).await?;
                Ok((if next == 0 { Self::sets() } else { Self::Games(next) }, 0, false))
            }
            Self::Sets { mut cursor, mut ended, mut sets, after } => {
                if sets.is_empty() && !ended {
                    let (next, more) = scan(connection, cursor, "rv:[spt]:*").await?;
                    (cursor, ended) = (next, next == 0);
                    sets.extend(more);
                }
                let Some(set) = sets.front() else {
                    let round = Self::Sets { cursor, ended, sets, after: None };
                    return Ok(if ended { (Self::new(), 0, true) } else { (round, 0, false) });
                };
                let (after, removed) =
                    remove_rows(connection, set, after.as_deref(), lifetimes, now).await?;
                if after.is_none() {
                    sets.pop_front();
                }
                Ok((Self::Sets { cursor, ended, sets, after }, removed, false))
            }
        }
    }
}

async fn scan(
    connection: &mut ConnectionManager,
    cursor: u64,
    pattern: &str,
) -> RedisResult<(u64, Vec<String>)> {
    let mut command = redis::cmd("SCAN");
    command.arg(cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(SLICE);
    command.query_async(connection).await
}

async fn add_rows(
    connection: &mut ConnectionManager,
    games: &[String],
    lifetimes: Lifetimes,
) -> RedisResult<()> {
    let mut pipeline = redis::pipe();
    for key in games {
        pipeline.get(key);
    }
    let entries: Vec<Option<Vec<u8>>> = pipeline.query_async(connection).await?;
    let mut pipeline = redis::pipe();
    for entry in entries.into_iter().flatten() {
        if let Ok(Lookup::Found(stored)) = codec::read_entry(&entry) {
            Rows::of(&stored.game, lifetimes).add(&mut pipeline);
        }
    }
    pipeline.query_async(connection).await
}

/// Removes rows of one set that should not be there, a slice after `after`; tells where the next begins and how many went.
async fn remove_rows(
    connection: &mut ConnectionManager,
    set: &str,
    after: Option<&[u8]>,
    lifetimes: Lifetimes,
    now: Millis,
) -> RedisResult<(Option<Vec<u8>>, usize)> {
    let start = after.map_or(b"-".to_vec(), |after| [b"(", after].concat());
    let mut command = redis::cmd("ZRANGEBYLEX");
    command.arg(set).arg(start).arg("+").arg("LIMIT").arg(0).arg(SLICE);
    let places: Vec<Vec<u8>> = command.query_async(connection).await?;
    let games = games_at(connection, &places).await?;
    let old = |time: Millis| time.after(std::time::Duration::from_millis(GRACE_MS)) < now;
    let stale: Vec<_> = places
        .iter()
        .filter(|place| match (Cursor::read(place), games.get(*place)) {
            (Err(_), _) => true,
            (Ok(cursor), None) => old(cursor.create_time),
            (Ok(_), Some(stored)) => {
                !Rows::of(&stored.game, lifetimes).contains(set) && old(stored.game.update_time)
            }
        })
        .collect();
    if !stale.is_empty() {
        let mut command = redis::cmd("ZREM");
        command.arg(set).arg(&stale);
        let () = command.query_async(connection).await?;
    }
    let next = (places.len() == SLICE).then(|| places.last().cloned()).flatten();
    Ok((next, stale.len()))
}

/// Takes or keeps the right to sweep for `millis`; one replica at a time is enough.
pub async fn may_sweep(
    connection: &mut ConnectionManager,
    me: &str,
    millis: u64,
) -> RedisResult<bool> {
    let mut command = redis::cmd("SET");
    command.arg(keys::SWEEPER).arg(me).arg("NX").arg("GET").arg("PX").arg(millis);
    let holder: Option<String> = command.query_async(connection).await?;
    Ok(holder.is_none_or(|holder| holder == me))
}
