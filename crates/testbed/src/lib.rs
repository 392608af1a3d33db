//! Real Redis on loopback for tests: one server, a Sentinel trio, or a Cluster, and proxies in front of them through which
//! the network can be broken.
//!
//! Everything here panics where it cannot do its part, is killed when dropped, and keeps its files in a temporary folder.
//! Commands go through `redis-cli`, as an operator's do, and block for the few milliseconds that it takes.

mod certificates;
mod cluster;
mod node;
mod ports;
mod proxy;
mod redis;
mod sentinel;

use std::time::{Duration, Instant};

pub use self::{
    certificates::Certificates,
    cluster::{Cluster, SLOTS},
    node::Node,
    ports::Port,
    proxy::Proxy,
    redis::RedisServer,
    sentinel::SentinelTrio,
};

/// No condition that is waited for here takes longer, unless it is broken.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// How long it takes for sure until a promotion that was asked for has come to nothing.
const ASK_AGAIN: Duration = Duration::from_secs(7);

/// Waits until the condition holds.
///
/// # Panics
///
/// If it does not in [`PATIENCE`].
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
