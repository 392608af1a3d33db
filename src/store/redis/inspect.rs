//! Looks at how the server is set up, once, and warns of what can lose games.

use std::collections::HashMap;

use super::{link::Link, node::Node};
use crate::error::StoreError;

/// The oldest server with sharded channels and the forms of SET and PEXPIREAT that are used.
const MAJOR_MIN: u32 = 7;

/// What an operator should know of the server, as sentences; none if all is well. A server that does not let its settings be
/// read is taken at its word.
pub async fn warnings(link: &Link, node: &Node) -> Result<Vec<String>, StoreError> {
    let info: redis::InfoDict = link.ask_node(node, redis::cmd("INFO").arg("server")).await?;
    let version: String = info.get("redis_version").unwrap_or_default();
    let mut command = redis::cmd("CONFIG");
    command.arg("GET").arg("maxmemory-policy").arg("appendonly").arg("save");
    let config = link.ask_node(node, &command).await.unwrap_or_else(|error| {
        tracing::info!(%error, "the settings of Redis cannot be read, and are not checked");
        HashMap::new()
    });
    let is_node = info.get::<String>("redis_mode").as_deref() == Some("cluster");
    let alone = (is_node && !link.servers().is_cluster()).then(|| {
        "Redis is a node of a Cluster: redis-cluster:// finds the others, and follows a failover".into()
    });
    Ok(of_version(&version).into_iter().chain(alone).chain(of_settings(&config)).collect())
}

fn of_version(version: &str) -> Option<String> {
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    let old = major.is_none_or(|major| major < MAJOR_MIN);
    old.then(|| format!("Redis {version} is too old: {MAJOR_MIN}.0 or newer is needed"))
}

/// Settings that are not told are taken for sound ones.
fn of_settings(config: &HashMap<String, String>) -> impl Iterator<Item = String> {
    let is = |setting: &str, value: &str| config.get(setting).is_some_and(|is| is == value);
    let disk = match (is("appendonly", "no"), is("save", "")) {
        (false, _) => None,
        (true, true) => Some("Redis keeps nothing on disk: a restart loses every game".into()),
        (true, false) => {
            Some("Redis saves snapshots only: a crash loses what came after the last".into())
        }
    };
    let policy = config.get("maxmemory-policy").filter(|policy| *policy != "noeviction");
    let evicts =
        policy.map(|policy| format!("maxmemory-policy {policy} may evict games: set noeviction"));
    disk.into_iter().chain(evicts)
}

#[cfg(test)]
mod tests {
    use super::of_version;

    #[test]
    fn an_old_server_is_named_and_a_newer_one_is_not() {
        for version in ["7.0.15", "7.2.4", "8.0.1", "10.0.0"] {
            assert_eq!(of_version(version), None);
        }
        let too_old = "Redis 6.2.14 is too old: 7.0 or newer is needed";
        assert_eq!(of_version("6.2.14").as_deref(), Some(too_old));
        assert!(of_version("").is_some() && of_version("unknown").is_some());
    }
}
