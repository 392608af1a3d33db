//! The store of a run, and what can happen to it.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use reversi_testbed::{Cluster, Node, Proxy, RedisServer, SentinelTrio, until};
use tokio::time::sleep;

use crate::{
    plan::{Fault, Kind, Topology},
    world::World,
};

/// How Redis notices that what goes between it and its replicas leads nowhere: sooner than by itself, which takes a minute. What
/// is killed comes back with what it had: a primary that comes back empty before anybody knows that it was gone has no game.
const REPLICATION: [&str; 3] = ["repl-timeout 5", "repl-ping-replica-period 1", "appendonly yes"];

/// How long at least the replicas of Redis hear nothing before moves are to be lost by that: long enough for a move.
const UNHEARD: Duration = Duration::from_millis(700);

/// Redis, in one of its topologies.
pub enum Store {
    /// One server behind a proxy.
    Standalone(RedisServer, Proxy),
    /// See there.
    Sentinel(SentinelTrio),
    /// See there.
    Cluster(Cluster),
}

/// How a Redis server stands to the others.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// The port by which the others know it.
    pub port: u16,
    /// Whether it says that it is a primary.
    pub leads: bool,
    /// How much of its primary's changes it has, or of its own.
    pub offset: u64,
    /// The port of the primary that it is connected to.
    pub follows: Option<u16>,
}

impl Standing {
    fn of(server: &RedisServer, port: u16) -> Self {
        let info = server.ask(&["INFO", "replication"]);
        let field = |name: &str| {
            let value =
                |line: &str| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim().to_owned());
            info.lines().find_map(value).unwrap_or_default()
        };
        let leads = field("role") == "master";
        let offset = field(if leads { "master_repl_offset" } else { "slave_repl_offset" });
        let connected = field("master_link_status") == "up";
        let follows = connected.then(|| field("master_port").parse().ok()).flatten();
        Self { port, leads, offset: offset.parse().unwrap_or_default(), follows }
    }
}

impl Store {
    /// Starts it; `loses` says whether a standalone one keeps snapshots alone.
    pub async fn start(topology: Topology, loses: bool, folder: &Path) -> Self {
        match topology {
            Topology::Standalone => {
                let durable = ["--appendonly", "yes", "--appendfsync", "always"];
                let flags = if loses { &[][..] } else { &durable };
                let redis = RedisServer::start(folder, flags);
                let proxy = Proxy::to(redis.port()).await;
                Self::Standalone(redis, proxy)
            }
            Topology::Sentinel => Self::Sentinel(SentinelTrio::start(2, &REPLICATION).await),
            Topology::Cluster => Self::Cluster(Cluster::start(&REPLICATION).await),
        }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        match self {
            Self::Standalone(_, proxy) => proxy.url(),
            Self::Sentinel(trio) => trio.url(),
            Self::Cluster(cluster) => cluster.url(),
        }
    }

    /// Has a fault happen, and waits until it is over; false if there was nothing that it could happen to.
    pub async fn suffer(&mut self, fault: Fault, world: &World) -> bool {
        let which = fault.which;
        match fault.kind {
            Kind::KillReplica
            | Kind::DrainReplica
            | Kind::RollReplicas
            | Kind::CutClients
            | Kind::DelayClients => unreachable!("it happens to replicas"),
            Kind::KillRedis => {
                let Self::Standalone(redis, _) = self else { return false };
                redis.kill();
                sleep(fault.lasting).await;
                redis.restart();
            }
            Kind::PauseRedis => {
                let server = self.primary(which).await.0;
                server.pause();
                sleep(fault.lasting).await;
                server.go_on();
            }
            Kind::CutRedis => self.primary(which).await.1.cut(),
            Kind::BuryRedis => self.primary(which).await.1.bury(),
            Kind::RefuseRedis => self.for_a_while(fault, Proxy::refuse).await,
            Kind::SilenceRedis => self.for_a_while(fault, Proxy::hold).await,
            Kind::LagReplication => self.for_a_while(fault, Proxy::hold_replicas).await,
            Kind::DelayRedis => {
                let by = Duration::from_millis(20 + which as u64 % 180);
                self.for_a_while(fault, |proxy| proxy.delay(by)).await;
            }
            Kind::FlushScripts => {
                for server in self.servers() {
                    server.ask(&["SCRIPT", "FLUSH"]);
                }
            }
            Kind::KillPubsub => {
                for server in self.servers() {
                    server.ask(&["CLIENT", "KILL", "TYPE", "pubsub"]);
                }
            }
            Kind::FailOver => {
                // A Cluster loses nothing by this, though for a moment two may answer. A Sentinel does not wait for the primary
                // to stop taking writes.
                let loses = world.loses && matches!(self, Self::Sentinel(_));
                let window = world.open_window(world.safe_until(), loses);
                match self {
                    Self::Standalone(..) => {}
                    Self::Sentinel(trio) => {
                        trio.fail_over().await;
                        trio.is_well().await;
                    }
                    Self::Cluster(cluster) => {
                        let primary = primary_of(cluster, which).await;
                        let replica = replica_of(cluster, primary).await;
                        cluster.promote(replica, false).await;
                        cluster.is_well().await;
                    }
                }
                world.close_window(window);
            }
            Kind::KillPrimary => self.kill_primary(which, world, false, Duration::ZERO).await,
            Kind::LoseMoves => self.lose_moves(fault, world).await,
            Kind::MigrateSlot => {
                let Self::Cluster(cluster) = self else { return false };
                return migrate_game(cluster, fault, &world.played()).await;
            }
        }
        true
    }

    async fn for_a_while(&self, fault: Fault, spoil: impl Fn(&Proxy)) {
        let proxy = self.primary(fault.which).await.1;
        spoil(proxy);
        sleep(fault.lasting).await;
        proxy.release();
    }

    /// How its servers stand.
    pub fn standings(&self) -> Vec<Standing> {
        let of = |node: &Node| Standing::of(&node.server, node.proxy.port());
        match self {
            Self::Standalone(server, proxy) => vec![Standing::of(server, proxy.port())],
            Self::Sentinel(trio) => trio.nodes.iter().map(of).collect(),
            Self::Cluster(cluster) => cluster.nodes.iter().map(of).collect(),
        }
    }

    /// Waits until all of it is as it was: every node there, one primary, replicas that follow.
    pub async fn is_well(&self) {
        match self {
            Self::Standalone(..) => {}
            Self::Sentinel(trio) => trio.is_well().await,
            Self::Cluster(cluster) => cluster.is_well().await,
        }
    }

    /// A primary, and the proxy in front of it.
    async fn primary(&self, which: usize) -> (&RedisServer, &Proxy) {
        let node = match self {
            Self::Standalone(redis, proxy) => return (redis, proxy),
            Self::Sentinel(trio) => &trio.nodes[sentinel_primary(trio).await],
            Self::Cluster(cluster) => &cluster.nodes[primary_of(cluster, which).await],
        };
        (&node.server, &node.proxy)
    }

    fn servers(&self) -> Vec<&RedisServer> {
        match self {
            Self::Standalone(redis, _) => vec![redis],
            Self::Sentinel(trio) => trio.nodes.iter().map(|node| &node.server).collect(),
            Self::Cluster(cluster) => cluster.nodes.iter().map(|node| &node.server).collect(),
        }
    }

    async fn lose_moves(&mut self, fault: Fault, world: &World) {
        if let Self::Standalone(redis, _) = self {
            let window = world.open_window(Instant::now(), true);
            redis.ask(&["SAVE"]);
            sleep(fault.lasting).await;
            redis.kill();
            world.close_window(window);
            redis.restart();
        } else {
            self.kill_primary(fault.which, world, true, fault.lasting).await;
        }
    }

    /// Kills a primary, or has it deposed, whose replicas may have heard nothing of it for a while.
    async fn kill_primary(&mut self, which: usize, world: &World, held: bool, lasting: Duration) {
        let lasting = lasting + UNHEARD;
        let window = world.open_window(world.safe_until(), world.loses);
        match self {
            Self::Standalone(..) => {}
            Self::Sentinel(trio) => {
                let primary = sentinel_primary(trio).await;
                if held {
                    trio.nodes[primary].proxy.hold_replicas();
                    sleep(lasting).await;
                }
                trio.nodes[primary].server.kill();
                trio.promoted(primary).await;
                trio.nodes[primary].proxy.release();
                trio.nodes[primary].server.restart();
                trio.is_well().await;
            }
            Self::Cluster(cluster) => {
                let primary = primary_of(cluster, which).await;
                let replica = replica_of(cluster, primary).await;
                if held {
                    cluster.nodes[primary].proxy.hold_replicas();
                    sleep(lasting).await;
                    cluster.promote(replica, true).await;
                    cluster.nodes[primary].proxy.release();
                } else {
                    cluster.nodes[primary].server.kill();
                    cluster.promoted(replica).await;
                    cluster.nodes[primary].server.restart();
                }
                cluster.is_well().await;
            }
        }
        world.close_window(window);
    }
}

async fn sentinel_primary(trio: &SentinelTrio) -> usize {
    let mut primary = None;
    until("there is a primary", || {
        primary = trio.primary();
        primary.is_some()
    })
    .await;
    primary.expect("it was waited for")
}

/// One of the primaries of the Cluster that have slots.
async fn primary_of(cluster: &Cluster, which: usize) -> usize {
    let mut primary = None;
    until("there is a primary", || {
        // The middle of each third: slots that migrate leave most of them where they are.
        let slot = (which % 3) as u16 * 5_461 + 2_730;
        primary = cluster.primary_of(slot);
        primary.is_some()
    })
    .await;
    primary.expect("it was waited for")
}

/// Moves the slot of one of these games to another primary; false if none of them is in the store.
async fn migrate_game(cluster: &Cluster, fault: Fault, games: &[String]) -> bool {
    let key = |game: &String| {
        let of = format!("*{game}*");
        let keys = cluster.nodes.iter().map(|node| node.server.ask(&["KEYS", &of]));
        keys.flat_map(|keys| keys.lines().map(ToOwned::to_owned).collect::<Vec<_>>())
            .find(|key| key.contains(game.as_str()))
    };
    let Some(key) = games.iter().find_map(key) else { return false };
    let slot = cluster.slot_of(&key);
    let mut from = None;
    until("the slot has a primary", || {
        from = cluster.primary_of(slot);
        from.is_some()
    })
    .await;
    for which in fault.which..fault.which + 3 {
        let to = primary_of(cluster, which).await;
        if Some(to) != from {
            cluster.migrate_slowly(slot, to, fault.lasting).await;
            return true;
        }
    }
    false
}

async fn replica_of(cluster: &Cluster, primary: usize) -> usize {
    let mut replica = None;
    until("the primary has a replica", || {
        replica = cluster.replica_of(primary);
        replica.is_some()
    })
    .await;
    replica.expect("it was waited for")
}
