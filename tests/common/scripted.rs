//! A store that answers its readers what a test says, and when.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use reversi_rules::Layout;
use reversid::{
    error::StoreError,
    model::{GameId, Millis, Stored},
    store::{Backup, BackupError, Commit, Listing, Lookup, Query, Store, Swept},
};
use tokio::sync::watch;

/// A store that answers what the test says.
pub struct Scripted {
    answer: Mutex<Result<Lookup, StoreError>>,
    /// How many readings began.
    pub begun: watch::Sender<usize>,
    /// Readings wait while this is false.
    pub open: watch::Sender<bool>,
}

impl Scripted {
    /// A store that answers this.
    pub fn new(answer: Result<Lookup, StoreError>) -> Self {
        let (begun, open) = (watch::Sender::new(0), watch::Sender::new(true));
        Self { answer: Mutex::new(answer), begun, open }
    }

    /// From now on it answers this.
    pub fn answer(&self, answer: Result<Lookup, StoreError>) {
        *self.answer.lock().expect("no test panics with it") = answer;
    }
}

#[async_trait]
impl Store for Scripted {
    async fn load(&self, _: &GameId) -> Result<Lookup, StoreError> {
        self.begun.send_modify(|begun| *begun += 1);
        let mut open = self.open.subscribe();
        open.wait_for(|open| *open).await.expect("the store is not dropped while it is asked");
        self.answer.lock().expect("no test panics with it").clone()
    }

    async fn create(&self, _: Arc<Stored>) -> Result<Commit, StoreError> {
        unreachable!("watchers only read")
    }

    async fn commit(&self, _: Arc<Stored>, _: Arc<Stored>) -> Result<Commit, StoreError> {
        unreachable!("watchers only read")
    }

    async fn delete(&self, _: &GameId, _: Millis) -> Result<bool, StoreError> {
        unreachable!("watchers only read")
    }

    async fn list(&self, _: &Query) -> Result<Listing, StoreError> {
        unreachable!("watchers only read")
    }

    async fn put_layout(&self, _: Layout, _: Millis) -> Result<(), StoreError> {
        unreachable!("watchers only read")
    }

    async fn layout(&self, _: &str) -> Result<Option<(Layout, Millis)>, StoreError> {
        unreachable!("watchers only read")
    }

    async fn sweep(&self, _: Millis) -> Result<Swept, StoreError> {
        unreachable!("watchers only read")
    }

    async fn backup(&self) -> Result<Backup, BackupError> {
        unreachable!("watchers only read")
    }

    async fn close(&self) {}
}
