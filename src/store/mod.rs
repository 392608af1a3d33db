//! Where games live: one contract, one implementation a store.
//!
//! A game is one entry: its records in order, and the state that they fold to, replaced together. Every change of it
//! is compare-and-append on its whole version, revision **and** digest, so that a branch that reached the same revision
//! by another way is told apart. Stores have no clock and judge no moves; `tests/store_contract` holds them all to
//! this page.

mod codec;
mod embedded;
mod listing;
mod memory;

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use reversi_rules::Layout;

pub use self::{
    embedded::EmbeddedStore,
    listing::{Cursor, Listing, Query},
    memory::MemoryStore,
};
use crate::{
    error::StoreError,
    model::{Game, GameId, Millis, Record, Stored},
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
/// outcome unknown; the others changed nothing.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// What is under `id` now: everything committed before the call.
    async fn load(&self, id: &GameId) -> Result<Lookup, StoreError>;

    /// Puts a new game, at revision 1, under its id; conflicts with anything that is there, a tombstone included.
    async fn create(&self, game: Game, record: Record) -> Result<Commit, StoreError>;

    /// Appends `record` to `before`, with `after` as the fold, if the version is still that of `before`.
    async fn commit(
        &self,
        before: Arc<Stored>,
        after: Game,
        record: Record,
    ) -> Result<Commit, StoreError>;

    /// Replaces a game by a tombstone that keeps its creation, if a request made it, until `until`. Answers whether a
    /// game was there.
    async fn delete(&self, id: &GameId, until: Millis) -> Result<bool, StoreError>;

    /// A page of games, newest first (creation, then id). It reads a bounded number of rows and so may hold fewer than
    /// asked, and yet have a successor. Expired games may be among them.
    async fn list(&self, query: &Query) -> Result<Listing, StoreError>;

    /// Keeps a layout at least until `until`; one that is kept longer already stays so.
    async fn put_layout(&self, layout: Layout, until: Millis) -> Result<(), StoreError>;

    /// A layout and until when it is kept, whether that is past or not.
    async fn layout(&self, id: &str) -> Result<Option<(Layout, Millis)>, StoreError>;

    /// Removes what has expired by `now`, a bounded number of entries.
    async fn sweep(&self, now: Millis) -> Result<Swept, StoreError>;

    /// Finishes what was asked and lets go of the store; everything asked later answers `Unavailable`.
    async fn close(&self);
}

/// How many entries one sweep removes, so that no commit waits long behind it.
const SWEEP_MAX: usize = 1_000;

fn closed() -> StoreError {
    StoreError::Unavailable("it is closed".into())
}

/// Which store, as `--store` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreUrl {
    /// `memory:`
    Memory,
    /// `file:PATH`
    File(PathBuf),
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
            _ => Err(format!(
                "{} is no store: use memory: or file:PATH",
                url.chars().take(100).collect::<String>().escape_debug()
            )),
        }
    }

    /// Opens the store; a file is made if it is not there.
    ///
    /// # Errors
    ///
    /// Why it could not be opened, for people: another process has it, its form is newer than this program.
    pub fn open(&self) -> Result<Arc<dyn Store>, String> {
        Ok(match self {
            Self::Memory => Arc::new(MemoryStore::default()),
            Self::File(path) => Arc::new(EmbeddedStore::open(path)?),
        })
    }
}

impl std::fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Memory => f.write_str("memory:"),
            Self::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}
