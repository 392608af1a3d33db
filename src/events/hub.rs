//! The topics of the games that are watched here, and nobody else's.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::{Notify, watch};

use super::topic::{Tip, Topic};
use crate::{
    error::Error,
    model::{GameId, Lifetimes},
    sabotage::{Sabotage, sabotaged},
    store::Store,
    telemetry::{Cause, Telemetry},
};

/// One topic for each watched game. Cheap to clone.
#[derive(Clone)]
pub struct Hub {
    shared: Arc<Shared>,
}

struct Shared {
    store: Arc<dyn Store>,
    lifetimes: Lifetimes,
    poll: Duration,
    telemetry: Telemetry,
    /// Held for a look-up, never across an await. A topic is made and removed under it, so that no watcher joins a
    /// topic that is going.
    topics: Mutex<HashMap<GameId, Arc<Topic>>>,
    /// Wakes whoever follows which games are watched.
    changed: Notify,
}

impl Hub {
    /// A hub over `store`; each topic re-reads it after `poll` at the latest.
    pub fn new(
        store: Arc<dyn Store>,
        lifetimes: Lifetimes,
        poll: Duration,
        telemetry: Telemetry,
    ) -> Self {
        let (topics, changed) = (Mutex::default(), Notify::new());
        Self { shared: Arc::new(Shared { store, lifetimes, poll, telemetry, topics, changed }) }
    }

    /// Says that a game may have changed, and what caused it if that is traced. A hint can be lost without harm: then
    /// nobody knows the cause. Never waits.
    pub fn hint(&self, id: &GameId, cause: Option<Cause>) {
        if sabotaged(Sabotage::Hints) {
            return;
        }
        if let Some(topic) = self.shared.topics().get(id) {
            topic.hint(cause);
        }
    }

    /// The games that are watched now.
    pub fn watched(&self) -> HashSet<GameId> {
        self.shared.topics().keys().cloned().collect()
    }

    /// Waits until other games are watched than at the last call; for one caller.
    ///
    /// # Cancellation
    ///
    /// Safe.
    pub async fn changed(&self) {
        self.shared.changed.notified().await;
    }

    /// Begins to watch a game, as the store has it at this call or later. The topic lives as long as a receiver does.
    ///
    /// # Errors
    ///
    /// [`Error::GameNotFound`]; [`Error::Store`].
    ///
    /// # Cancellation
    ///
    /// Safe.
    pub async fn attach(&self, id: &GameId) -> Result<watch::Receiver<Tip>, Error> {
        let (topic, tip) = {
            let mut topics = self.shared.topics();
            let topic = topics.entry(id.clone()).or_insert_with(|| {
                let topic = Arc::new(Topic::new(id.clone(), &self.shared.telemetry));
                tokio::spawn(drive(self.shared.clone(), topic.clone()));
                self.shared.changed.notify_one();
                topic
            });
            (topic.clone(), topic.subscribe())
        };
        topic.refresh().await?;
        Ok(tip)
    }
}

impl Shared {
    /// No holder of the lock panics midway.
    fn topics(&self) -> MutexGuard<'_, HashMap<GameId, Arc<Topic>>> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove_unwatched(&self, topic: &Topic) -> bool {
        let mut topics = self.topics();
        let unwatched = topic.watchers() == 0;
        if unwatched {
            topics.remove(topic.id());
            self.changed.notify_one();
        }
        unwatched
    }
}

/// Follows a game for as long as somebody watches it.
async fn drive(shared: Arc<Shared>, topic: Arc<Topic>) {
    loop {
        topic.read(&shared.store, shared.lifetimes).await;
        tokio::select! {
            () = topic.due(shared.poll) => {}
            () = topic.unwatched() => {
                if shared.remove_unwatched(&topic) {
                    return;
                }
            }
        }
    }
}
