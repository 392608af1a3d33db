//! What every store promises, held against each of them through the one trait; what the file alone promises is in `file`.

#[path = "../common/mod.rs"]
mod common;

mod backup;
mod entries;
mod expiry;
mod file;
mod folds;
mod listing;
mod newer;
mod races;

use std::{ops::Deref, sync::Arc};

use common::{Home, StoreKind, lines::LIFETIMES};
use reversid::store::{Store, StoreUrl};

/// An open store, and what it lives in.
struct Opened {
    store: Arc<dyn Store>,
    home: Home,
}

/// An empty store of this kind.
fn open(kind: StoreKind) -> Opened {
    let home = kind.home();
    let url = StoreUrl::parse(&home.url).expect("a store's URL");
    Opened { store: url.open(LIFETIMES).expect("the store opens"), home }
}

impl Deref for Opened {
    type Target = Arc<dyn Store>;

    fn deref(&self) -> &Self::Target {
        &self.store
    }
}
