//! The names of all keys. `docs/redis.md` lists them.

use sha2::{Digest as _, Sha256};

use crate::{model::GameId, store::listing::Facet};

/// How many sorted sets share the rows of one status, so that no one key, and in a cluster no one node, has them all.
pub const SHARDS: u8 = 16;

/// What every key of a game begins with.
pub const GAME_PREFIX: &str = "rv:g:";

/// Who sweeps.
pub const SWEEPER: &str = "rv:sweeper";

/// A game's entry; also its channel.
pub fn game(id: &GameId) -> String {
    format!("{GAME_PREFIX}{id}")
}

/// The game whose key or channel this is.
pub fn game_id(key: &[u8]) -> Option<GameId> {
    let id = key.strip_prefix(GAME_PREFIX.as_bytes())?;
    std::str::from_utf8(id).ok().map(GameId::new)
}

/// A layout.
pub fn layout(id: &str) -> String {
    format!("rv:l:{id}")
}

/// What is written to see replicas take it in: one of many, so that one is in a slot that the server has.
pub fn marker(number: u64) -> String {
    format!("rv:w:{number}")
}

/// The same, in the slot of `key`: for a server that has none yet, to which this one is on its way.
pub fn marker_beside(key: &str) -> String {
    format!("rv:w:{{{key}}}")
}

/// The sorted set that a game's row under `facet` is in. There are none under `All`: the three statuses are all.
pub fn row(facet: &Facet, id: &GameId) -> Option<String> {
    match facet {
        Facet::All => None,
        Facet::Status(status) => {
            let shard = Sha256::digest(id.as_str())[0] % SHARDS;
            Some(format!("rv:s:{}:{shard}", status.number()))
        }
        Facet::Player(player) => Some(format!("rv:p:{player}")),
        Facet::Label(key, value) => Some(format!("rv:t:{key}={value}")),
    }
}

/// All sorted sets that rows under `facet` are in.
pub fn rows(facet: &Facet) -> Vec<String> {
    let shards = |status: u8| (0..SHARDS).map(move |shard| format!("rv:s:{status}:{shard}"));
    match facet {
        Facet::All => (1..=3).flat_map(shards).collect(),
        Facet::Status(status) => shards(status.number()).collect(),
        Facet::Player(player) => vec![format!("rv:p:{player}")],
        Facet::Label(key, value) => vec![format!("rv:t:{key}={value}")],
    }
}
