//! The store in this process's memory: for tests and throw-away play, and the plainest reading of the contract.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use reversi_rules::Layout;

use super::{
    Backup, BackupError, Commit, Listing, Lookup, Query, SWEEP_MAX, Store, Swept, closed,
    listing::changed_rows,
};
use crate::{
    error::StoreError,
    model::{Game, GameId, Millis, Record, Stored},
};

/// Games in memory, gone with the process.
#[derive(Default)]
pub struct MemoryStore {
    /// Held for the time of one method, never across an await.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    games: HashMap<GameId, Slot>,
    rows: BTreeSet<Vec<u8>>,
    layouts: HashMap<String, (Layout, Millis)>,
    /// When each entry goes: one row an entry.
    expiry: BTreeSet<(Millis, Expiring)>,
    closed: bool,
}

enum Slot {
    Live(Arc<Stored>),
    Deleted { creation: Option<Box<Record>>, until: Millis },
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Expiring {
    Game(GameId),
    Layout(String),
}

impl Slot {
    fn until(&self) -> Millis {
        match self {
            Self::Live(stored) => stored.game.kept_until(),
            Self::Deleted { until, .. } => *until,
        }
    }

    fn game(&self) -> Option<&Game> {
        match self {
            Self::Live(stored) => Some(&stored.game),
            Self::Deleted { .. } => None,
        }
    }

    fn lookup(&self) -> Lookup {
        match self {
            Self::Live(stored) => Lookup::Found(stored.clone()),
            Self::Deleted { creation, .. } => Lookup::Deleted(creation.clone()),
        }
    }
}

impl State {
    /// Replaces what is under `id`, its index rows and its expiry with it.
    fn replace(&mut self, id: &GameId, slot: Option<Slot>) {
        let old = self.games.remove(id);
        let (gone, come) =
            changed_rows(old.as_ref().and_then(Slot::game), slot.as_ref().and_then(Slot::game));
        for row in gone {
            self.rows.remove(&row);
        }
        self.rows.extend(come);
        if let Some(old) = old {
            self.expiry.remove(&(old.until(), Expiring::Game(id.clone())));
        }
        if let Some(slot) = slot {
            self.expiry.insert((slot.until(), Expiring::Game(id.clone())));
            self.games.insert(id.clone(), slot);
        }
    }
}

impl MemoryStore {
    /// No method panics between two writes, so a poisoned state is still whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> Result<MutexGuard<'_, State>, StoreError> {
        let state = self.lock();
        if state.closed { Err(closed()) } else { Ok(state) }
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn load(&self, id: &GameId) -> Result<Lookup, StoreError> {
        Ok(self.state()?.games.get(id).map_or(Lookup::Missing, Slot::lookup))
    }

    async fn create(&self, stored: Arc<Stored>) -> Result<Commit, StoreError> {
        let mut state = self.state()?;
        let id = stored.game.id.clone();
        if let Some(slot) = state.games.get(&id) {
            return Ok(Commit::Conflict(slot.lookup()));
        }
        state.replace(&id, Some(Slot::Live(stored)));
        Ok(Commit::Done)
    }

    async fn commit(&self, before: Arc<Stored>, after: Arc<Stored>) -> Result<Commit, StoreError> {
        let mut state = self.state()?;
        let id = after.game.id.clone();
        match state.games.get(&id) {
            Some(Slot::Live(there)) if there.game.version() == before.game.version() => {
                state.replace(&id, Some(Slot::Live(after)));
                Ok(Commit::Done)
            }
            Some(slot) => Ok(Commit::Conflict(slot.lookup())),
            None => Ok(Commit::Conflict(Lookup::Missing)),
        }
    }

    async fn delete(&self, id: &GameId, until: Millis) -> Result<bool, StoreError> {
        let mut state = self.state()?;
        let Some(Slot::Live(stored)) = state.games.get(id) else { return Ok(false) };
        let creation = stored.history.first().filter(|record| record.request.is_some());
        let slot = Slot::Deleted { creation: creation.cloned().map(Box::new), until };
        state.replace(id, Some(slot));
        Ok(true)
    }

    async fn list(&self, query: &Query) -> Result<Listing, StoreError> {
        let state = self.state()?;
        query.page(state.rows.range(query.rows()).map(|row| {
            let place = query.place_in(row)?;
            let stored = match state.games.get(&place.id) {
                Some(Slot::Live(stored)) => Some(stored.clone()),
                Some(Slot::Deleted { .. }) | None => None,
            };
            Ok((place, stored))
        }))
    }

    async fn put_layout(&self, layout: Layout, until: Millis) -> Result<(), StoreError> {
        let mut state = self.state()?;
        let id = layout.id();
        let old = state.layouts.get(&id).map(|(_, until)| *until);
        if old.is_some_and(|old| old >= until) {
            return Ok(());
        }
        if let Some(old) = old {
            state.expiry.remove(&(old, Expiring::Layout(id.clone())));
        }
        state.expiry.insert((until, Expiring::Layout(id.clone())));
        state.layouts.insert(id, (layout, until));
        Ok(())
    }

    async fn layout(&self, id: &str) -> Result<Option<(Layout, Millis)>, StoreError> {
        Ok(self.state()?.layouts.get(id).cloned())
    }

    async fn sweep(&self, now: Millis) -> Result<Swept, StoreError> {
        let mut state = self.state()?;
        let mut swept = Swept::default();
        while let Some((until, entry)) = state.expiry.first().cloned() {
            if until > now {
                return Ok(swept);
            }
            if swept.removed == SWEEP_MAX {
                swept.more = true;
                return Ok(swept);
            }
            match &entry {
                Expiring::Game(id) => state.replace(id, None),
                Expiring::Layout(id) => drop(state.layouts.remove(id)),
            }
            state.expiry.remove(&(until, entry));
            swept.removed += 1;
        }
        Ok(swept)
    }

    async fn backup(&self) -> Result<Backup, BackupError> {
        Err(BackupError::Elsewhere(
            "memory: keeps nothing, so there is nothing to back up: use a file or Redis",
        ))
    }

    async fn close(&self) {
        *self.lock() = State { closed: true, ..State::default() };
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, time::Duration};

    use reversi_rules::{Board, Color, Rules};

    use super::*;
    use crate::model::{Act, Creation, Game, Lifetimes, Player, Record, TokenHash};

    const LIFETIMES: Lifetimes =
        Lifetimes { idle: Duration::from_secs(1), finished: Duration::from_secs(2) };

    /// A game with open seats and a label, and what it is after a claim and the end.
    fn changes() -> [Arc<Stored>; 3] {
        let creation = Creation {
            game_id: GameId::new("game"),
            rules: Rules::default(),
            seats: vec![None, None],
            labels: BTreeMap::from([("event".into(), "1".into())]),
            owner: TokenHash([0; 16]),
            salt: [0; 16],
            command: None,
        };
        let player = Player { player_id: "ann".into(), display_name: String::new() };
        let claim = Act::SeatClaimed { color: Color::White, player, token: TokenHash([1; 16]) };
        let record = |time, act| Record { time: Millis(time), request: None, act };
        let created = record(1, Act::Created(Box::new(creation)));
        let mut game = Game::created(&created, LIFETIMES).expect("a creation");
        let mut stored = Stored { game: game.clone(), history: vec![created] };
        let mut after = |record: Record| {
            game.apply(&record, LIFETIMES).expect("the rules allow it");
            stored.game = game.clone();
            stored.history.push(record);
            Arc::new(stored.clone())
        };
        let [claimed, aborted] = [after(record(2, claim)), after(record(3, Act::Aborted))];
        let first = claimed.history[0].clone();
        let game = Game::created(&first, LIFETIMES).expect("a creation");
        [Arc::new(Stored { game, history: vec![first] }), claimed, aborted]
    }

    /// Listings check every row, so only a look inside shows a row that was left behind.
    #[tokio::test]
    async fn rows_follow_the_games_and_go_with_them() {
        let store = MemoryStore::default();
        let id = GameId::new("game");
        // All, status and label; then the player too.
        for (stored, rows) in changes().into_iter().zip([3, 4, 4]) {
            let mut state = store.lock();
            state.replace(&id, Some(Slot::Live(stored)));
            assert_eq!((state.rows.len(), state.expiry.len(), state.games.len()), (rows, 1, 1));
        }
        assert!(store.delete(&id, Millis(10)).await.expect("it is open"));
        let layout = Layout::draw(Board::B8x8, 0, 1, 0).expect("a draw");
        for until in [5, 7] {
            store.put_layout(layout, Millis(until)).await.expect("it is open");
        }
        let counts = |state: &State| (state.rows.len(), state.expiry.len());
        assert_eq!(counts(&store.lock()), (0, 2));
        assert_eq!(store.sweep(Millis(10)).await.expect("it is open").removed, 2);
        let state = store.lock();
        assert!(state.games.is_empty() && state.layouts.is_empty() && state.expiry.is_empty());
    }
}
