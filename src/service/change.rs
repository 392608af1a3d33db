//! Changes of a game: joining, moving, resigning, aborting, deleting.

use std::sync::Arc;

use reversi_rules::{Color, Version};

use super::{
    Service, alive,
    command::{Action, ChangeGame},
    judge::{Fresh, Verdict, judge, seat_token},
    noted, settled,
};
use crate::{
    error::{Error, Refusal},
    model::{Act, Deadline, Event, Game, GameId, Millis, Role, TOMBSTONE, Token},
    store::Commit,
    telemetry::{Cause, labels, note_game},
};

/// A change as it was committed, now or when its request was first made.
#[derive(Debug)]
pub struct Changed {
    /// What was done, and what resulted.
    pub event: Event,
    /// The game right after it.
    pub game: Game,
    /// For a claim: the seat, and the right to play it.
    pub seat: Option<(Color, Token)>,
}

impl Service {
    /// Changes a game, or answers what this request changed before.
    ///
    /// # Errors
    ///
    /// [`Error::GameNotFound`]; [`Error::Refused`], judged on the version that the store had then;
    /// [`Error::Store`], after which the outcome is unknown: for a request, and while nothing was done, not before
    /// `deadline`, or a second without one.
    ///
    /// # Cancellation
    ///
    /// Dropped, the change still happens or is refused.
    pub async fn change(
        &self,
        command: ChangeGame,
        deadline: Option<Deadline>,
    ) -> Result<Changed, Error> {
        note_game(&command.game_id);
        let service = self.clone();
        let changed = self.detach(async move {
            let request = command.request.as_ref();
            settled(deadline, request, || service.change_attached(&command)).await
        });
        noted(changed.await, |changed| changed.event.version)
    }

    async fn change_attached(&self, command: &ChangeGame) -> Result<Changed, Error> {
        let id = &command.game_id;
        let fresh = Fresh::new(Token::random);
        let seen = self.cache.get(id).filter(|seen| seen.game.expire_time > Millis::now());
        self.telemetry.metrics.cache_lookup(seen.is_some());
        let (mut stored, mut from) = match seen {
            Some(seen) => (seen, From::Cache),
            None => (self.load(id).await?, From::Store),
        };
        // Each round but the first two follows another's commit, and a game has a bounded number of those.
        loop {
            let verdict = judge(&stored, command, &fresh, self.lifetimes, Millis::now());
            let plan = match verdict {
                Ok(Verdict::Commit(plan)) => *plan,
                // What is said of a request is said of what lasts. The first answer was perhaps never given, so that the
                // change was not known to last; and a primary that is about to go, and that an earlier attempt did not
                // go to, would refuse what is done.
                Ok(Verdict::Done { .. }) | Err(_)
                    if from != From::Lasting && command.request.is_some() =>
                {
                    (stored, from) = (self.load_lasting(id).await?, From::Lasting);
                    continue;
                }
                Err(_) if from == From::Cache => {
                    (stored, from) = (self.load(id).await?, From::Store);
                    continue;
                }
                Ok(Verdict::Done { revision }) => {
                    let (game, event) = stored.at(revision, self.lifetimes)?;
                    return Ok(changed(command, &fresh, game, event));
                }
                Err(refused) => return Err(refused),
            };
            let after = Arc::new(stored.followed_by(plan.game.clone(), plan.record));
            let status = stored.game.table.status();
            let commit = self.store.commit(stored, after.clone());
            let done = |commit: &Commit| matches!(commit, Commit::Done);
            match self.attempt(command.action.label(), commit, done).await {
                Ok(Commit::Done) => {
                    if status != plan.game.table.status() {
                        self.telemetry.metrics.game(&plan.game);
                    }
                    self.cache.put(after);
                    self.hub.hint(id, Cause::current(plan.event.version));
                    return Ok(changed(command, &fresh, plan.game, plan.event));
                }
                Ok(Commit::Conflict(there)) => {
                    self.cache.forget(id);
                    (stored, from) = (alive(there)?, From::Store);
                }
                Err(error) => {
                    self.cache.forget(id);
                    return Err(error.into());
                }
            }
        }
    }

    /// Deletes a game for its owner; its watchers are told.
    ///
    /// # Errors
    ///
    /// [`Error::GameNotFound`]; [`Error::Refused`] without the owner's token; [`Error::Store`].
    ///
    /// # Cancellation
    ///
    /// Dropped, it still happens or is refused.
    pub async fn delete(
        &self,
        id: GameId,
        token: Option<Token>,
        deadline: Option<Deadline>,
    ) -> Result<(), Error> {
        note_game(&id);
        let service = self.clone();
        let deleted = self.detach(async move {
            let delete = || service.delete_attached(&id, token.as_ref());
            settled(deadline, None, delete).await
        });
        noted(deleted.await, |version| *version).map(drop)
    }

    /// Answers the version that was deleted.
    async fn delete_attached(&self, id: &GameId, token: Option<&Token>) -> Result<Version, Error> {
        let stored = self.load(id).await?;
        let version = stored.game.version();
        let refuse = |refusal| Error::Refused { refusal, version };
        let token = token.ok_or_else(|| refuse(Refusal::TokenMissing))?;
        if stored.game.role_of(token) != Some(Role::Owner) {
            return Err(refuse(Refusal::TokenInvalid));
        }
        let delete = self.store.delete(id, Millis::now().after(TOMBSTONE));
        if !self.attempt(labels::Change::Delete, delete, |there| *there).await? {
            return Err(Error::GameNotFound);
        }
        self.cache.forget(id);
        self.hub.hint(id, None);
        Ok(version)
    }
}

/// Where a game that is judged was seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    /// Here, a while ago.
    Cache,
    /// In the store.
    Store,
    /// In the store, and all of it lasts as what was answered does.
    Lasting,
}

fn changed(command: &ChangeGame, fresh: &Fresh, game: Game, event: Event) -> Changed {
    let seat = match (&command.action, &event.act) {
        (Action::Join { .. }, Act::SeatClaimed { color, .. }) => {
            Some((*color, seat_token(&game, command, *color, fresh)))
        }
        _ => None,
    };
    Changed { event, game, seat }
}
