//! What most of some servers say.

use std::sync::Arc;

use redis::{ErrorKind, RedisError, RedisResult, Value, aio::ConnectionLike as _};
use tokio::task::JoinSet;

use crate::store::redis::node::Node;

/// Asks all of them at once for `N` answers each, until more than half have answered, or all that do.
pub async fn ask_most<const N: usize>(
    nodes: Vec<Arc<Node>>,
    ask: redis::Pipeline,
) -> RedisResult<Vec<(Arc<Node>, [Value; N])>> {
    let most = nodes.len() / 2 + 1;
    let mut asked = JoinSet::new();
    for node in nodes {
        let ask = ask.clone();
        asked.spawn(async move {
            let mut connection = node.connection().await?;
            let answers = connection.req_packed_commands(&ask, 0, N).await;
            node.note(connection.made(), answers.as_ref().err());
            let answers: RedisResult<Vec<Value>> =
                answers?.into_iter().map(Value::extract_error).collect();
            let fewer = |_| RedisError::from((ErrorKind::Parse, "more answers were due"));
            RedisResult::Ok((node, <[Value; N]>::try_from(answers?).map_err(fewer)?))
        });
    }
    let mut told = Vec::new();
    let mut failed = RedisError::from((ErrorKind::ClusterConnectionNotFound, "no server is known"));
    while let Some(ended) = asked.join_next().await {
        match ended {
            Ok(Ok(answers)) => told.push(answers),
            Ok(Err(error)) => failed = error,
            Err(_) => {}
        }
        if told.len() >= most {
            break;
        }
    }
    if told.is_empty() { Err(failed) } else { Ok(told) }
}
