//! Looks at Redis between faults: whether a primary was replaced though nobody meant it to be, because a fault took long or the
//! machine was busy, and since when replicas have what was acknowledged. What a game's checks have to excuse is then known before
//! the game is judged.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::{
    store::{Standing, Store},
    world::World,
};

/// How long between two looks when nothing else happens.
const PAUSE: Duration = Duration::from_millis(500);

/// Who led when it was looked last.
pub struct Lookout {
    leaders: Vec<bool>,
}

impl Lookout {
    /// Begins to look.
    pub fn new(store: &Store) -> Self {
        Self { leaders: leaders(&store.standings()) }
    }

    /// Looks, and opens a window back to when all was safe if a primary was replaced.
    pub async fn look(&mut self, store: &Store, world: &World) {
        if !self.is_safe(store, world) {
            store.is_well().await;
            world.count("primaries replaced by themselves");
            let window = world.open_window(world.safe_until(), world.loses);
            self.look_again(store, world);
            world.close_window(window);
        }
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
        self.leaders = leaders(&store.standings());
        self.is_safe(store, world);
    }

    /// Notes what is safe by now; false if others lead.
    fn is_safe(&self, store: &Store, world: &World) -> bool {
        let now = Instant::now();
        let before = store.standings();
        if leaders(&before) != self.leaders {
            return false;
        }
        if in_step(&before, &store.standings()) {
            world.note_safe(now);
        }
        true
    }
}

fn leaders(standings: &[Standing]) -> Vec<bool> {
    standings.iter().map(|it| it.leads).collect()
}

/// Whether all that the primaries had `before` was at every replica a moment later.
fn in_step(before: &[Standing], after: &[Standing]) -> bool {
    let has_all = |replica: &Standing| {
        let of = before.iter().find(|it| it.leads && replica.follows == Some(it.port));
        of.is_some_and(|primary| replica.offset >= primary.offset)
    };
    before.iter().zip(after).all(|(was, is)| if was.leads { is.leads } else { has_all(is) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_are_in_step_when_each_has_what_its_primary_had() {
        let primary = |offset| Standing { port: 1, leads: true, offset, follows: None };
        let replica = |offset, follows| Standing { port: 2, leads: false, offset, follows };
        let before = [primary(10), replica(4, Some(1))];
        assert!(in_step(&before, &[primary(12), replica(10, Some(1))]));
        assert!(!in_step(&before, &[primary(12), replica(9, Some(1))]), "behind");
        assert!(!in_step(&before, &[primary(12), replica(10, None)]), "its link is down");
        assert!(!in_step(&before, &[primary(12), replica(10, Some(3))]), "it follows another");
        let other = [replica(10, Some(2)), Standing { port: 2, ..primary(10) }];
        assert!(!in_step(&before, &other), "the other leads by now");
    }
}
