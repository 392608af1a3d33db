//! A primary, its replicas, and the three Sentinels that watch over them.

use std::time::Instant;

use tempfile::TempDir;

use crate::{ASK_AGAIN, Certificates, Node, node::addresses, until};

/// What the Sentinels call the primary.
const NAME: &str = "games";

/// How many have to agree that the primary is gone.
const QUORUM: usize = 2;

/// Redis servers of which one is the primary, and three Sentinels. Everybody reaches them through their proxies.
pub struct SentinelTrio {
    /// The Redis servers; the first is the primary to begin with.
    pub nodes: Vec<Node>,
    /// The Sentinels.
    pub sentinels: Vec<Node>,
    secured: bool,
    _home: TempDir,
}

impl SentinelTrio {
    /// Starts a primary with `replicas`, each with more `settings` (lines of a configuration), and the Sentinels; ready when
    /// they agree. A primary counts as gone after a second, and another is in its place about two seconds later.
    pub async fn start(replicas: usize, settings: &[&str]) -> Self {
        Self::start_with(replicas, settings, &[], None).await
    }

    /// As [`start`](Self::start); the Sentinels have more settings as well, and everybody speaks TLS, past the proxies.
    pub async fn secured(
        replicas: usize,
        settings: &[&str],
        of_sentinels: &[&str],
        certificates: &Certificates,
    ) -> Self {
        Self::start_with(replicas, settings, of_sentinels, Some(certificates)).await
    }

    async fn start_with(
        replicas: usize,
        settings: &[&str],
        of_sentinels: &[&str],
        certificates: Option<&Certificates>,
    ) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let mut nodes: Vec<Node> = Vec::new();
        for _ in 0..=replicas {
            let primary = nodes.first().map(Node::announced);
            let lines = |port: u16| {
                let mut lines =
                    vec!["save \"\"".to_owned(), "repl-diskless-sync-delay 0".to_owned()];
                lines.push("replica-announce-ip 127.0.0.1".into());
                lines.push(format!("replica-announce-port {port}"));
                lines.extend(primary.map(|primary| format!("replicaof 127.0.0.1 {primary}")));
                lines.extend(settings.iter().map(ToString::to_string));
                lines
            };
            nodes.push(Node::start(home.path(), &[], certificates, lines).await);
        }
        // Before there are Sentinels, which then find them at once.
        let connected = replicas.to_string();
        until("the replicas connect", || nodes[0].server.info("connected_slaves") == connected)
            .await;

        let primary = nodes[0].announced();
        let mut sentinels = Vec::new();
        for _ in 0..3 {
            let lines = |port: u16| {
                let mut lines = vec![
                    "sentinel announce-ip 127.0.0.1".to_owned(),
                    format!("sentinel announce-port {port}"),
                    format!("sentinel monitor {NAME} 127.0.0.1 {primary} {QUORUM}"),
                    format!("sentinel down-after-milliseconds {NAME} 1000"),
                    format!("sentinel failover-timeout {NAME} 4000"),
                ];
                lines.extend(of_sentinels.iter().map(ToString::to_string));
                lines
            };
            let sentinel = Node::start(home.path(), &["--sentinel"], certificates, lines).await;
            // They look around ten times as often as they do by themselves, for the sake of tests.
            let often = ["SENTINEL", "DEBUG", "info-period", "1000", "publish-period", "500"];
            assert_eq!(sentinel.server.ask(&often), "OK");
            sentinels.push(sentinel);
        }
        let secured = certificates.is_some();
        let trio = Self { nodes, sentinels, secured, _home: home };
        for sentinel in 0..3 {
            until("the Sentinels find each other and the replicas", || {
                let known = |list| trio.ask(sentinel, list).matches("\nrunid\n").count();
                known("SENTINELS") == 2 && known("REPLICAS") == replicas
            })
            .await;
        }
        trio
    }

    /// Waits until the Sentinels agree on a primary and every other node follows it.
    pub async fn is_well(&self) {
        until("the Sentinels agree, and all follow", || {
            let Some(primary) = self.primary() else { return false };
            let port = self.nodes[primary].proxy.port().to_string();
            let follows = |node: &Node| {
                node.server.info("master_port") == port
                    && node.server.info("master_link_status") == "up"
            };
            self.nodes.iter().enumerate().all(|(number, node)| match number == primary {
                true => node.server.info("role") == "master",
                false => follows(node),
            })
        })
        .await;
    }

    /// The URL of the store.
    pub fn url(&self) -> String {
        let scheme = if self.secured { "rediss" } else { "redis" };
        format!("{scheme}-sentinel://{}/{NAME}", addresses(&self.sentinels))
    }

    /// Which node is the primary, as most Sentinels say; none while they do not agree.
    pub fn primary(&self) -> Option<usize> {
        let said: Vec<_> = (0..3).map(|it| self.ask(it, "GET-MASTER-ADDR-BY-NAME")).collect();
        (0..self.nodes.len()).find(|node| {
            let address = self.nodes[*node].address().replace(':', "\n");
            said.iter().filter(|said| **said == address).count() >= QUORUM
        })
    }

    /// Has a replica promoted, as an operator would, and waits until it is. Answers which.
    pub async fn fail_over(&self) -> usize {
        let mut before = None;
        until("the Sentinels agree on a primary", || {
            before = self.primary();
            before.is_some()
        })
        .await;
        let mut now = before;
        let mut asked = None;
        until("another node is the primary", || {
            // One that comes to nothing is given up by the Sentinels without a word.
            if asked.is_none_or(|asked: Instant| asked.elapsed() > ASK_AGAIN) {
                asked = (self.ask(0, "FAILOVER") == "OK").then(Instant::now);
            }
            now = self.primary();
            now.is_some_and(|it| now != before && self.nodes[it].server.info("role") == "master")
        })
        .await;
        now.expect("it was waited for")
    }

    /// Waits until another node than `before` is the primary and says so itself. Answers which.
    pub async fn promoted(&self, before: usize) -> usize {
        let mut now = before;
        until("another node is the primary", || {
            now = self.primary().unwrap_or(before);
            now != before && self.nodes[now].server.info("role") == "master"
        })
        .await;
        now
    }

    fn ask(&self, sentinel: usize, what: &str) -> String {
        self.sentinels[sentinel].server.ask(&["SENTINEL", what, NAME])
    }
}
