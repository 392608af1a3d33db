//! A Redis server of a topology, which everybody but the operator reaches through its proxy.

use std::{fs, path::Path};

use crate::{Certificates, Port, Proxy, RedisServer};

/// A server and the proxy whose port it announces to clients and to its replicas.
pub struct Node {
    /// What the operator speaks to.
    pub server: RedisServer,
    /// The network between it and everybody else, but for those who speak TLS.
    pub proxy: Proxy,
    /// Where it speaks TLS, if it does.
    secured: Option<Port>,
}

impl Node {
    /// Starts one with its files in a folder of its own below `home`. `settings` are lines of its configuration, made once
    /// the port is known that it announces, which is that of its proxy or, with `certificates`, the one where it speaks TLS;
    /// it may rewrite them. `mode` are more arguments.
    pub(crate) async fn start(
        home: &Path,
        mode: &[&str],
        certificates: Option<&Certificates>,
        settings: impl FnOnce(u16) -> Vec<String>,
    ) -> Self {
        let port = Port::claim();
        let proxy = Proxy::to(port.number()).await;
        let folder = home.join(port.number().to_string());
        fs::create_dir_all(&folder).expect("a folder below a temporary one");
        let base = format!("port {}\nbind 127.0.0.1\ndir {}\n", port.number(), folder.display());
        let configuration = folder.join("redis.conf");
        let secured = certificates.map(|certificates| (certificates, Port::claim()));
        let announced = secured.as_ref().map_or(proxy.port(), |(_, port)| port.number());
        let mut lines = settings(announced);
        lines.extend(secured.iter().flat_map(|(certificates, port)| certificates.lines(port)));
        let text = base + &lines.join("\n") + "\n";
        fs::write(&configuration, text).expect("a temporary file");
        let configuration = configuration.to_str().expect("a path that can be written");
        let server = RedisServer::run(port, &[&[configuration], mode].concat());
        Self { server, proxy, secured: secured.map(|(_, port)| port) }
    }

    /// What it is to others: `127.0.0.1:PORT` of its proxy, or where it speaks TLS.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.announced())
    }

    /// The port of [`address`](Self::address).
    pub(crate) fn announced(&self) -> u16 {
        self.secured.as_ref().map_or(self.proxy.port(), Port::number)
    }
}

/// The addresses, as the URL of a store lists them.
pub(crate) fn addresses(nodes: &[Node]) -> String {
    nodes.iter().map(Node::address).collect::<Vec<_>>().join(",")
}
