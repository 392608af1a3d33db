//! The store in Redis (7.0 or newer), for any number of replicas.
//!
//! A game is one string under one key: its entry, as `codec` has it, with one expiry. So it has one slot, cannot be half
//! there, and takes no more memory than its bytes and one key. A commit is one script on that key alone: it compares the
//! beginning of the entry, which is the version, puts the new head and the record in, and signals on the sharded channel
//! of the same name. A script that fails has written nothing, for its one write comes last; digests and revisions cross
//! it as bytes. Layouts have keys of their own. Listing goes by rows in sorted sets, see `index`.
//!
//! Every read asks the server that writes go to. Redis expires by its own clock.

mod index;
mod inspect;
mod keys;
mod link;
mod script;
mod sweep;

use std::sync::{
    Arc, LazyLock,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use redis::{FromRedisValue as _, Value};
use reversi_rules::Layout;
use tokio::sync::Mutex;

use self::{index::Rows, link::Link, script::Script, sweep::Round};
pub use self::{
    keys::{game as channel, game_id as channel_game},
    link::{RedisUrl, config},
};
use super::{Backup, BackupError, Commit, Listing, Lookup, Query, Store, Swept, codec};
use crate::{
    error::StoreError,
    model::{GameId, Lifetimes, Millis, Stored, random},
    telemetry::Cause,
};

/// How long the right to sweep lasts after a sweep: longer than the time between two of one sweeper.
const SWEEPER_MS: u64 = 900_000;

/// How many slices one sweep does, so that Redis has time for others.
const SLICES_MAX: usize = 20;

static COMMIT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("redis/commit.lua")));
static DELETE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("redis/delete.lua")));

/// Games in Redis.
pub struct RedisStore {
    link: Arc<Link>,
    lifetimes: Lifetimes,
    /// Where this process's sweep is; held for one slice.
    round: Mutex<Round>,
    /// Who this process is to other sweepers.
    name: String,
    /// Whether the server's settings were looked at.
    inspected: AtomicBool,
}

impl RedisStore {
    /// A store that connects when it is first used.
    pub fn new(url: &RedisUrl, lifetimes: Lifetimes) -> Self {
        let name = format!("{:016x}", u64::from_be_bytes(random()));
        let link = Arc::new(Link::new(url.client()));
        let (round, inspected) = (Mutex::new(Round::new()), AtomicBool::new(false));
        Self { link, lifetimes, round, name, inspected }
    }

    /// Removes rows without anybody waiting for it: rows that stay are looked through.
    fn remove_later(&self, rows: Rows) {
        if rows.is_empty() {
            return;
        }
        let link = self.link.clone();
        tokio::spawn(async move {
            let mut pipeline = redis::pipe();
            rows.remove(&mut pipeline);
            let pipeline = &pipeline;
            let removed = link
                .run(|mut connection| async move { pipeline.exec_async(&mut connection).await });
            if let Err(error) = removed.await {
                tracing::debug!(%error, "stale index rows stay until the sweep");
            }
        });
    }

    async fn add(&self, rows: &Rows) -> Result<(), StoreError> {
        let mut pipeline = redis::pipe();
        rows.add(&mut pipeline);
        let pipeline = &pipeline;
        self.link
            .read(|mut connection| async move { pipeline.exec_async(&mut connection).await })
            .await
    }
}

/// A time as Redis takes it for an expiry: at the most the end of the year 9999, which is also as far as the contract's
/// times go.
fn expiry(time: Millis) -> u64 {
    time.0.min(253_402_300_799_999)
}

/// What a script or command answers that gives back what is there instead of writing.
fn committed(answer: Value) -> Result<Commit, StoreError> {
    Ok(match answer {
        Value::Int(_) | Value::Okay => Commit::Done,
        Value::Nil => Commit::Conflict(Lookup::Missing),
        there => {
            let entry = Vec::<u8>::from_redis_value(there)
                .map_err(|error| StoreError::Corrupt(error.to_string()))?;
            Commit::Conflict(codec::read_entry(&entry)?)
        }
    })
}

#[async_trait]
impl Store for RedisStore {
    async fn load(&self, id: &GameId) -> Result<Lookup, StoreError> {
        let key = &keys::game(id);
        let get = |mut connection| async move {
            redis::cmd("GET").arg(key).query_async(&mut connection).await
        };
        let entry: Option<Vec<u8>> = self.link.read(get).await?;
        entry.map_or(Ok(Lookup::Missing), |entry| codec::read_entry(&entry))
    }

    async fn create(&self, stored: Arc<Stored>) -> Result<Commit, StoreError> {
        let game = &stored.game;
        self.add(&Rows::of(game, self.lifetimes)).await?;
        let mut command = redis::cmd("SET");
        command.arg(keys::game(&game.id));
        command.arg([codec::head_bytes(game), codec::last_record_bytes(&stored)].concat());
        command.arg("NX").arg("GET").arg("PXAT").arg(expiry(game.kept_until()));
        let set = |mut connection| async move { command.query_async(&mut connection).await };
        match self.link.run(set).await? {
            Value::Nil => Ok(Commit::Done),
            there => committed(there),
        }
    }

    async fn commit(&self, before: Arc<Stored>, after: Arc<Stored>) -> Result<Commit, StoreError> {
        let rows = Rows::changed(&before.game, &after.game, self.lifetimes);
        if let Some((_, new)) = &rows {
            self.add(new).await?;
        }
        let key = &keys::game(&after.game.id);
        let prefix = codec::prefix_bytes(before.game.version());
        let arguments = &(
            prefix.as_slice(),
            codec::head_bytes(&after.game),
            codec::last_record_bytes(&after),
            expiry(after.game.kept_until()),
            Cause::current(after.game.version().revision).map(Cause::to_bytes).unwrap_or_default(),
        );
        let invoke =
            |mut connection| async move { COMMIT.run(&mut connection, key, arguments).await };
        let commit = committed(self.link.run(invoke).await?)?;
        if let (Commit::Done, Some((old, _))) = (&commit, rows) {
            self.remove_later(old);
        }
        Ok(commit)
    }

    async fn delete(&self, id: &GameId, until: Millis) -> Result<bool, StoreError> {
        let Lookup::Found(stored) = self.load(id).await? else { return Ok(false) };
        let creation = stored.history.first().filter(|record| record.request.is_some());
        let key = &keys::game(id);
        let arguments = &(
            codec::LIVE_PREFIX.as_slice(),
            codec::tombstone_bytes(creation, until),
            expiry(until),
        );
        let invoke =
            |mut connection| async move { DELETE.run(&mut connection, key, arguments).await };
        // What is there by now instead may be of a newer release, which is an error.
        match committed(self.link.run(invoke).await?)? {
            Commit::Done => {
                self.remove_later(Rows::of(&stored.game, self.lifetimes));
                Ok(true)
            }
            Commit::Conflict(_) => Ok(false),
        }
    }

    async fn list(&self, query: &Query) -> Result<Listing, StoreError> {
        self.link
            .read(|mut connection| async move { index::list(&mut connection, query).await })
            .await
    }

    async fn put_layout(&self, layout: Layout, until: Millis) -> Result<(), StoreError> {
        let key = keys::layout(&layout.id());
        let mut pipeline = redis::pipe();
        let set = pipeline.cmd("SET").arg(&key).arg(codec::layout_bytes(&layout, until));
        set.arg("NX").arg("PXAT").arg(expiry(until)).ignore();
        pipeline.cmd("PEXPIREAT").arg(&key).arg(expiry(until)).arg("GT").ignore();
        let pipeline = &pipeline;
        self.link
            .read(|mut connection| async move { pipeline.exec_async(&mut connection).await })
            .await
    }

    async fn layout(&self, id: &str) -> Result<Option<(Layout, Millis)>, StoreError> {
        let key = keys::layout(id);
        let mut pipeline = redis::pipe();
        pipeline.cmd("GET").arg(&key).cmd("PEXPIRETIME").arg(&key);
        let pipeline = &pipeline;
        let get = |mut connection| async move { pipeline.query_async(&mut connection).await };
        let (bytes, until): (Option<Vec<u8>>, i64) = self.link.read(get).await?;
        let Some(bytes) = bytes else { return Ok(None) };
        let (layout, _) = codec::read_layout(&bytes)?;
        // Negative without an expiry, or without the key by now.
        Ok(u64::try_from(until).ok().map(|until| (layout, Millis(until))))
    }

    async fn sweep(&self, now: Millis) -> Result<Swept, StoreError> {
        let mut round = self.round.lock().await;
        let mut begun = std::mem::replace(&mut *round, Round::new());
        let (lifetimes, name) = (self.lifetimes, &self.name);
        let slices = |mut connection| async move {
            let mut swept = Swept::default();
            if !sweep::may_sweep(&mut connection, name, SWEEPER_MS).await? {
                return Ok((Round::new(), swept));
            }
            for _ in 0..SLICES_MAX {
                let (next, removed, ended) = begun.slice(&mut connection, lifetimes, now).await?;
                begun = next;
                swept.removed += removed;
                if ended {
                    break;
                }
            }
            // Slow and steady: the next slices come with the next call.
            Ok((begun, swept))
        };
        let (next, swept) = self.link.run(slices).await?;
        *round = next;
        Ok(swept)
    }

    async fn ready(&self) -> Result<(), StoreError> {
        if self.inspected.load(Ordering::Relaxed) {
            let ping = |mut connection| async move {
                redis::cmd("PING").exec_async(&mut connection).await
            };
            return self.link.read(ping).await;
        }
        let look = |mut connection| async move { inspect::warnings(&mut connection).await };
        for warning in self.link.read(look).await? {
            tracing::warn!("{warning}");
        }
        self.inspected.store(true, Ordering::Relaxed);
        Ok(())
    }

    async fn backup(&self) -> Result<Backup, BackupError> {
        Err(BackupError::Elsewhere(
            "Redis backs itself up: BGSAVE and a copy of its dump, or a replica; docs/backup.md has the steps",
        ))
    }

    async fn close(&self) {
        self.link.close();
    }
}
