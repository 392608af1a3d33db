//! Looks at how the server is set up, once, and warns of what can lose games.

use std::collections::HashMap;

use redis::{RedisResult, aio::ConnectionManager};

/// The oldest server with sharded channels and the forms of SET and PEXPIREAT that are used.
const MAJOR_MIN: u32 = 7;

/// What an operator should know of the server, as sentences; none if all is well. A server that does not let its settings be
/// read is taken at its word.
pub async fn warnings(connection: &mut ConnectionManager) -> RedisResult<Vec<String>> {
    let info: redis::InfoDict = redis::cmd("INFO").arg("server").query_async(connection).await?;
    let mut warnings = Vec::new();
    let version: String = info.get("redis_version").unwrap_or_default();
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_none_or(|major| major < MAJOR_MIN) {
        warnings.push(format!("Redis {version} is too old: {MAJOR_MIN}.0 or newer is needed"));
    }
    let mut command = redis::cmd("CONFIG");
    command.arg("GET").arg("maxmemory").arg("maxmemory-policy").arg("appendonly").arg("save");
    let config: HashMap<String, String> = match command.query_async(connection).await {
        Ok(config) => config,
        Err(error) => {
            tracing::info!(%error, "the settings of Redis cannot be read, and are not checked");
            return Ok(warnings);
        }
    };
    let is = |setting: &str, value: &str| config.get(setting).is_some_and(|is| is == value);
    if is("appendonly", "no") && is("save", "") {
        warnings.push("Redis keeps nothing on disk: a restart loses every game".into());
    } else if is("appendonly", "no") {
        warnings.push("Redis saves snapshots only: a crash loses what came after the last".into());
    }
    let policy = config.get("maxmemory-policy").map_or("noeviction", String::as_str);
    if policy != "noeviction" {
        warnings.push(format!("maxmemory-policy {policy} may evict games: set noeviction"));
    }
    Ok(warnings)
}
