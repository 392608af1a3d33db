//! Notices primaries that were replaced though nobody meant them to be: a fault took long, or the machine was busy. What a game's
//! checks have to excuse is then known before the game is judged.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::{
    store::{LAG, Store},
    world::World,
};

/// How long between two looks when nothing else happens.
const PAUSE: Duration = Duration::from_millis(500);

/// Who led when it was looked last.
pub struct Lookout {
    leaders: Vec<bool>,
    /// Until when all replacements are known.
    known_until: Instant,
}

impl Lookout {
    /// Begins to look.
    pub fn new(store: &Store) -> Self {
        Self { leaders: store.leaders(), known_until: Instant::now() }
    }

    /// Looks, and opens a window back to the last look if a primary was replaced.
    pub async fn look(&mut self, store: &Store, world: &World) {
        let mut now = Instant::now();
        if store.leaders() != self.leaders {
            store.is_well().await;
            world.count("primaries replaced by themselves");
            let window = world.open_window(self.known_until - LAG, world.loses);
            self.leaders = store.leaders();
            world.close_window(window);
            now = Instant::now();
        }
        self.known_until = now;
        world.know_windows_until(now);
    }

    /// Looks now and then, for ever.
    pub async fn keep_looking(&mut self, store: &Store, world: &World) {
        loop {
            self.look(store, world).await;
            sleep(PAUSE).await;
        }
    }

    /// Looks after a primary was replaced on purpose.
    pub fn look_again(&mut self, store: &Store, world: &World) {
        self.leaders = store.leaders();
        self.known_until = Instant::now();
        world.know_windows_until(self.known_until);
    }
}
