//! Games as this process last saw them, for judging changes without reading the store first.
//!
//! Only a verdict to commit is taken from here: the store compares it with what it has. A refusal, or an answer to a
//! repeated request, is judged on the store.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use lru::LruCache;

use crate::model::{GameId, Stored};

/// How many games are kept; some 10 KiB each at the end of a game. The one used longest ago goes first.
const GAMES_MAX: NonZeroUsize = NonZeroUsize::new(4_096).expect("it is not 0");

/// Games that were changed here lately. Cheap to clone.
#[derive(Clone)]
pub struct Cache {
    /// Held for a look-up, never across an await.
    games: Arc<Mutex<LruCache<GameId, Arc<Stored>>>>,
}

impl Cache {
    /// Knows no game.
    pub fn new() -> Self {
        Self { games: Arc::new(Mutex::new(LruCache::new(GAMES_MAX))) }
    }

    /// The game as it was seen last.
    pub fn get(&self, id: &GameId) -> Option<Arc<Stored>> {
        self.games().get(id).cloned()
    }

    /// Keeps the game as it is seen now.
    pub fn put(&self, stored: Arc<Stored>) {
        self.games().put(stored.game.id.clone(), stored);
    }

    /// Forgets the game.
    pub fn forget(&self, id: &GameId) {
        self.games().pop(id);
    }

    fn games(&self) -> MutexGuard<'_, LruCache<GameId, Arc<Stored>>> {
        self.games.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
