//! Hints from other replicas: a subscription for each game that is watched here, and no other, on the channel that commits
//! signal, at the server that has the game. A hint can be lost without harm, so nothing here is retried harder than once
//! a second; but what happened before a subscription stood is looked for once it does.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use redis::{
    FromRedisValue as _, Pipeline, PushInfo, PushKind, RedisError, RedisResult, Value,
    aio::ConnectionLike as _,
};
use tokio::{
    sync::Notify,
    time::{MissedTickBehavior, interval},
};

use super::Hub;
use crate::{
    error::chain,
    model::GameId,
    store::redis::{Address, Node, RedisUrl, Servers, channel, channel_game, redirection},
    telemetry::Cause,
};

/// How often the connections are tried and the subscriptions are compared with what is watched, without being asked.
const TICK: Duration = Duration::from_secs(1);

/// How many subscriptions are asked for at once.
const BATCH: usize = 500;

/// How often one that is sent on to another server is followed before the next tick.
const FOLLOWED_MAX: usize = 3;

/// Relays hints to `hub`, for as long as it runs.
pub async fn relay(url: RedisUrl, hub: Hub) {
    let heard = Arc::new(Heard::new(hub.clone()));
    let hears = heard.clone();
    let on_push = move |from: &Address, push: &PushInfo| hears.push(from, push);
    let servers = match Servers::new(url, Some(Arc::new(on_push))) {
        Ok(servers) => servers,
        Err(error) => {
            return tracing::error!(error = chain(&error), "no hints come from other replicas");
        }
    };
    let mut subscriptions = Subscriptions { servers, heard: heard.clone(), at: HashMap::new() };
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = hub.changed() => {}
            () = heard.lost.notified() => subscriptions.let_go(),
            _ = tick.tick() => subscriptions.check().await,
        }
        for _ in 0..FOLLOWED_MAX {
            if !subscriptions.adjust(&hub.watched()).await {
                break;
            }
        }
    }
}

/// What servers push.
struct Heard {
    hub: Hub,
    /// Held for a look, never across an await.
    state: Mutex<State>,
    /// Told when a server is lost.
    lost: Notify,
}

#[derive(Default)]
struct State {
    /// Games whose channels we are leaving.
    leaving: HashSet<GameId>,
    /// Servers whose connection has ended, or that took a channel from us as its slot went elsewhere. What such a
    /// connection answers from then on is not to be told from the answer to another command.
    lost: HashSet<Address>,
}

impl Heard {
    fn new(hub: Hub) -> Self {
        Self { hub, state: Mutex::default(), lost: Notify::new() }
    }

    /// No holder of the lock panics midway.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, from: &Address, push: &PushInfo) {
        let bytes = |part: usize| Vec::<u8>::from_redis_value(push.data.get(part)?.clone()).ok();
        let named = || channel_game(&bytes(0)?);
        let lost = match push.kind {
            // What happened before a subscription stood is not told: look once it does.
            PushKind::SMessage | PushKind::SSubscribe => {
                if let Some(id) = named() {
                    self.hub.hint(&id, bytes(1).and_then(|told| Cause::from_bytes(&told)));
                }
                false
            }
            PushKind::SUnsubscribe => named().is_some_and(|id| !self.state().leaving.contains(&id)),
            PushKind::Disconnection => true,
            _ => false,
        };
        if lost {
            self.lose(from);
        }
    }

    fn lose(&self, address: &Address) {
        self.state().lost.insert(address.clone());
        self.lost.notify_one();
    }
}

/// What is subscribed to, and where.
struct Subscriptions {
    servers: Servers,
    heard: Arc<Heard>,
    /// The server, and the number of the connection to it.
    at: HashMap<GameId, (Arc<Node>, u64)>,
}

impl Subscriptions {
    /// Lets go of the connections that were lost, and of all that was subscribed to there.
    fn let_go(&mut self) {
        let lost = std::mem::take(&mut self.heard.state().lost);
        self.at.retain(|_, (node, _)| {
            let is_lost = lost.contains(node.address());
            if is_lost {
                node.forget();
            }
            !is_lost
        });
        self.servers.suspect();
    }

    /// Tries the connections, and sees which games have gone to another server.
    async fn check(&mut self) {
        self.servers.keep_up().await;
        let mut in_use: HashMap<Address, (Arc<Node>, u64)> = HashMap::new();
        let mut lost = HashSet::new();
        for (id, (node, made)) in &self.at {
            in_use.entry(node.address().clone()).or_insert_with(|| (node.clone(), *made));
            let owner = self.servers.of(&channel(id)).await;
            if owner.is_ok_and(|owner| !Arc::ptr_eq(&owner, node)) {
                lost.insert(node.address().clone());
            }
        }
        let mut ping = Pipeline::new();
        ping.cmd("PING");
        for (address, (node, subscribed)) in in_use {
            match ask(&node, &ping).await {
                Ok((made, _)) if made == subscribed => {}
                // It is another connection by now.
                Ok(_) => drop(lost.insert(address)),
                Err(error) => interrupted(&error),
            }
        }
        if !lost.is_empty() {
            self.heard.state().lost.extend(lost);
            self.let_go();
        }
    }

    /// Subscribes to what is watched and to nothing else. What fails is done at the next tick; answers whether something
    /// was sent on and can be done at once.
    async fn adjust(&mut self, watched: &HashSet<GameId>) -> bool {
        let mut by_node: HashMap<Address, (Arc<Node>, Vec<GameId>)> = HashMap::new();
        for id in watched.iter().filter(|id| !self.at.contains_key(id)) {
            let Ok(owner) = self.servers.of(&channel(id)).await else { continue };
            let batch = by_node.entry(owner.address().clone()).or_insert((owner, Vec::new()));
            batch.1.push(id.clone());
        }
        let mut sent_on = false;
        for (node, ids) in by_node.into_values() {
            for ids in ids.chunks(BATCH) {
                sent_on |= self.subscribe(&node, ids).await;
            }
        }
        let old: Vec<_> = self.at.keys().filter(|id| !watched.contains(id)).cloned().collect();
        for id in old {
            let Some((node, _)) = self.at.remove(&id) else { continue };
            self.heard.state().leaving.insert(id.clone());
            if ask(&node, &each("SUNSUBSCRIBE", std::slice::from_ref(&id))).await.is_err() {
                node.forget();
            }
            self.heard.state().leaving.remove(&id);
        }
        sent_on
    }

    /// Subscribes to these games at a server; answers whether it sent one on to another.
    async fn subscribe(&mut self, node: &Arc<Node>, ids: &[GameId]) -> bool {
        let (made, answers) = match ask(node, &each("SSUBSCRIBE", ids)).await {
            Ok(asked) => asked,
            Err(error) => {
                interrupted(&error);
                self.servers.suspect();
                return false;
            }
        };
        let mut sent_on = false;
        for (id, answer) in ids.iter().zip(answers) {
            let error = match answer.extract_error() {
                Ok(answer) if confirms(&answer, id) => {
                    self.at.insert(id.clone(), (node.clone(), made));
                    continue;
                }
                // The answer to something else: see `State::lost`.
                Ok(_) => {
                    self.heard.lose(node.address());
                    return false;
                }
                Err(error) => error,
            };
            self.servers.suspect();
            let there = redirection(&error, node.address());
            match there.map(|there| self.servers.moved(&channel(id), &there)) {
                Some(Ok(())) => sent_on = true,
                Some(Err(error)) => interrupted(&error),
                None => interrupted(&error),
            }
        }
        sent_on
    }
}

/// Whether this is the word that the game's channel is subscribed to.
fn confirms(answer: &Value, id: &GameId) -> bool {
    let Value::Push { kind: PushKind::SSubscribe, data } = answer else { return false };
    let name = data.first().and_then(|name| Vec::<u8>::from_redis_value(name.clone()).ok());
    name.as_deref().and_then(channel_game).as_ref() == Some(id)
}

fn interrupted(error: &RedisError) {
    tracing::debug!(error = chain(error), "hints from other replicas are interrupted");
}

/// A command for each of these games' channels. Those of one command would have to be of one slot.
fn each(command: &str, ids: &[GameId]) -> Pipeline {
    let mut commands = Pipeline::new();
    for id in ids {
        commands.cmd(command).arg(channel(id));
    }
    commands
}

/// Asks a server, and answers over which connection as well.
async fn ask(node: &Node, commands: &Pipeline) -> RedisResult<(u64, Vec<Value>)> {
    let mut connection = node.connection().await?;
    let answers = connection.req_packed_commands(commands, 0, commands.len()).await;
    node.note(connection.made(), answers.as_ref().err());
    Ok((connection.made(), answers?))
}
