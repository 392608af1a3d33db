//! Waits until replicas have what was committed: durability `replicated`.
//!
//! All of those that are not down: of two replicas one can be promoted while the primary, which does not know it yet, still
//! commits to the other. WAIT tells how many replicas have something, not which.
//!
//! WAIT counts only what its own connection wrote, and holds that connection up. So each primary has one more
//! connection, for waiting alone: a marker is written there after the commit was answered, and once a replica has the
//! marker it has every earlier commit. One round covers all who came before it. In a Cluster the marker is in any slot that
//! stays with the primary, whatever becomes of those that its waiters wrote to.
//!
//! That holds only if nothing happened to the primary in between: the history of its data, which has a name of its own
//! after every promotion and every start, must be the same before the commit and after the wait.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use redis::{InfoDict, RedisError, RedisResult, Value, aio::ConnectionLike as _};
use tokio::sync::oneshot;

use super::{
    keys,
    node::{Connection, Node},
    servers::Servers,
    url::{Address, RedisUrl},
};
use crate::error::StoreError;

/// How long replicas have to take in what was committed.
const REPLICATED: Duration = Duration::from_secs(1);

/// How many must have it, however few there are.
const REPLICAS_MIN: usize = 1;

/// How long a marker is kept.
const MARKER_MS: u64 = 10_000;

/// How many markers a round tries, each in another slot: one that migrates may take none.
const MARKERS_MAX: usize = 4;

/// The waiters of all primaries.
pub struct Replication {
    url: RedisUrl,
    servers: Arc<Servers>,
    /// Held for a look, never across an await.
    waiters: Mutex<HashMap<Address, Arc<Waiter>>>,
}

/// What a primary was before a commit.
pub struct Ticket {
    waiter: Arc<Waiter>,
    before: History,
}

/// The name of a primary's data, and of the process that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct History {
    run: String,
    data: String,
}

/// The waiting at one primary.
struct Waiter {
    node: Node,
    servers: Arc<Servers>,
    /// Held for a look, never across an await.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What the primary was after the last round, and how many replicas followed it.
    seen: Option<History>,
    following: usize,
    /// From which number on markers are tried.
    marker: u64,
    /// The process that the commits' connection of this number leads to.
    run: Option<(u64, String)>,
    /// Who waits for the next round, and for which key.
    waiting: Vec<Waiting>,
    /// Whether rounds are being made.
    running: bool,
}

/// Who waits, and for what was written under which key.
struct Waiting {
    key: String,
    tell: oneshot::Sender<Result<History, String>>,
}

impl Replication {
    /// Nothing is connected yet.
    pub fn new(url: RedisUrl, servers: Arc<Servers>) -> Self {
        Self { url, servers, waiters: Mutex::default() }
    }

    /// What the primary at `node` is now, before a commit over `connection`.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotDone`]: it cannot be seen.
    pub async fn begin(&self, node: &Node, connection: &Connection) -> Result<Ticket, StoreError> {
        let not_done = |error: RedisError| StoreError::NotDone(error.to_string());
        let waiter = self.waiter(node).map_err(not_done)?;
        let run = waiter.run_of(connection).await.map_err(not_done)?;
        let seen = waiter.state().seen.clone().filter(|seen| seen.run == run);
        let before = match seen {
            Some(before) => before,
            None => waiter.look().await.map_err(not_done)?,
        };
        if before.run != run {
            node.forget();
            return Err(StoreError::NotDone("two connections lead to two servers".into()));
        }
        Ok(Ticket { waiter, before })
    }

    /// Waits until every replica that is not down has all that was committed since, under `key` too.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`]: one may not have it, though the commit was done.
    pub async fn wait(&self, ticket: Ticket, key: &str) -> Result<(), StoreError> {
        let Ticket { waiter, before } = ticket;
        let after = waiter.next_round(key).await.map_err(StoreError::Unavailable)?;
        match after == before {
            true => Ok(()),
            false => Err(StoreError::Unavailable("another primary has taken over".into())),
        }
    }

    /// Lets go of all connections for good.
    pub fn close(&self) {
        self.waiters().values().for_each(|waiter| waiter.node.close());
    }

    fn waiter(&self, node: &Node) -> RedisResult<Arc<Waiter>> {
        let address = node.address();
        let mut waiters = self.waiters();
        if let Some(waiter) = waiters.get(address) {
            return Ok(waiter.clone());
        }
        let node = Node::new(address.clone(), self.url.client(address)?, false, None);
        let servers = self.servers.clone();
        let waiter = Arc::new(Waiter { node, servers, state: Mutex::default() });
        // One comes with a new primary, and those of primaries that are gone go.
        waiters.retain(|address, _| self.servers.is_known(address));
        waiters.insert(address.clone(), waiter.clone());
        Ok(waiter)
    }

    /// No holder of the lock panics midway.
    fn waiters(&self) -> MutexGuard<'_, HashMap<Address, Arc<Waiter>>> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiter {
    /// No holder of the lock panics midway.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process that commits go to.
    async fn run_of(&self, connection: &Connection) -> RedisResult<String> {
        let made = connection.made();
        if let Some((_, run)) = self.state().run.as_ref().filter(|(known, _)| *known == made) {
            return Ok(run.clone());
        }
        let mut connection = connection.clone();
        let info: InfoDict = redis::cmd("INFO").arg("server").query_async(&mut connection).await?;
        let run: String = info.get("run_id").unwrap_or_default();
        self.state().run = Some((made, run.clone()));
        Ok(run)
    }

    /// What the primary is now.
    async fn look(&self) -> RedisResult<History> {
        let mut connection = self.node.connection().await?;
        let info = info().query_async(&mut connection).await;
        self.node.note(connection.made(), info.as_ref().err());
        self.see(&info?)
    }

    fn see(&self, info: &InfoDict) -> RedisResult<History> {
        let history = history(info)?;
        let mut state = self.state();
        state.seen = Some(history.clone());
        state.following = following(info);
        Ok(history)
    }

    /// Waits for a round that begins after this call.
    async fn next_round(self: &Arc<Self>, key: &str) -> Result<History, String> {
        let (tell, told) = oneshot::channel();
        let begin = {
            let mut state = self.state();
            state.waiting.push(Waiting { key: key.to_owned(), tell });
            !std::mem::replace(&mut state.running, true)
        };
        if begin {
            tokio::spawn(rounds(self.clone()));
        }
        told.await.unwrap_or_else(|_| Err("a round was not ended".into()))
    }

    /// A round; `key` is one of those that were written to.
    async fn round(&self, key: &str) -> RedisResult<History> {
        let address = self.node.address();
        let mut from = self.state().marker;
        for _ in 1..MARKERS_MAX {
            let Some(number) = self.servers.number_at(address, keys::marker, from) else { break };
            match self.round_by(&keys::marker(number), false).await {
                Err(error) if is_of_slot(&error) => from = number + 1,
                ended => {
                    self.state().marker = number;
                    return ended;
                }
            }
        }
        self.round_by(&keys::marker_beside(key), self.servers.is_cluster()).await
    }

    async fn round_by(&self, marker: &str, asking: bool) -> RedisResult<History> {
        // Of those that followed at the last round one may have been promoted since.
        let replicas = self.servers.replicas_of(self.node.address());
        let wanted = replicas.max(self.state().following).max(REPLICAS_MIN);
        let connection = self.node.connection().await?;
        let mut connection = connection.patient(REPLICATED);
        let mut round = redis::pipe();
        if asking {
            round.cmd("ASKING");
        }
        round.cmd("SET").arg(marker).arg("").arg("PX").arg(MARKER_MS);
        round.cmd("WAIT").arg(wanted).arg(REPLICATED.as_millis() as u64);
        round.add_command(info());
        let count = round.len();
        let answers = connection.req_packed_commands(&round, 0, count).await;
        self.node.note(connection.made(), answers.as_ref().err());
        let answers: RedisResult<Vec<Value>> =
            answers?.into_iter().map(Value::extract_error).collect();
        let mut answers = answers?.into_iter().rev();
        let (info, replicas) = (answers.next().unwrap_or(Value::Nil), answers.next());
        let replicas: usize = redis::from_redis_value(replicas.unwrap_or(Value::Nil))?;
        let history = self.see(&redis::from_redis_value(info)?)?;
        // And of those that follow now, whoever knew of them before: the first round of a process knows of none.
        let wanted = wanted.max(self.state().following);
        match replicas >= wanted {
            true => Ok(history),
            false => {
                let what = format!("{replicas} of {wanted}");
                Err((redis::ErrorKind::Client, "replicas have taken it in", what).into())
            }
        }
    }
}

/// Makes rounds for as long as somebody waits.
async fn rounds(waiter: Arc<Waiter>) {
    loop {
        let waiting = {
            let mut state = waiter.state();
            let waiting = std::mem::take(&mut state.waiting);
            state.running = !waiting.is_empty();
            waiting
        };
        let Some(first) = waiting.first() else { return };
        let ended = waiter.round(&first.key).await.map_err(|error| error.to_string());
        for Waiting { tell, .. } in waiting {
            let _ = tell.send(ended.clone());
        }
    }
}

/// How many replicas follow, each with all that the primary has or soon; not those that are still sent their first copy, nor
/// whoever is sent one for a backup.
fn following(info: &InfoDict) -> usize {
    let connected: usize = info.get("connected_slaves").unwrap_or_default();
    let line = |number| info.get::<String>(&format!("slave{number}"));
    (0..connected).filter_map(line).filter(|line| line.contains("state=online")).count()
}

/// Whether a server turned a key away because of its slot.
fn is_of_slot(error: &RedisError) -> bool {
    matches!(error.code(), Some("ASK" | "MOVED" | "TRYAGAIN"))
}

fn info() -> redis::Cmd {
    let mut info = redis::cmd("INFO");
    info.arg("server").arg("replication");
    info
}

fn history(info: &InfoDict) -> RedisResult<History> {
    let read = |name| info.get::<String>(name);
    match (read("role").as_deref(), read("run_id"), read("master_replid")) {
        (Some("master"), Some(run), Some(data)) => Ok(History { run, data }),
        _ => Err((redis::ErrorKind::Client, "it is not a primary").into()),
    }
}
