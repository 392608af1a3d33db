//! What the service does, without transport: create, change, read, list, draw layouts.
//!
//! Whatever changes something runs detached from its caller: a caller who hangs up, or whose deadline passes, does not
//! cut a commit in half, and a drain waits for it. While the store is away, what is known not to be done is attempted anew
//! until shortly before the caller's deadline.

mod cache;
mod change;
mod command;
mod create;
mod judge;
mod layouts;
mod read;

use std::{future::Future, sync::Arc};

use reversi_rules::Version;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use self::cache::Cache;
pub use self::{
    change::Changed,
    command::{Action, ChangeGame, CreateGame},
    create::Created,
    layouts::DrawLayout,
    read::Events,
};
use crate::{
    error::{Error, StoreError},
    events::Hub,
    model::{Deadline, GameId, Lifetimes, Millis, RequestId, Stored},
    store::{Lookup, Patience, Store},
    telemetry::{
        self, Telemetry,
        labels::{Change, Outcome},
        note_revision,
    },
};

/// The use cases, over a store and the watchers' hub. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    store: Arc<dyn Store>,
    hub: Hub,
    lifetimes: Lifetimes,
    cache: Cache,
    telemetry: Telemetry,
    /// What runs detached; waited for at the end of the process.
    detached: TaskTracker,
}

impl Service {
    /// Puts the use cases over `store`; commits are hinted to `hub`, and run on `detached`.
    pub fn new(
        store: Arc<dyn Store>,
        hub: Hub,
        lifetimes: Lifetimes,
        detached: TaskTracker,
        telemetry: Telemetry,
    ) -> Self {
        Self { store, hub, lifetimes, cache: Cache::new(), telemetry, detached }
    }

    /// The hub that watches go to.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Runs `work` to its end, whether or not the caller stays.
    async fn detach<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let ended = self.detached.spawn(telemetry::carried(work)).await;
        ended.map_err(|error| Error::Internal(format!("a detached task failed: {error}")))?
    }

    /// The game under `id`, unless it is deleted or expired; each change that it shows is as durable as one that was
    /// answered.
    async fn load_lasting(&self, id: &GameId) -> Result<Arc<Stored>, Error> {
        alive(self.store.load_lasting(id).await?)
    }

    /// The game under `id`, unless it is deleted or expired.
    async fn load(&self, id: &GameId) -> Result<Arc<Stored>, Error> {
        alive(self.store.load(id).await?)
    }

    /// Measures an attempt to commit; `done` tells whether it was one's own change that came first.
    async fn attempt<T>(
        &self,
        change: Change,
        commit: impl Future<Output = Result<T, StoreError>>,
        done: impl FnOnce(&T) -> bool,
    ) -> Result<T, StoreError> {
        let begun = Instant::now();
        let result = commit.await;
        let outcome = match &result {
            Ok(answer) if done(answer) => Outcome::Done,
            Ok(_) => Outcome::Conflict,
            Err(_) => Outcome::Failed,
        };
        self.telemetry.metrics.commit(change, outcome, begun.elapsed());
        result
    }
}

/// The result, its revision noted on the call's span: the one made or seen, or the one that a refusal was judged at.
fn noted<T>(result: Result<T, Error>, version: impl FnOnce(&T) -> Version) -> Result<T, Error> {
    match &result {
        Ok(answer) => note_revision(version(answer).revision),
        Err(Error::Refused { version, .. }) => note_revision(version.revision),
        Err(_) => {}
    }
    result
}

/// The game that was found, unless it is deleted or expired.
fn alive(lookup: Lookup) -> Result<Arc<Stored>, Error> {
    match lookup {
        Lookup::Found(stored) if stored.game.expire_time > Millis::now() => Ok(stored),
        Lookup::Found(_) | Lookup::Deleted(_) | Lookup::Missing => Err(Error::GameNotFound),
    }
}

/// Attempts to read, and anew while the store is away.
async fn read<T, F>(deadline: Option<Deadline>, attempt: impl Fn() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let away = |error: &Error| matches!(error, Error::Store(error) if error.is_away());
    Patience::until(deadline).attempt(away, attempt).await
}

/// Attempts a change, and anew while the store is away. After an answer that was lost, what stands under a request tells
/// whether an earlier attempt has happened. Without a request nothing tells, and that attempt is the last.
async fn settled<T, F>(
    deadline: Option<Deadline>,
    request: Option<&RequestId>,
    attempt: impl Fn() -> F,
) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let may_pass = |error: &Error| match error {
        Error::Store(StoreError::NotDone(_)) => true,
        Error::Store(StoreError::Unavailable(_)) => request.is_some(),
        _ => false,
    };
    Patience::until(deadline).attempt(may_pass, attempt).await
}
