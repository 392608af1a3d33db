//! Scripts on one key, by their hash; by their text where Redis does not know them (any more).

use redis::{ErrorKind, FromRedisValue, RedisResult, ServerErrorKind, ToRedisArgs};

use super::node::Connection;

/// A script.
pub struct Script {
    text: &'static str,
    hash: String,
}

impl Script {
    /// A script of this text.
    pub fn new(text: &'static str) -> Self {
        Self { text, hash: redis::Script::new(text).get_hash().to_owned() }
    }

    /// Runs it, once.
    pub async fn run<T: FromRedisValue>(
        &self,
        connection: &mut Connection,
        key: &str,
        arguments: &(impl ToRedisArgs + Sync),
    ) -> RedisResult<T> {
        let command = |name, script| {
            let mut command = redis::cmd(name);
            command.arg(script).arg(1).arg(key).arg(arguments);
            command
        };
        let unknown = ErrorKind::Server(ServerErrorKind::NoScript);
        match command("EVALSHA", self.hash.as_str()).query_async(connection).await {
            // Not loaded first: it could be forgotten in between.
            Err(error) if error.kind() == unknown => {
                command("EVAL", self.text).query_async(connection).await
            }
            answer => answer,
        }
    }
}
