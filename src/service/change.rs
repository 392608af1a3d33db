//! Changes of a game: joining, moving, resigning, aborting, deleting.

use std::sync::Arc;

use reversi_rules::Color;

use super::{
    Service, alive,
    command::{Action, ChangeGame},
    judge::{Fresh, Verdict, judge, seat_token},
    noted, settled,
};
use crate::{
    error::{Error, Refusal},
    model::{Act, Event, Game, GameId, Millis, Role, TOMBSTONE, Token},
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
    /// [`Error::Store`], after which the outcome is unknown: for a request, not before a second of attempts.
    ///
    /// # Cancellation
    ///
    /// Dropped, the change still happens or is refused.
    pub async fn change(&self, command: ChangeGame) -> Result<Changed, Error> {
        note_game(&command.game_id);
        let service = self.clone();
        let changed = self.detach(async move {
            settled(command.request.as_ref(), || service.change_attached(&command)).await
        });
        noted(changed.await, |changed| changed.event.version)
    }

    async fn change_attached(&self, command: &ChangeGame) -> Result<Changed, Error> {
        let id = &command.game_id;
        let fresh = Fresh::new(Token::random);
        let seen = self.cache.get(id).filter(|seen| seen.game.expire_time > Millis::now());
        let mut from_cache = seen.is_some();
        self.telemetry.metrics.cache_lookup(from_cache);
        let mut stored = match seen {
            Some(seen) => seen,
            None => self.load(id).await?,
        };
        // Each round but the first two follows another's commit, and a game has a bounded number of those.
        loop {
            let verdict = judge(&stored, command, &fresh, self.lifetimes, Millis::now());
            let plan = match verdict {
                Ok(Verdict::Commit(plan)) => *plan,
                Ok(Verdict::Done { .. }) | Err(_) if from_cache => {
                    from_cache = false;
                    stored = self.load(id).await?;
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
                    self.hub.hint(id, Cause::current(plan.event.version.revision));
                    return Ok(changed(command, &fresh, plan.game, plan.event));
                }
                Ok(Commit::Conflict(there)) => {
                    from_cache = false;
                    self.cache.forget(id);
                    stored = alive(there)?;
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
    pub async fn delete(&self, id: GameId, token: Option<Token>) -> Result<(), Error> {
        note_game(&id);
        let service = self.clone();
        let deleted = self.detach(async move {
            let stored = service.load(&id).await?;
            let version = stored.game.version();
            let refuse = |refusal| Error::Refused { refusal, version };
            let token = token.ok_or_else(|| refuse(Refusal::TokenMissing))?;
            if stored.game.role_of(&token) != Some(Role::Owner) {
                return Err(refuse(Refusal::TokenInvalid));
            }
            let delete = service.store.delete(&id, Millis::now().after(TOMBSTONE));
            if !service.attempt(labels::Change::Delete, delete, |there| *there).await? {
                return Err(Error::GameNotFound);
            }
            service.cache.forget(&id);
            service.hub.hint(&id, None);
            Ok(version)
        });
        noted(deleted.await, |version| *version).map(drop)
    }
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
