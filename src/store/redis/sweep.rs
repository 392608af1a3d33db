//! Repairs the index: adds rows that games miss, removes rows whose games are gone. Redis removes what has expired by
//! itself; this only keeps the rows honest, a slice at a time, round and round.

use std::collections::VecDeque;

use redis::{RedisResult, aio::ConnectionManager};

use super::{
    index::{Rows, There, games_at},
    keys,
};
use crate::{
    model::{Lifetimes, Millis},
    store::{Lookup, codec, listing::Cursor},
};

/// About how many keys or rows one slice looks at, and what a set counts besides its rows.
const SLICE: usize = 500;
const SET: usize = 10;

/// Rows of games that were created or changed this close to now are left alone: a commit may be about to need them.
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
                add_rows(connection, &games, lifetimes, now).await?;
                Ok((if next == 0 { Self::sets() } else { Self::Games(next) }, 0, false))
            }
            Self::Sets { mut cursor, mut ended, mut sets, mut after } => {
                let (mut looked_at, mut removed) = (0, 0);
                while looked_at < SLICE {
                    let Some(set) = sets.front() else {
                        if ended {
                            return Ok((Self::new(), removed, true));
                        }
                        let (next, more) = scan(connection, cursor, "rv:[spt]:*").await?;
                        (cursor, ended) = (next, next == 0);
                        sets.extend(more);
                        looked_at += SLICE / 2;
                        continue;
                    };
                    let rows = rows_after(connection, set, after.as_deref()).await?;
                    removed += remove_stale(connection, set, &rows, lifetimes, now).await?;
                    looked_at += SET + rows.len();
                    after = if rows.len() == SLICE { rows.into_iter().next_back() } else { None };
                    if after.is_none() {
                        sets.pop_front();
                    }
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
    now: Millis,
) -> RedisResult<()> {
    // SCAN may find nothing in a slice; an empty pipeline is an error.
    if games.is_empty() {
        return Ok(());
    }
    let mut pipeline = redis::pipe();
    for key in games {
        pipeline.get(key);
    }
    let entries: Vec<Option<Vec<u8>>> = pipeline.query_async(connection).await?;
    let mut pipeline = redis::pipe();
    for entry in entries.into_iter().flatten() {
        if let Ok(Lookup::Found(stored)) = codec::read_entry(&entry)
            && stored.game.expire_time > now
        {
            Rows::of(&stored.game, lifetimes).add(&mut pipeline);
        }
    }
    if pipeline.is_empty() {
        return Ok(());
    }
    pipeline.exec_async(connection).await
}

async fn rows_after(
    connection: &mut ConnectionManager,
    set: &str,
    after: Option<&[u8]>,
) -> RedisResult<Vec<Vec<u8>>> {
    let start = after.map_or(b"-".to_vec(), |after| [b"(", after].concat());
    let mut command = redis::cmd("ZRANGEBYLEX");
    command.arg(set).arg(start).arg("+").arg("LIMIT").arg(0).arg(SLICE);
    command.query_async(connection).await
}

/// Removes those rows of a set that should not be there, and tells how many went.
async fn remove_stale(
    connection: &mut ConnectionManager,
    set: &str,
    rows: &[Vec<u8>],
    lifetimes: Lifetimes,
    now: Millis,
) -> RedisResult<usize> {
    let games = games_at(connection, rows, "a sweep").await?;
    let recent = |time: Millis| time.0.abs_diff(now.0) <= GRACE_MS;
    let stale: Vec<_> = rows
        .iter()
        .filter(|row| match (Cursor::read(row), games.get(*row)) {
            (Err(_), _) => true,
            (Ok(cursor), None) => !recent(cursor.create_time),
            // A newer release may have need of it.
            (Ok(_), Some(There::Unreadable)) => false,
            (Ok(_), Some(There::Game(stored))) => {
                !Rows::of(&stored.game, lifetimes).contains(set) && !recent(stored.game.update_time)
            }
        })
        .collect();
    if !stale.is_empty() {
        redis::cmd("ZREM").arg(set).arg(&stale).exec_async(connection).await?;
    }
    Ok(stale.len())
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
    let Some(holder) = holder else { return Ok(true) };
    if holder == me {
        redis::cmd("PEXPIRE").arg(keys::SWEEPER).arg(millis).exec_async(connection).await?;
    }
    Ok(holder == me)
}
