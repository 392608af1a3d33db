//! Asks the server that has a key, follows it where it goes, and tells "nothing was done" from "nobody knows".
//!
//! Nothing is sent a second time here but what a server turned away.

use std::{collections::HashMap, sync::Arc};

use redis::{
    Cmd, FromRedisValue, Pipeline, RedisError, RedisResult, Value, aio::ConnectionLike as _,
};
use tokio::task::JoinSet;

use super::{
    node::{Connection, Node},
    replication::Replication,
    servers::Servers,
    slots::redirection,
    url::{Address, RedisUrl},
};
use crate::error::{StoreError, chain};

/// How often a command is sent on to another server before its caller is told.
const REDIRECTIONS_MAX: usize = 5;

/// A command, and the key that says where it goes.
pub type Keyed = (String, Cmd);

/// The way to Redis that all calls share. Cheap to clone.
#[derive(Clone)]
pub struct Link {
    servers: Arc<Servers>,
    /// Only if changes are to be on a replica as well.
    replication: Option<Arc<Replication>>,
}

/// What a server's error means to who asked.
enum Verdict {
    /// It is at another server, for good or for this once.
    Elsewhere { ask: bool },
    /// Nothing was done.
    NotDone,
    /// It may have been done.
    Unknown,
}

impl Link {
    /// A link that connects when it is first used.
    ///
    /// # Errors
    ///
    /// Those of certificates that cannot be used.
    pub fn new(url: &RedisUrl) -> RedisResult<Self> {
        let servers = Arc::new(Servers::new(url.clone(), None)?);
        let replication =
            url.is_replicated().then(|| Arc::new(Replication::new(url.clone(), servers.clone())));
        Ok(Self { servers, replication })
    }

    /// The servers.
    pub fn servers(&self) -> &Servers {
        &self.servers
    }

    /// Lets go of all connections for good.
    pub fn close(&self) {
        self.servers.close();
        if let Some(replication) = &self.replication {
            replication.close();
        }
    }

    /// Asks what changes nothing, or may be done twice, of the server that has `key`.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotDone`].
    pub async fn ask<T: FromRedisValue>(&self, key: &str, command: &Cmd) -> Result<T, StoreError> {
        let asked = |mut connection| async move { command.query_async(&mut connection).await };
        self.at(key, false, asked).await.map_err(repeatable)
    }

    /// Runs what changes something under `key`, once; where changes are to be on a replica as well, it then is.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotDone`]; [`StoreError::Unavailable`]: it may or may not have been done.
    pub async fn change<T, F>(
        &self,
        key: &str,
        commands: impl Fn(Connection) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = RedisResult<T>>,
    {
        self.at(key, true, commands).await
    }

    /// As [`Self::ask`]; and what is there was on a replica before it is answered, where changes are to be.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotDone`].
    pub async fn ask_lasting<T: FromRedisValue>(
        &self,
        key: &str,
        command: &Cmd,
    ) -> Result<T, StoreError> {
        let asked = |mut connection| async move { command.query_async(&mut connection).await };
        self.at(key, true, asked).await.map_err(repeatable)
    }

    async fn at<T, F>(
        &self,
        key: &str,
        lasting: bool,
        commands: impl Fn(Connection) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = RedisResult<T>>,
    {
        let replication = self.replication.as_ref().filter(|_| lasting);
        let mut asked_for: Option<Arc<Node>> = None;
        for _ in 0..REDIRECTIONS_MAX {
            let asking = asked_for.is_some();
            let node = match asked_for.take() {
                Some(node) => node,
                None => self.servers.of(key).await.map_err(not_done)?,
            };
            let connection = self.connection(&node).await?.asking(asking);
            let made = connection.made();
            let ticket = match replication {
                Some(replication) => Some(replication.begin(&node, &connection).await?),
                None => None,
            };
            let result = commands(connection).await;
            node.note(made, result.as_ref().err());
            let error = match (result, replication, ticket) {
                (Ok(answer), Some(replication), Some(ticket)) => {
                    let lasts = replication.wait(ticket, key).await;
                    if lasts.is_err() {
                        // Perhaps a replica that is waited for is known to be gone by now.
                        self.servers.suspect();
                    }
                    return lasts.map(|()| answer);
                }
                (Ok(answer), _, _) => return Ok(answer),
                (Err(error), _, _) => error,
            };
            match self.verdict(&error) {
                Verdict::Elsewhere { ask } => {
                    let there = self.redirected(&node, &error)?;
                    match ask {
                        true => asked_for = Some(there),
                        false => self.servers.moved(key, there.address()).map_err(not_done)?,
                    }
                }
                Verdict::NotDone => return Err(not_done(error)),
                Verdict::Unknown => return Err(unknown(error)),
            }
        }
        Err(StoreError::NotDone("the key is sent from one server to another".into()))
    }

    /// Asks many things, each of which may be done twice, of the servers that have their keys; answers in the same order.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotDone`].
    pub async fn ask_all(&self, commands: Vec<Keyed>) -> Result<Vec<Value>, StoreError> {
        let mut by_node: HashMap<Address, Batch> = HashMap::new();
        for (index, (key, command)) in commands.iter().enumerate() {
            let node = self.servers.of(key).await.map_err(not_done)?;
            let address = node.address().clone();
            let batch = by_node.entry(address).or_insert_with(|| Batch::new(node));
            batch.indexes.push(index);
            batch.pipeline.add_command(command.clone());
        }
        let mut asking = JoinSet::new();
        for batch in by_node.into_values() {
            let link = self.clone();
            asking.spawn(async move { link.ask_batch(batch).await });
        }
        let mut answers = vec![Value::Nil; commands.len()];
        for batch in asking.join_all().await {
            for (index, answer) in batch? {
                let (key, command) = &commands[index];
                answers[index] = match answer.extract_error() {
                    Ok(answer) => answer,
                    Err(error) => match self.verdict(&error) {
                        // Its key has moved: it is followed there alone.
                        Verdict::Elsewhere { .. } => self.ask(key, command).await?,
                        Verdict::NotDone | Verdict::Unknown => return Err(not_done(error)),
                    },
                };
            }
        }
        Ok(answers)
    }

    async fn ask_batch(&self, batch: Batch) -> Result<Vec<(usize, Value)>, StoreError> {
        let mut connection = self.connection(&batch.node).await?;
        let count = batch.indexes.len();
        let answers = connection.req_packed_commands(&batch.pipeline, 0, count).await;
        batch.node.note(connection.made(), answers.as_ref().err());
        let answers = answers.map_err(|error| {
            self.verdict(&error);
            not_done(error)
        })?;
        Ok(batch.indexes.into_iter().zip(answers).collect())
    }

    /// Asks one server, wherever any key is, what changes nothing.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotDone`].
    pub async fn ask_node<T: FromRedisValue>(
        &self,
        node: &Node,
        command: &Cmd,
    ) -> Result<T, StoreError> {
        let mut connection = self.connection(node).await?;
        let answer = command.query_async(&mut connection).await;
        node.note(connection.made(), answer.as_ref().err());
        answer.map_err(|error| {
            self.verdict(&error);
            not_done(error)
        })
    }

    /// All primaries.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotDone`]: none is known.
    pub async fn primaries(&self) -> Result<Vec<Arc<Node>>, StoreError> {
        self.servers.primaries().await.map_err(not_done)
    }

    async fn connection(&self, node: &Node) -> Result<Connection, StoreError> {
        node.connection().await.map_err(|error| {
            self.servers.suspect();
            not_done(error)
        })
    }

    fn redirected(&self, from: &Node, error: &RedisError) -> Result<Arc<Node>, StoreError> {
        let there = redirection(error, from.address());
        let there = there.ok_or_else(|| StoreError::NotDone(error.to_string()))?;
        self.servers.node(&there).map_err(not_done)
    }

    /// What an error means; also for what is known of the servers.
    fn verdict(&self, error: &RedisError) -> Verdict {
        let verdict = verdict(error);
        if matches!(verdict, Verdict::NotDone | Verdict::Unknown) {
            self.servers.suspect();
        }
        verdict
    }
}

/// What is asked of one server.
struct Batch {
    node: Arc<Node>,
    /// Where among all commands these are.
    indexes: Vec<usize>,
    pipeline: Pipeline,
}

impl Batch {
    fn new(node: Arc<Node>) -> Self {
        Self { node, indexes: Vec::new(), pipeline: Pipeline::new() }
    }
}

/// With these a server turns a command away before it has done any of it. Our scripts check first and write last, so that
/// holds for them as well.
fn verdict(error: &RedisError) -> Verdict {
    match error.code() {
        Some("MOVED") => Verdict::Elsewhere { ask: false },
        Some("ASK") => Verdict::Elsewhere { ask: true },
        Some(
            "TRYAGAIN" | "CLUSTERDOWN" | "READONLY" | "LOADING" | "MASTERDOWN" | "NOREPLICAS"
            | "MISCONF" | "OOM" | "BUSY" | "NOSCRIPT" | "NOAUTH" | "NOPERM",
        ) => Verdict::NotDone,
        _ => Verdict::Unknown,
    }
}

/// Why is logged where the answer is made.
fn not_done(error: RedisError) -> StoreError {
    StoreError::NotDone(chain(&error))
}

fn unknown(error: RedisError) -> StoreError {
    StoreError::Unavailable(chain(&error))
}

/// Of what may be done twice it does not matter whether it was done.
pub fn repeatable(error: StoreError) -> StoreError {
    if let StoreError::Unavailable(cause) = error { StoreError::NotDone(cause) } else { error }
}
