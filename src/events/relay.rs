//! Hints from other replicas: a subscription for each game that is watched here, and no other, on the channel that commits
//! signal. A hint can be lost without harm, so nothing here is retried harder than once a second.

use std::{collections::HashSet, convert::Infallible, time::Duration};

use redis::{Client, FromRedisValue as _, PushInfo, PushKind, RedisResult, aio::ConnectionManager};
use tokio::time::{MissedTickBehavior, interval};

use super::Hub;
use crate::{
    model::GameId,
    store::redis::{RedisUrl, channel, channel_game, config},
    telemetry::Cause,
};

/// How often the connection is tried and the subscriptions are compared with what is watched, without being asked.
const TICK: Duration = Duration::from_secs(1);

/// After how many tries in a row that failed another connection is made.
const FAILED_MAX: u32 = 2;

/// Relays hints to `hub`, for as long as it runs.
pub async fn relay(url: RedisUrl, hub: Hub) {
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let connected = connect(url.client(), hub.clone());
        match connected {
            Ok(connection) => follow(connection, &hub, &mut tick).await,
            Err(error) => tracing::warn!(%error, "no hints come from other replicas"),
        }
        tick.tick().await;
    }
}

/// A connection that hands every message to `hub`, and subscribes again by itself when it was lost.
fn connect(client: Client, hub: Hub) -> RedisResult<ConnectionManager> {
    let heed = move |push: PushInfo| -> Result<(), Infallible> {
        // What happened before a subscription stood is not told: look once it does.
        let mut data = push.data.into_iter();
        if matches!(push.kind, PushKind::SMessage | PushKind::SSubscribe)
            && let Some(name) = data.next()
            && let Ok(name) = Vec::<u8>::from_redis_value(name)
            && let Some(id) = channel_game(&name)
        {
            let told = data.next().and_then(|told| Vec::<u8>::from_redis_value(told).ok());
            let cause = told.and_then(|told| Cause::from_bytes(&told));
            hub.hint(&id, cause);
        }
        Ok(())
    };
    let config = config().set_push_sender(heed).set_automatic_resubscription();
    ConnectionManager::new_lazy_with_config(client, config)
}

/// Keeps the subscriptions to what is watched, until the connection seems to lead nowhere.
async fn follow(mut connection: ConnectionManager, hub: &Hub, tick: &mut tokio::time::Interval) {
    let mut subscribed = HashSet::new();
    let mut failed = 0;
    while failed < FAILED_MAX {
        let tried = tokio::select! {
            () = hub.changed() => adjust(&mut connection, hub, &mut subscribed).await,
            _ = tick.tick() => {
                let ping = redis::cmd("PING").exec_async(&mut connection).await;
                match ping {
                    Ok(()) => adjust(&mut connection, hub, &mut subscribed).await,
                    error => error,
                }
            }
        };
        failed = match tried {
            Ok(()) => 0,
            Err(error) => {
                tracing::debug!(%error, "hints from other replicas are interrupted");
                failed + 1
            }
        };
    }
}

async fn adjust(
    connection: &mut ConnectionManager,
    hub: &Hub,
    subscribed: &mut HashSet<GameId>,
) -> RedisResult<()> {
    let watched = hub.watched();
    let new: Vec<_> = watched.difference(subscribed).cloned().collect();
    for id in new {
        redis::cmd("SSUBSCRIBE").arg(channel(&id)).exec_async(connection).await?;
        subscribed.insert(id);
    }
    let old: Vec<_> = subscribed.difference(&watched).cloned().collect();
    for id in old {
        redis::cmd("SUNSUBSCRIBE").arg(channel(&id)).exec_async(connection).await?;
        subscribed.remove(&id);
    }
    Ok(())
}
