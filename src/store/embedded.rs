//! The store in one file of this machine, for one process: redb, a copy-on-write B-tree.
//!
//! Tables: `games` (id to entry), `rows` (the index rows of `listing`), `layouts` (id to layout), `expiry` (time, kind and id, so
//! that the next to go comes first), `meta` (the form of the file).
//!
//! All writes go through one thread, which takes what has queued up while it wrote and commits it as one transaction with
//! one fsync: a commit costs its caller one fsync, and many callers share it. Nothing is answered before that fsync, so
//! what was acknowledged survives `kill -9` and a power cut; after a crash redb goes back to the last commit. Reads run
//! beside it on the blocking pool and see everything acknowledged before they began.

mod backup;
mod file;
mod tables;
mod writer;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use redb::ReadableDatabase as _;
use reversi_rules::Layout;
use tokio::{sync::Semaphore, task::spawn_blocking};

use self::{
    file::DataFile,
    tables::{Tables, View},
    writer::Writer,
};
use super::{Backup, BackupError, Commit, Listing, Lookup, Query, Store, Swept};
use crate::{
    error::StoreError,
    model::{GameId, Millis, Stored},
};

/// How many backups there may be, being made or read. Each takes as much of the disk as the store.
const BACKUPS_MAX: usize = 1;

/// Games in a file.
pub struct EmbeddedStore {
    path: PathBuf,
    file: Arc<DataFile>,
    writer: Writer,
    /// One backup at a time.
    backups: Arc<Semaphore>,
}

impl EmbeddedStore {
    /// Opens the file at `path`, or makes it. Takes a while after a crash, and says so in the log.
    ///
    /// # Errors
    ///
    /// For people: another process has the file, it is no store, or its form is newer than this program.
    pub fn open(path: &Path) -> Result<Self, String> {
        let file = Arc::new(DataFile::open(path)?);
        let writer = Writer::start(file.clone()).map_err(|error| {
            format!("the thread that writes {} did not start: {error}", path.display())
        })?;
        let backups = Arc::new(Semaphore::new(BACKUPS_MAX));
        Ok(Self { path: path.to_owned(), file, writer, backups })
    }

    async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&View) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let file = self.file.clone();
        let work = move || {
            file.run(|database| {
                let transaction = database.begin_read().map_err(tables::unavailable)?;
                look(&View::open(&transaction)?)
            })
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

    /// After a failed write, tries one that writes nothing: without it nobody would notice that all is well again.
    async fn ready(&self) -> Result<(), StoreError> {
        if self.file.failed() { self.writer.write(|_| Ok(())).await } else { Ok(()) }
    }

    async fn backup(&self) -> Result<Backup, BackupError> {
        let place = self.backups.clone().try_acquire_owned().map_err(|_| BackupError::Running)?;
        let (file, path) = (self.file.clone(), self.path.clone());
        let copied = spawn_blocking(move || backup::copy(&file, &path).map(|copy| (copy, place)));
        let ((file, bytes), place) =
            copied.await.map_err(|error| BackupError::Failed(error.to_string()))??;
        Ok(Backup { file, bytes, _place: place })
    }

    async fn close(&self) {
        self.writer.close().await;
        self.file.close();
    }
}

#[cfg(test)]
mod tests;
