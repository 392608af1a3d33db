//! Repairs the index: adds rows that games miss, removes rows whose games are gone. Redis removes what has expired by
//! itself; this only keeps the rows honest, a slice at a time, round and round.

use std::collections::VecDeque;

use super::{
    index::{Rows, There, games_at, read_all},
    keys,
    link::Link,
};
use crate::{
    error::StoreError,
    model::{Lifetimes, Millis},
    store::{Lookup, codec, left_out::LeftOut, listing::Cursor},
};

/// About how many keys or rows one slice looks at, and what a set counts besides its rows.
const SLICE: usize = 500;
const SET: usize = 10;

/// Rows of games that were created or changed this close to now are left alone: a commit may be about to need them.
const GRACE_MS: u64 = 120_000;

/// Where a round is.
#[derive(Debug)]
pub enum Round {
    /// Going over all games.
    Games(Scan),
    /// Going over all sets.
    Sets { scan: Scan, sets: VecDeque<String>, after: Option<Vec<u8>> },
}

/// Where a scan of all primaries is. If they change meanwhile, it may pass some keys over, and the next one finds them.
#[derive(Debug, Default)]
pub struct Scan {
    /// How many primaries it is through with.
    node: usize,
    /// The cursor of SCAN at the next one; 0 begins.
    cursor: u64,
    ended: bool,
}

impl Scan {
    /// The next keys of this pattern; there may be none before the end.
    async fn next(&mut self, link: &Link, pattern: &str) -> Result<Vec<String>, StoreError> {
        let mut primaries = link.primaries().await?;
        primaries.sort_by(|one, other| one.address().cmp(other.address()));
        let Some(node) = primaries.get(self.node) else {
            self.ended = true;
            return Ok(Vec::new());
        };
        let mut command = redis::cmd("SCAN");
        command.arg(self.cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(SLICE);
        let (next, keys) = link.ask_node(node, &command).await?;
        self.cursor = next;
        if next == 0 {
            self.node += 1;
            self.ended = self.node == primaries.len();
        }
        Ok(keys)
    }
}

impl Round {
    /// A round that begins.
    pub fn new() -> Self {
        Self::Games(Scan::default())
    }

    /// Does a slice and tells where to go on, with how many rows were removed, and whether the round is over. Notes what
    /// cannot be read.
    pub async fn slice(
        self,
        link: &Link,
        lifetimes: Lifetimes,
        now: Millis,
        left_out: &mut LeftOut,
    ) -> Result<(Self, usize, bool), StoreError> {
        match self {
            Self::Games(mut scan) => {
                let games = scan.next(link, "rv:g:*").await?;
                add_rows(link, games, lifetimes, now).await?;
                let sets =
                    || Self::Sets { scan: Scan::default(), sets: VecDeque::new(), after: None };
                Ok((if scan.ended { sets() } else { Self::Games(scan) }, 0, false))
            }
            Self::Sets { mut scan, mut sets, mut after } => {
                let (mut looked_at, mut removed) = (0, 0);
                while looked_at < SLICE {
                    let Some(set) = sets.front() else {
                        if scan.ended {
                            return Ok((Self::new(), removed, true));
                        }
                        sets.extend(scan.next(link, "rv:[spt]:*").await?);
                        looked_at += SLICE / 2;
                        continue;
                    };
                    let rows = rows_after(link, set, after.as_deref()).await?;
                    removed += remove_stale(link, set, &rows, lifetimes, now, left_out).await?;
                    looked_at += SET + rows.len();
                    after = if rows.len() == SLICE { rows.into_iter().next_back() } else { None };
                    if after.is_none() {
                        sets.pop_front();
                    }
                }
                Ok((Self::Sets { scan, sets, after }, removed, false))
            }
        }
    }
}

async fn add_rows(
    link: &Link,
    games: Vec<String>,
    lifetimes: Lifetimes,
    now: Millis,
) -> Result<(), StoreError> {
    let get = |key: String| (key.clone(), redis::Cmd::get(key));
    let entries: Vec<Option<Vec<u8>>> =
        read_all(link.ask_all(games.into_iter().map(get).collect()).await?)?;
    let mut rows = Vec::new();
    for entry in entries.into_iter().flatten() {
        if let Ok(Lookup::Found(stored)) = codec::read_entry(&entry)
            && stored.game.expire_time > now
        {
            rows.extend(Rows::of(&stored.game, lifetimes).add());
        }
    }
    link.ask_all(rows).await.map(drop)
}

async fn rows_after(
    link: &Link,
    set: &str,
    after: Option<&[u8]>,
) -> Result<Vec<Vec<u8>>, StoreError> {
    let start = after.map_or(b"-".to_vec(), |after| [b"(", after].concat());
    let mut command = redis::cmd("ZRANGEBYLEX");
    command.arg(set).arg(start).arg("+").arg("LIMIT").arg(0).arg(SLICE);
    link.ask(set, &command).await
}

/// Removes those rows of a set that should not be there, and tells how many went.
async fn remove_stale(
    link: &Link,
    set: &str,
    rows: &[Vec<u8>],
    lifetimes: Lifetimes,
    now: Millis,
    left_out: &mut LeftOut,
) -> Result<usize, StoreError> {
    let games = games_at(link, rows, left_out).await?;
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
        link.ask::<usize>(set, redis::cmd("ZREM").arg(set).arg(&stale)).await?;
    }
    Ok(stale.len())
}

/// Takes or keeps the right to sweep for `millis`; one replica at a time is enough.
pub async fn may_sweep(link: &Link, me: &str, millis: u64) -> Result<bool, StoreError> {
    let mut command = redis::cmd("SET");
    command.arg(keys::SWEEPER).arg(me).arg("NX").arg("GET").arg("PX").arg(millis);
    let holder: Option<String> = link.ask(keys::SWEEPER, &command).await?;
    let Some(holder) = holder else { return Ok(true) };
    if holder == me {
        let prolong = redis::Cmd::pexpire(keys::SWEEPER, millis as i64);
        link.ask::<()>(keys::SWEEPER, &prolong).await?;
    }
    Ok(holder == me)
}
