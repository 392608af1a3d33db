//! The store in Redis (7.0 or newer), for any number of replicas.
//!
//! A game is one string under one key: its entry, as `codec` has it, with one expiry. So it has one slot, cannot be half
//! there, and takes no more memory than its bytes and one key. A commit is one script on that key alone: it compares the
//! beginning of the entry, which is the version, puts the new head and the record in, and signals on the sharded channel
//! of the same name. A script that fails has written nothing, for its one write comes last; digests and revisions cross
//! it as bytes. Layouts have keys of their own. Listing goes by rows in sorted sets, see `index`.
//!
//! Every read asks the server that writes go to. Redis expires by its own clock.

#[cfg(feature = "sabotage")]
mod behind;
mod index;
mod inspect;
mod keys;
mod link;
mod node;
mod replication;
mod script;
mod servers;
mod slots;
mod sweep;
mod url;

use std::{
    collections::BTreeSet,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use redis::{FromRedisValue as _, Value};
use reversi_rules::{Layout, Version};
use tokio::sync::Mutex;

use self::{
    index::{Rows, unreadable},
    link::Link,
    script::Script,
    sweep::Round,
};
pub use self::{
    keys::{game as channel, game_id as channel_game},
    node::Node,
    servers::Servers,
    slots::redirection,
    url::{Address, FORMS, RedisUrl},
};
use super::{
    Backup, BackupError, Commit, Listing, Lookup, Patience, Query, Store, Swept, codec,
    left_out::LeftOut,
};
use crate::{
    error::StoreError,
    model::{Game, GameId, Lifetimes, Millis, Stored, random},
    sabotage::{Sabotage, sabotaged},
    telemetry::Cause,
};

/// How long the right to sweep lasts after a sweep: longer than the time between two of one sweeper.
const SWEEPER_MS: u64 = 900_000;

/// How many slices one sweep does, so that Redis has time for others.
const SLICES_MAX: usize = 20;

static COMMIT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("redis/commit.lua")));
static LAYOUT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("redis/layout.lua")));
static DELETE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("redis/delete.lua")));

/// Games in Redis.
pub struct RedisStore {
    link: Link,
    lifetimes: Lifetimes,
    /// Where this process's sweep is; held for one slice.
    round: Mutex<Round>,
    /// Who this process is to other sweepers.
    name: String,
    /// Whether the servers' settings were looked at.
    inspected: AtomicBool,
}

impl RedisStore {
    /// A store that connects when it is first used.
    ///
    /// # Errors
    ///
    /// For people: the certificates cannot be used.
    pub fn new(url: &RedisUrl, lifetimes: Lifetimes) -> Result<Self, String> {
        let name = format!("{:016x}", u64::from_be_bytes(random()));
        let link = Link::new(url).map_err(|error| error.to_string())?;
        let (round, inspected) = (Mutex::new(Round::new()), AtomicBool::new(false));
        Ok(Self { link, lifetimes, round, name, inspected })
    }

    /// Removes rows without anybody waiting for it: rows that stay are looked through.
    fn remove_later(&self, rows: Rows) {
        if rows.is_empty() {
            return;
        }
        let link = self.link.clone();
        tokio::spawn(async move {
            if let Err(error) = link.ask_all(rows.remove()).await {
                tracing::debug!(%error, "stale index rows stay until the sweep");
            }
        });
    }

    /// The version that a change of the game was judged on, unless that is broken on purpose.
    async fn judged_on(&self, game: &Game) -> Result<Version, StoreError> {
        let judged_on = game.version();
        let (digests, revisions) = (sabotaged(Sabotage::Digests), sabotaged(Sabotage::Revisions));
        if (digests || revisions)
            && let Lookup::Found(there) = self.load(&game.id).await?
            && (revisions || there.game.version().revision == judged_on.revision)
        {
            return Ok(there.game.version());
        }
        Ok(judged_on)
    }

    async fn add(&self, rows: &Rows) -> Result<(), StoreError> {
        self.link.ask_all(rows.add()).await.map(drop)
    }

    /// Looks at the servers' settings, once.
    async fn inspect(&self) -> Result<(), StoreError> {
        let mut warnings = BTreeSet::new();
        for node in self.link.primaries().await? {
            warnings.extend(inspect::warnings(&self.link, &node).await?);
        }
        for warning in warnings {
            tracing::warn!("{warning}");
        }
        self.inspected.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Whether a primary answers, and says of its Cluster that it is well.
    async fn answers(&self) -> Result<(), StoreError> {
        let cluster = self.link.servers().is_cluster();
        let mut last = StoreError::NotDone("no primary is known".into());
        for node in self.link.primaries().await? {
            let answer = match cluster {
                true => {
                    let mut info = redis::cmd("CLUSTER");
                    self.link.ask_node::<String>(&node, info.arg("INFO")).await
                }
                false => self.link.ask_node::<String>(&node, &redis::cmd("PING")).await,
            };
            match answer {
                Ok(info) if cluster && !info.contains("cluster_state:ok") => {
                    last = StoreError::NotDone("the Cluster is down".into());
                }
                Ok(_) => return Ok(()),
                Err(error) => last = error,
            }
        }
        Err(last)
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
            let entry = Vec::<u8>::from_redis_value(there).map_err(unreadable)?;
            Commit::Conflict(codec::read_entry(&entry)?)
        }
    })
}

#[async_trait]
impl Store for RedisStore {
    async fn load(&self, id: &GameId) -> Result<Lookup, StoreError> {
        let key = keys::game(id);
        #[cfg(feature = "sabotage")]
        if sabotaged(Sabotage::ReplicaReads) {
            return found(behind::get(&self.link, &key).await?);
        }
        found(self.link.ask(&key, &redis::Cmd::get(&key)).await?)
    }

    async fn load_lasting(&self, id: &GameId) -> Result<Lookup, StoreError> {
        let key = keys::game(id);
        found(self.link.ask_lasting(&key, &redis::Cmd::get(&key)).await?)
    }

    async fn create(&self, stored: Arc<Stored>) -> Result<Commit, StoreError> {
        let game = &stored.game;
        self.add(&Rows::of(game, self.lifetimes)).await?;
        let key = keys::game(&game.id);
        let mut command = redis::cmd("SET");
        command.arg(&key);
        command.arg([codec::head_bytes(game), codec::last_record_bytes(&stored)].concat());
        command.arg("NX").arg("GET").arg("PXAT").arg(expiry(game.kept_until()));
        let command = &command;
        let set = |mut connection| async move { command.query_async(&mut connection).await };
        match self.link.change(&key, set).await? {
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
        let prefix = codec::prefix_bytes(self.judged_on(&before.game).await?);
        let arguments = &(
            prefix.as_slice(),
            codec::head_bytes(&after.game),
            codec::last_record_bytes(&after),
            expiry(after.game.kept_until()),
            Cause::current(after.game.version()).map(Cause::to_bytes).unwrap_or_default(),
        );
        let invoke =
            |mut connection| async move { COMMIT.run(&mut connection, key, arguments).await };
        let commit = committed(self.link.change(key, invoke).await?)?;
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
        match committed(self.link.change(key, invoke).await?)? {
            Commit::Done => {
                self.remove_later(Rows::of(&stored.game, self.lifetimes));
                Ok(true)
            }
            Commit::Conflict(_) => Ok(false),
        }
    }

    async fn list(&self, query: &Query) -> Result<Listing, StoreError> {
        index::list(&self.link, query).await
    }

    async fn put_layout(&self, layout: Layout, until: Millis) -> Result<(), StoreError> {
        let key = &keys::layout(&layout.id());
        let arguments = &(codec::layout_bytes(&layout, until), expiry(until));
        let put = |mut connection| async move { LAYOUT.run(&mut connection, key, arguments).await };
        // It may be put twice.
        self.link.change::<(), _>(key, put).await.map_err(link::repeatable)
    }

    async fn layout(&self, id: &str) -> Result<Option<(Layout, Millis)>, StoreError> {
        let key = &keys::layout(id);
        let mut expiry = redis::cmd("PEXPIRETIME");
        expiry.arg(key);
        let both = vec![(key.clone(), redis::Cmd::get(key)), (key.clone(), expiry)];
        let mut answers = self.link.ask_all(both).await?.into_iter();
        let (bytes, until) = (answers.next(), answers.next());
        let bytes = Option::<Vec<u8>>::from_redis_value(bytes.unwrap_or(Value::Nil));
        let until = i64::from_redis_value(until.unwrap_or(Value::Nil)).map_err(unreadable)?;
        let Some(bytes) = bytes.map_err(unreadable)? else { return Ok(None) };
        let (layout, _) = codec::read_layout(&bytes)?;
        // Negative without an expiry, or without the key by now.
        Ok(u64::try_from(until).ok().map(|until| (layout, Millis(until))))
    }

    async fn sweep(&self, now: Millis) -> Result<Swept, StoreError> {
        let mut round = self.round.lock().await;
        let mut begun = std::mem::replace(&mut *round, Round::new());
        let (mut swept, mut left_out) = (Swept::default(), LeftOut::default());
        if !sweep::may_sweep(&self.link, &self.name, SWEEPER_MS).await? {
            return Ok(swept);
        }
        for _ in 0..SLICES_MAX {
            let (next, removed, ended) =
                begun.slice(&self.link, self.lifetimes, now, &mut left_out).await?;
            begun = next;
            swept.removed += removed;
            if ended {
                break;
            }
        }
        left_out.log("a sweep");
        // Slow and steady: the next slices come with the next call.
        *round = begun;
        Ok(swept)
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.link.servers().keep_up().await;
        let ready = || async {
            if !self.inspected.load(Ordering::Relaxed) {
                self.inspect().await?;
            }
            self.answers().await
        };
        Patience::until(None).attempt(|_| true, ready).await
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

/// What stands in an entry, if there is one.
fn found(entry: Option<Vec<u8>>) -> Result<Lookup, StoreError> {
    entry.map_or(Ok(Lookup::Missing), |entry| codec::read_entry(&entry))
}
