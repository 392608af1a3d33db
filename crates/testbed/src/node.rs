//! A Redis server of a topology, which everybody but the operator reaches through its proxy.

use std::{fs, path::Path};

use crate::{Port, Proxy, RedisServer};

/// A server and the proxy whose port it announces to clients and to its replicas.
pub struct Node {
    /// What the operator speaks to.
    pub server: RedisServer,
    /// The network between it and everybody else.
    pub proxy: Proxy,
}

impl Node {
    /// Starts one with its files in a folder of its own below `home`. `settings` are lines of its configuration, made once
    /// the port of its proxy is known; it may rewrite them. `mode` are more arguments.
    pub(crate) async fn start(
        home: &Path,
        mode: &[&str],
        settings: impl FnOnce(u16) -> Vec<String>,
    ) -> Self {
        let port = Port::claim();
        let proxy = Proxy::to(port.number()).await;
        let folder = home.join(port.number().to_string());
        fs::create_dir_all(&folder).expect("a folder below a temporary one");
        let base = format!("port {}\nbind 127.0.0.1\ndir {}\n", port.number(), folder.display());
        let configuration = folder.join("redis.conf");
        let text = base + &settings(proxy.port()).join("\n") + "\n";
        fs::write(&configuration, text).expect("a temporary file");
        let configuration = configuration.to_str().expect("a path that can be written");
        Self { server: RedisServer::run(port, &[&[configuration], mode].concat()), proxy }
    }

    /// What it is to others: `127.0.0.1:PORT` of its proxy.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.proxy.port())
    }
}

/// The addresses, as the URL of a store lists them.
pub(crate) fn addresses(nodes: &[Node]) -> String {
    nodes.iter().map(Node::address).collect::<Vec<_>>().join(",")
}
