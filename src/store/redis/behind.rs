//! Broken on purpose: reads where Redis may be behind. Test builds alone have it, see `sabotage`.

use redis::{RedisResult, Value};

use super::link::Link;
use crate::error::StoreError;

/// What a replica of the server that has `key` has there.
pub async fn get(link: &Link, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let role: Vec<Value> = link.ask(key, &redis::cmd("ROLE")).await?;
    let get = async {
        let replicas: Vec<Vec<String>> = redis::from_redis_value(role[2].clone())?;
        let [host, port, ..] = replicas[0].as_slice() else { panic!("a replica has an address") };
        let client = redis::Client::open(format!("redis://{host}:{port}"))?;
        let mut connection = client.get_multiplexed_async_connection().await?;
        // Refused where there are no slots, and needed where there are.
        let _ = redis::cmd("READONLY").exec_async(&mut connection).await;
        redis::Cmd::get(key).query_async(&mut connection).await
    };
    let got: RedisResult<_> = get.await;
    got.map_err(|error| StoreError::NotDone(error.to_string()))
}
