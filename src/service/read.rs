//! Reading games: one, many, and the record of one.

use super::{Service, noted, read};
use crate::{
    error::Error,
    model::{Deadline, Event, Fold, Game, GameId, Millis},
    store::{Listing, Query},
    telemetry::note_game,
};

/// A page of a game's record.
#[derive(Debug)]
pub struct Events {
    /// In order, without gaps.
    pub events: Vec<Event>,
    /// Whether later ones were committed already.
    pub more: bool,
}

impl Service {
    /// A game as last committed.
    ///
    /// # Errors
    ///
    /// [`Error::GameNotFound`]; [`Error::Store`].
    pub async fn get(&self, id: &GameId, deadline: Option<Deadline>) -> Result<Game, Error> {
        note_game(id);
        let game = read(deadline, || self.load(id)).await.map(|stored| stored.game.clone());
        noted(game, Game::version)
    }

    /// A page of games, newest first.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub async fn list(&self, query: &Query, deadline: Option<Deadline>) -> Result<Listing, Error> {
        let list = || async { Ok(self.store.list(query).await?) };
        let mut listing = read(deadline, list).await?;
        let now = Millis::now();
        listing.games.retain(|game| game.expire_time > now);
        Ok(listing)
    }

    /// The events after revision `after`, at most `limit` of them. Costs a fold of the whole game.
    ///
    /// # Errors
    ///
    /// [`Error::GameNotFound`]; [`Error::Store`].
    pub async fn events(
        &self,
        id: &GameId,
        after: u64,
        limit: usize,
        deadline: Option<Deadline>,
    ) -> Result<Events, Error> {
        note_game(id);
        let stored = read(deadline, || self.load(id)).await;
        let stored = noted(stored, |stored| stored.game.version())?;
        let mut fold = Fold::new(self.lifetimes);
        let mut events = Vec::new();
        for record in &stored.history {
            let event = fold.step(record)?;
            if event.version.revision > after {
                if events.len() == limit {
                    return Ok(Events { events, more: true });
                }
                events.push(event);
            }
        }
        Ok(Events { events, more: false })
    }
}
