//! What every store promises, held against each of them through the one trait; what the file alone promises is in `file`.

#[path = "../common/mod.rs"]
mod common;

mod entries;
mod expiry;
mod file;
mod folds;
mod listing;
mod races;

use std::{ops::Deref, sync::Arc};

use common::StoreKind;
use reversid::store::{Store, StoreUrl};
use tempfile::TempDir;

/// An open store, and what it lives in.
struct Opened {
    store: Arc<dyn Store>,
    folder: TempDir,
}

/// An empty store of this kind.
fn open(kind: StoreKind) -> Opened {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = StoreUrl::parse(&kind.url(folder.path())).expect("a store's URL");
    Opened { store: url.open().expect("the store opens"), folder }
}

impl Deref for Opened {
    type Target = Arc<dyn Store>;

    fn deref(&self) -> &Self::Target {
        &self.store
    }
}
