//! The store in one file of this machine, for one process: redb, a copy-on-write B-tree.
//!
//! Tables: `games` (id to entry), `rows` (the index rows of `listing`), `layouts` (id to layout), `expiry` (time, kind and id, so
//! that the next to go comes first), `meta` (the form of the file).
//!
//! All writes go through one thread, which takes what has queued up while it wrote and commits it as one transaction with
//! one fsync: a commit costs its caller one fsync, and many callers share it. Nothing is answered before that fsync, so
//! what was acknowledged survives `kill -9` and a power cut; after a crash redb goes back to the last commit. Reads run
//! beside it on the blocking pool and see everything acknowledged before they began.

mod tables;
mod writer;

use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use redb::{Database, DatabaseError, ReadableDatabase as _};
use reversi_rules::Layout;
use tokio::task::spawn_blocking;

use self::{
    tables::{Tables, View},
    writer::Writer,
};
use super::{Commit, Listing, Lookup, Query, Store, Swept, closed};
use crate::{
    error::StoreError,
    model::{GameId, Millis, Stored},
};

/// How much of the file is kept in memory.
const CACHE_BYTES: usize = 64 << 20;

/// Games in a file.
pub struct EmbeddedStore {
    /// Taken by `close`, which lets go of the file.
    database: Mutex<Option<Arc<Database>>>,
    writer: Writer,
}

impl EmbeddedStore {
    /// Opens the file at `path`, or makes it. Takes a while after a crash, and says so in the log.
    ///
    /// # Errors
    ///
    /// For people: another process has the file, it is no store, or its form is newer than this program.
    pub fn open(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let database = Database::builder()
            .set_cache_size(CACHE_BYTES)
            .set_repair_callback(|repair| {
                let percent = (repair.progress() * 100.0).round();
                tracing::warn!(percent, "the store was not closed properly: checking it");
            })
            .create(path)
            .map_err(|error| match error {
                DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => {
                    format!(
                        "{shown} is in use by another process: stop that one, or give this one another --store"
                    )
                }
                error => format!("{shown} cannot be opened as a store: {error}"),
            })?;
        tables::prepare(&database).map_err(|error| format!("{shown} cannot be used: {error}"))?;
        let database = Arc::new(database);
        let writer = Writer::start(database.clone())
            .map_err(|error| format!("the thread that writes {shown} did not start: {error}"))?;
        Ok(Self { database: Mutex::new(Some(database)), writer })
    }

    fn database(&self) -> MutexGuard<'_, Option<Arc<Database>>> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&View) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let database = self.database().clone().ok_or_else(closed)?;
        let work = move || {
            let transaction = database.begin_read().map_err(tables::unavailable)?;
            look(&View::open(&transaction)?)
        };
        spawn_blocking(work).await.map_err(tables::unavailable)?
    }
}

#[async_trait]
impl Store for EmbeddedStore {
    async fn load(&self, id: &GameId) -> Result<Lookup, StoreError> {
        let id = id.clone();
        self.read(move |view| view.lookup(&id)).await
    }

    async fn create(&self, stored: Arc<Stored>) -> Result<Commit, StoreError> {
        self.writer.write(move |tables| tables.create(&stored)).await
    }

    async fn commit(&self, before: Arc<Stored>, after: Arc<Stored>) -> Result<Commit, StoreError> {
        self.writer.write(move |tables| tables.commit(&before.game, &after)).await
    }

    async fn delete(&self, id: &GameId, until: Millis) -> Result<bool, StoreError> {
        let id = id.clone();
        self.writer.write(move |tables| tables.delete(&id, until)).await
    }

    async fn list(&self, query: &Query) -> Result<Listing, StoreError> {
        let query = query.clone();
        self.read(move |view| view.list(&query)).await
    }

    async fn put_layout(&self, layout: Layout, until: Millis) -> Result<(), StoreError> {
        self.writer.write(move |tables| tables.put_layout(&layout, until)).await
    }

    async fn layout(&self, id: &str) -> Result<Option<(Layout, Millis)>, StoreError> {
        let id = id.to_owned();
        self.read(move |view| view.layout(&id)).await
    }

    async fn sweep(&self, now: Millis) -> Result<Swept, StoreError> {
        self.writer.write(move |tables: &mut Tables| tables.sweep(now)).await
    }

    async fn close(&self) {
        self.writer.close().await;
        drop(self.database().take());
    }
}

#[cfg(test)]
mod tests;
