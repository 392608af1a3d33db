//! Any store, with its calls measured and, within a call that is traced, as spans.

use std::{sync::Arc, time::Instant};

use async_trait::async_trait;
use reversi_rules::Layout;

use super::{Backup, BackupError, Commit, Listing, Lookup, Query, Store, Swept};
use crate::{
    error::StoreError,
    model::{GameId, Millis, Stored},
    telemetry::{StoreKind, Telemetry, labels::Operation},
};

/// A store that tells what it is asked.
pub struct Observed {
    store: Arc<dyn Store>,
    kind: StoreKind,
    telemetry: Telemetry,
}

impl Observed {
    /// Looks at what is asked of `store`, which is of this kind.
    pub fn new(store: Arc<dyn Store>, kind: StoreKind, telemetry: Telemetry) -> Self {
        Self { store, kind, telemetry }
    }

    /// The call runs in its caller's span, so that what it signals names the caller's.
    async fn observe<T>(
        &self,
        operation: Operation,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let span = self.telemetry.spans.store(self.kind, operation);
        let begun = Instant::now();
        let result = call.await;
        let error = result.as_ref().err();
        self.telemetry.metrics.store_call(self.kind.name, operation, begun.elapsed(), error);
        span.end(error);
        result
    }
}

#[async_trait]
impl Store for Observed {
    async fn load(&self, id: &GameId) -> Result<Lookup, StoreError> {
        self.observe(Operation::Load, self.store.load(id)).await
    }

    async fn load_lasting(&self, id: &GameId) -> Result<Lookup, StoreError> {
        self.observe(Operation::Load, self.store.load_lasting(id)).await
    }

    async fn create(&self, stored: Arc<Stored>) -> Result<Commit, StoreError> {
        self.observe(Operation::Create, self.store.create(stored)).await
    }

    async fn commit(&self, before: Arc<Stored>, after: Arc<Stored>) -> Result<Commit, StoreError> {
        self.observe(Operation::Commit, self.store.commit(before, after)).await
    }

    async fn delete(&self, id: &GameId, until: Millis) -> Result<bool, StoreError> {
        self.observe(Operation::Delete, self.store.delete(id, until)).await
    }

    async fn list(&self, query: &Query) -> Result<Listing, StoreError> {
        self.observe(Operation::List, self.store.list(query)).await
    }

    async fn put_layout(&self, layout: Layout, until: Millis) -> Result<(), StoreError> {
        self.observe(Operation::PutLayout, self.store.put_layout(layout, until)).await
    }

    async fn layout(&self, id: &str) -> Result<Option<(Layout, Millis)>, StoreError> {
        self.observe(Operation::Layout, self.store.layout(id)).await
    }

    async fn sweep(&self, now: Millis) -> Result<Swept, StoreError> {
        self.observe(Operation::Sweep, self.store.sweep(now)).await
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.store.ready().await
    }

    async fn backup(&self) -> Result<Backup, BackupError> {
        self.store.backup().await
    }

    async fn close(&self) {
        self.store.close().await;
    }
}
