//! Where games live: one contract, one implementation a store.
//!
//! A game is one entry: its records in order, and the state that they fold to, replaced together. Every change of it
//! is compare-and-append on its whole version, revision **and** digest, so that a branch that reached the same revision
//! by another way is told apart. Stores have no clock and judge no moves; `tests/store_contract` holds them all to
//! this page.

mod backup;
mod codec;
mod embedded;
mod left_out;
mod listing;
mod memory;
mod observed;
mod patience;
pub mod redis;

use std::{fmt, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use reversi_rules::Layout;

pub use self::{
    backup::{Backup, BackupError},
    embedded::EmbeddedStore,
    listing::{Cursor, Listing, Query},
    memory::MemoryStore,
    observed::Observed,
    patience::Patience,
    redis::{RedisStore, RedisUrl},
};
use crate::{
    error::StoreError,
    model::{GameId, Lifetimes, Millis, Record, Stored},
    telemetry::StoreKind,
};

/// What is under a game's id.
#[derive(Clone, Debug)]
pub enum Lookup {
    /// The game, whether expired or not: the caller has the clock.
    Found(Arc<Stored>),
    /// It was deleted. The creation is kept where a late repeat of its request must be known.
    Deleted(Option<Box<Record>>),
    /// Nothing, and no memory of it.
    Missing,
}

/// How a compare-and-append ended.
#[derive(Clone, Debug)]
pub enum Commit {
    /// It is durable, and visible to every later read.
    Done,
    /// Nothing was written, because this is there instead of what was expected.
    Conflict(Lookup),
}

/// What a sweep removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Entries of games, tombstones included, and layouts.
    pub removed: usize,
    /// Whether it stopped at its bound, with more to remove.
    pub more: bool,
}

/// A place where games and layouts are kept.
///
/// Every method is atomic: it happens wholly or not at all, and what it answered is durable as the store promises. A
/// dropped future leaves the outcome open: a write may still happen. Errors: [`StoreError::Unavailable`] leaves the
/// outcome unknown; the others changed nothing. An entry that cannot be read, of a newer release ([`StoreError::NewerForm`])
/// or damaged ([`StoreError::Corrupt`]), fails the calls about it and no others; nothing ever changes or removes it. What
/// changes nothing, or may be done twice, never fails with `Unavailable`.
///
/// [`Observed`] passes each method on.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// What is under `id` now: everything committed before the call.
    async fn load(&self, id: &GameId) -> Result<Lookup, StoreError>;

    /// As [`Self::load`]; and what is found is as durable as if this store had just answered its commit.
    async fn load_lasting(&self, id: &GameId) -> Result<Lookup, StoreError> {
        self.load(id).await
    }

    /// Puts a new game, at revision 1, under its id; conflicts with anything that is there, a tombstone included.
    async fn create(&self, stored: Arc<Stored>) -> Result<Commit, StoreError>;

    /// Replaces `before` by `after`, which has one more record, if the version is still that of `before`.
    async fn commit(&self, before: Arc<Stored>, after: Arc<Stored>) -> Result<Commit, StoreError>;

    /// Replaces a game by a tombstone that keeps its creation, if a request made it, until `until`. Answers whether a
    /// game was there.
    async fn delete(&self, id: &GameId, until: Millis) -> Result<bool, StoreError>;

    /// A page of games, newest first (creation, then id). It reads a bounded number of rows and so may hold fewer than
    /// asked, and yet have a successor. Expired games may be among them; those that cannot be read are left out.
    async fn list(&self, query: &Query) -> Result<Listing, StoreError>;

    /// Keeps a layout at least until `until`; one that is kept longer already stays so.
    async fn put_layout(&self, layout: Layout, until: Millis) -> Result<(), StoreError>;

    /// A layout and until when it is kept, whether that is past or not.
    async fn layout(&self, id: &str) -> Result<Option<(Layout, Millis)>, StoreError>;

    /// Removes what has expired by `now`, a bounded number of entries. What cannot be read stays.
    async fn sweep(&self, now: Millis) -> Result<Swept, StoreError>;

    /// Whether the store can do its part now.
    async fn ready(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// A copy of everything that was committed before the call, and perhaps of what came meanwhile: all as of one moment.
    /// Callers of other methods wait no longer for it.
    ///
    /// Dropped, it is made to its end, and gone.
    async fn backup(&self) -> Result<Backup, BackupError>;

    /// Finishes what was asked and lets go of the store; everything asked later answers `Unavailable`.
    async fn close(&self);
}

/// How many entries one sweep removes, so that no commit waits long behind it.
const SWEEP_MAX: usize = 1_000;

fn closed() -> StoreError {
    StoreError::NotDone("it is closed".into())
}

/// Which store, as `--store` names it. Shown without any password.
#[derive(Clone)]
pub enum StoreUrl {
    /// `memory:`
    Memory,
    /// `file:PATH`
    File(PathBuf),
    /// `redis://…`, `redis-sentinel://…`, `redis-cluster://…`, or by TLS
    Redis(RedisUrl),
}

impl StoreUrl {
    /// Reads a store's URL.
    ///
    /// # Errors
    ///
    /// What is wrong with it and what would be right, for people.
    pub fn parse(url: &str) -> Result<Self, String> {
        match url.split_once(':') {
            Some(("memory", "")) => Ok(Self::Memory),
            Some(("file", "")) => Err("file: needs a path, such as file:reversi.redb".into()),
            Some(("file", path)) => Ok(Self::File(path.into())),
            Some((scheme, _)) if RedisUrl::has_scheme(scheme) => {
                let parsed = RedisUrl::parse(url).map(Self::Redis);
                parsed.map_err(|problem| format!("the Redis URL cannot be used: {problem}"))
            }
            // Of a URL no more is told back than the scheme: there may be a password in it.
            other => Err(format!(
                "{:?} is no store: use memory:, file:PATH, {}",
                other.map_or(url, |(scheme, _)| scheme).chars().take(40).collect::<String>(),
                redis::FORMS
            )),
        }
    }

    /// What kind of store it is.
    pub fn kind(&self) -> StoreKind {
        match self {
            Self::Memory => StoreKind { name: "memory", is_database: false },
            Self::File(_) => StoreKind { name: "file", is_database: false },
            Self::Redis(_) => StoreKind { name: "redis", is_database: true },
        }
    }

    /// Has Redis trust the certificates in `pem`, and no others.
    ///
    /// # Errors
    ///
    /// For people: there is none in it, or the store speaks no TLS.
    pub fn trusting(self, pem: Vec<u8>) -> Result<Self, String> {
        match self {
            Self::Redis(url) => url.trusting(pem).map(Self::Redis),
            Self::Memory | Self::File(_) => Err("is for Redis by TLS alone".into()),
        }
    }

    /// Has a change acknowledged only once it is in a second place.
    ///
    /// # Errors
    ///
    /// For people: this store has one place.
    pub fn replicated(self) -> Result<Self, String> {
        match self {
            Self::Redis(url) => Ok(Self::Redis(url.replicated())),
            Self::Memory | Self::File(_) => Err("replicated needs a store in Redis".into()),
        }
    }

    /// Opens the store. A file is made if it is not there; Redis is connected to when it is first used.
    ///
    /// # Errors
    ///
    /// Why it could not be opened, for people: another process has it, its form is newer than this program.
    pub fn open(&self, lifetimes: Lifetimes) -> Result<Arc<dyn Store>, String> {
        Ok(match self {
            Self::Memory => Arc::new(MemoryStore::default()),
            Self::File(path) => Arc::new(EmbeddedStore::open(path)?),
            Self::Redis(url) => Arc::new(RedisStore::new(url, lifetimes)?),
        })
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory:"),
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Redis(url) => fmt::Display::fmt(url, f),
        }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
