//! Which faults happen in which order: the same for the same seed, whatever the run does meanwhile.

use std::time::Duration;

use clap::ValueEnum;

use crate::random::Random;

/// What the games are kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Topology {
    /// One Redis.
    Standalone,
    /// A primary and two replicas under three Sentinels.
    Sentinel,
    /// A Cluster of three primaries with a replica each.
    Cluster,
}

/// Whether acknowledged moves survive the loss of a primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Durability {
    /// As far as the primary has them.
    Local,
    /// A replica has them as well.
    Replicated,
}

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Kind {
    /// A replica is killed, and started again.
    KillReplica,
    /// A replica is told to end, which drains it, and started again.
    DrainReplica,
    /// All replicas are drained and started again, one after the other.
    RollReplicas,
    /// All connections of clients to a replica are cut.
    CutClients,
    /// What goes between clients and a replica is late.
    DelayClients,
    /// Redis is killed, and started again with all that it had.
    KillRedis,
    /// Redis does nothing for a while, with its connections open.
    PauseRedis,
    /// All connections to Redis are cut.
    CutRedis,
    /// All connections to Redis are cut, and new ones refused for a while.
    RefuseRedis,
    /// What goes between the replicas and Redis is late.
    DelayRedis,
    /// What goes between the replicas and Redis is held, and nobody is told.
    SilenceRedis,
    /// Connections to Redis lead nowhere from now on, and nobody is told.
    BuryRedis,
    /// Redis forgets its scripts.
    FlushScripts,
    /// Redis kills the connections that listen.
    KillPubsub,
    /// The replicas of Redis hear nothing of it for a while.
    LagReplication,
    /// A replica of Redis is promoted in good order.
    FailOver,
    /// A primary is killed, a replica promoted in its place; it comes back as a replica.
    KillPrimary,
    /// A replica of Redis that has not heard of the last moves takes its primary's place. Standalone: Redis is killed, and
    /// started again from a snapshot that is older.
    LoseMoves,
    /// The slot of a game that is played moves to another primary, and for moments the game is at neither for sure.
    MigrateSlot,
}

impl Kind {
    /// As in a list of faults.
    pub fn name(self) -> &'static str {
        match self {
            Self::KillReplica => "kill-replica",
            Self::DrainReplica => "drain-replica",
            Self::RollReplicas => "roll-replicas",
            Self::CutClients => "cut-clients",
            Self::DelayClients => "delay-clients",
            Self::KillRedis => "kill-redis",
            Self::PauseRedis => "pause-redis",
            Self::CutRedis => "cut-redis",
            Self::RefuseRedis => "refuse-redis",
            Self::DelayRedis => "delay-redis",
            Self::SilenceRedis => "silence-redis",
            Self::BuryRedis => "bury-redis",
            Self::FlushScripts => "flush-scripts",
            Self::KillPubsub => "kill-pubsub",
            Self::LagReplication => "lag-replication",
            Self::FailOver => "fail-over",
            Self::KillPrimary => "kill-primary",
            Self::LoseMoves => "lose-moves",
            Self::MigrateSlot => "migrate-slot",
        }
    }

    /// Whether it happens to the store, not to the replicas and their clients.
    pub fn is_of_store(self) -> bool {
        self >= Self::KillRedis
    }

    /// Whether another Redis server leads afterwards.
    pub fn replaces(self) -> bool {
        matches!(self, Self::FailOver | Self::KillPrimary | Self::LoseMoves)
    }

    /// The kinds there are with this store: `loses` says whether acknowledged moves may be lost.
    pub fn all(topology: Topology, loses: bool) -> Vec<Self> {
        let replicated = topology != Topology::Standalone;
        let fits = |kind: &Self| match kind {
            // Without a replica, what survives is on disk; where moves are to be lost, not all is.
            Self::KillRedis => !replicated && !loses,
            Self::LoseMoves => replicated || loses,
            Self::LagReplication | Self::FailOver | Self::KillPrimary => replicated,
            Self::MigrateSlot => topology == Topology::Cluster,
            _ => true,
        };
        Self::value_variants().iter().copied().filter(fits).collect()
    }

    /// How long it lasts, in milliseconds at least and at most.
    fn lasting(self) -> (usize, usize) {
        match self {
            Self::KillReplica | Self::KillRedis | Self::RefuseRedis => (100, 1_000),
            Self::MigrateSlot => (100, 350),
            Self::LoseMoves => (100, 1_200),
            Self::PauseRedis | Self::SilenceRedis | Self::LagReplication => (300, 2_500),
            Self::DelayClients | Self::DelayRedis => (500, 2_000),
            _ => (0, 0),
        }
    }
}

/// A fault to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// How long after the one before.
    pub after: Duration,
    /// What.
    pub kind: Kind,
    /// To which of those that it can happen to, counted round and round.
    pub which: usize,
    /// For how long.
    pub lasting: Duration,
}

/// The faults of these kinds, without end: each kind once, in any order, and again.
pub fn faults(seed: u64, mut kinds: Vec<Kind>) -> impl Iterator<Item = Fault> {
    let mut random = Random::new(seed);
    let mut round = Vec::new();
    std::iter::from_fn(move || {
        if round.is_empty() {
            random.shuffle(&mut kinds);
            round.clone_from(&kinds);
        }
        let kind = round.pop()?;
        let (least, most) = kind.lasting();
        Some(Fault {
            after: random.millis(100, 600),
            kind,
            which: random.below(1 << 16),
            lasting: random.millis(least, most),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_plan_with_each_kind_in_each_round() {
        let kinds = Kind::all(Topology::Cluster, true);
        let plan = |seed| faults(seed, kinds.clone()).take(3 * kinds.len()).collect::<Vec<_>>();
        assert_eq!(plan(1), plan(1));
        assert_ne!(plan(1), plan(2));
        for round in plan(3).chunks(kinds.len()) {
            let mut in_round: Vec<_> = round.iter().map(|fault| fault.kind).collect();
            in_round.sort_unstable();
            assert_eq!(in_round, kinds);
        }
    }

    #[test]
    fn kinds_have_the_names_that_flags_take() {
        for kind in Kind::value_variants() {
            let named = Kind::from_str(kind.name(), false);
            assert_eq!(named.as_ref(), Ok(kind));
        }
    }
}
