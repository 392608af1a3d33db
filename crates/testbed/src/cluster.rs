//! A Redis Cluster of three primaries with a replica each.

use std::{
    ops::RangeInclusive,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use tokio::time::sleep;

use crate::{ASK_AGAIN, Certificates, Node, Port, node::addresses, until};

/// How many slots a Cluster has.
pub const SLOTS: u16 = 16_384;

const PRIMARIES: usize = 3;

/// Six nodes. Everybody reaches them through their proxies; only what they tell each other of the Cluster itself goes from
/// node to node.
pub struct Cluster {
    /// Three primaries and, in the same order, their replicas, to begin with.
    pub nodes: Vec<Node>,
    ids: Vec<String>,
    secured: bool,
    _buses: Vec<Port>,
    _home: TempDir,
}

impl Cluster {
    /// Starts the nodes, each with more `settings` (lines of a configuration), and joins them; ready when all say so. A node
    /// counts as gone after two seconds, and its replica is in its place about two seconds later.
    pub async fn start(settings: &[&str]) -> Self {
        Self::start_with(settings, None).await
    }

    /// As [`start`](Self::start); clients speak TLS, past the proxies.
    pub async fn secured(settings: &[&str], certificates: &Certificates) -> Self {
        Self::start_with(settings, Some(certificates)).await
    }

    async fn start_with(settings: &[&str], certificates: Option<&Certificates>) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let buses: Vec<_> = (0..2 * PRIMARIES).map(|_| Port::claim()).collect();
        let mut nodes = Vec::new();
        for bus in &buses {
            let bus = bus.number();
            let lines = |port: u16| {
                let mut lines: Vec<_> = [
                    "save \"\"",
                    "repl-diskless-sync-delay 0",
                    "cluster-enabled yes",
                    "cluster-node-timeout 2000",
                    "cluster-announce-ip 127.0.0.1",
                ]
                .map(ToOwned::to_owned)
                .into();
                lines.push(format!("cluster-port {bus}"));
                lines.push(format!("cluster-announce-bus-port {bus}"));
                let kind = if certificates.is_some() { "tls-port" } else { "port" };
                lines.push(format!("cluster-announce-{kind} {port}"));
                lines.extend(certificates.map(|_| "tls-cluster yes".to_owned()));
                lines.extend(settings.iter().map(ToString::to_string));
                lines
            };
            nodes.push(Node::start(home.path(), &[], certificates, lines).await);
        }
        let ids = nodes.iter().map(|node| node.server.ask(&["CLUSTER", "MYID"])).collect();
        let secured = certificates.is_some();
        let cluster = Self { nodes, ids, secured, _buses: buses, _home: home };
        cluster.join().await;
        cluster
    }

    async fn join(&self) {
        let slots = |primary: usize| {
            let bound = |n: usize| n * usize::from(SLOTS) / PRIMARIES;
            [bound(primary), bound(primary + 1) - 1].map(|slot| slot.to_string())
        };
        for number in 0..self.nodes.len() {
            let epoch = (number + 1).to_string();
            self.tell(number, &["SET-CONFIG-EPOCH", &epoch]);
            if number < PRIMARIES {
                let [first, last] = slots(number);
                self.tell(number, &["ADDSLOTSRANGE", &first, &last]);
            }
            let (port, bus) = (self.nodes[number].announced(), self._buses[number].number());
            let (port, bus) = (port.to_string(), bus.to_string());
            self.tell(0, &["MEET", "127.0.0.1", &port, &bus]);
        }
        for number in PRIMARIES..self.nodes.len() {
            let primary = &self.ids[number - PRIMARIES];
            until("a replica knows its primary", || {
                self.asked(number, &["NODES"]).contains(primary)
            })
            .await;
            until("it becomes one", || self.asked(number, &["REPLICATE", primary]) == "OK").await;
        }
        self.is_well().await;
    }

    /// Waits until every node says that all is well, and every replica follows its primary.
    pub async fn is_well(&self) {
        for number in 0..self.nodes.len() {
            until("the Cluster is well", || {
                let info = self.asked(number, &["INFO"]);
                let nodes = self.asked(number, &["NODES"]);
                let server = &self.nodes[number].server;
                info.contains("cluster_state:ok")
                    && info.contains(&format!("cluster_known_nodes:{}", self.nodes.len()))
                    && !nodes.contains("fail")
                    && nodes.matches("slave").count() == self.nodes.len() - PRIMARIES
                    && (server.info("role") == "master"
                        || server.info("master_link_status") == "up")
            })
            .await;
        }
    }

    /// The URL of the store.
    pub fn url(&self) -> String {
        let scheme = if self.secured { "rediss" } else { "redis" };
        format!("{scheme}-cluster://{}", addresses(&self.nodes))
    }

    /// The slot of a key.
    pub fn slot_of(&self, key: &str) -> u16 {
        let alive = self.alive().expect("a node is alive");
        self.asked(alive, &["KEYSLOT", key]).parse().expect("a number")
    }

    /// Which node has a slot, as most say; none while they do not agree.
    pub fn primary_of(&self, slot: u16) -> Option<usize> {
        let mut said = vec![0; self.nodes.len()];
        for number in 0..self.nodes.len() {
            let nodes = self.asked(number, &["NODES"]);
            let owner = nodes.lines().find(|line| owns(line, slot));
            let owner = owner.and_then(|line| line.split(' ').next());
            if let Some(owner) = owner.and_then(|id| self.ids.iter().position(|it| it == id)) {
                said[owner] += 1;
            }
        }
        (0..said.len()).find(|node| said[*node] > self.nodes.len() / 2)
    }

    /// The replica of a primary that follows it now, if there is one.
    pub fn replica_of(&self, primary: usize) -> Option<usize> {
        let mark = format!("slave {}", self.ids[primary]);
        let nodes = self.asked(self.alive()?, &["NODES"]);
        let line = nodes.lines().find(|line| line.contains(&mark))?;
        self.ids.iter().position(|id| line.starts_with(id.as_str()))
    }

    /// Has a replica take the place of its primary: in good order, so that nothing is lost, or at once (`TAKEOVER`), whatever
    /// its primary does. Waits until it has.
    pub async fn promote(&self, replica: usize, at_once: bool) {
        let takeover = if at_once { &["TAKEOVER"][..] } else { &[] };
        let failover = [&["FAILOVER"], takeover].concat();
        let mut asked: Option<Instant> = None;
        until("a replica is promoted", || {
            // One that comes to nothing is given up without a word.
            if asked.is_none_or(|asked| asked.elapsed() > ASK_AGAIN) {
                asked = (self.asked(replica, &failover) == "OK").then(Instant::now);
            }
            self.nodes[replica].server.info("role") == "master"
        })
        .await;
    }

    /// Waits until this node is a primary.
    pub async fn promoted(&self, node: usize) {
        until("a replica is promoted", || self.nodes[node].server.info("role") == "master").await;
    }

    /// Moves a slot and all that is in it to another primary, key by key, while it is used.
    pub async fn migrate(&self, slot: u16, to: usize) {
        self.migrate_slowly(slot, to, Duration::ZERO).await;
    }

    /// As [`migrate`](Self::migrate); pauses before the keys move, and again before all are told that the slot has.
    pub async fn migrate_slowly(&self, slot: u16, to: usize, pause: Duration) {
        let from = self.primary_of(slot).expect("the slot has an owner");
        if from == to {
            return;
        }
        let number = slot.to_string();
        let (source, target) = (&self.ids[from], &self.ids[to]);
        self.tell(to, &["SETSLOT", &number, "IMPORTING", source]);
        self.tell(from, &["SETSLOT", &number, "MIGRATING", target]);
        sleep(pause).await;
        let port = self.nodes[to].server.port().to_string();
        loop {
            let keys = self.asked(from, &["GETKEYSINSLOT", &number, "10"]);
            if keys.is_empty() {
                break;
            }
            let migrate = ["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"];
            let keys: Vec<_> = keys.lines().collect();
            let moved = self.nodes[from].server.ask(&[&migrate[..], &keys].concat());
            assert!(["OK", "NOKEY"].contains(&moved.as_str()), "keys migrate: {moved}");
        }
        sleep(pause).await;
        for node in [to, from] {
            self.tell(node, &["SETSLOT", &number, "NODE", target]);
        }
        until("most know where the slot is", || self.primary_of(slot) == Some(to)).await;
    }

    fn alive(&self) -> Option<usize> {
        (0..self.nodes.len()).find(|it| self.nodes[*it].server.ask(&["PING"]) == "PONG")
    }

    fn asked(&self, node: usize, what: &[&str]) -> String {
        self.nodes[node].server.ask(&[&["CLUSTER"], what].concat())
    }

    fn tell(&self, node: usize, what: &[&str]) {
        let answer = self.asked(node, what);
        assert_eq!(answer, "OK", "node {node} does {what:?}");
    }
}

/// Whether a line of `CLUSTER NODES` is that of the primary that has this slot.
fn owns(line: &str, slot: u16) -> bool {
    // What migrates stands in brackets.
    let ranges = line.split(' ').skip(8).filter(|range| !range.starts_with('['));
    let bounds = |range: &str| -> Option<RangeInclusive<u16>> {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    ranges.filter_map(bounds).any(|range| range.contains(&slot))
}
