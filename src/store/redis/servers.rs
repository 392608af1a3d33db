//! Which server has what: the one, the primary that Sentinels name, or the primaries of a Cluster by slots. Whoever finds a
//! server changed says so, and the next to ask looks again; one look is shared by all.

mod most;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use redis::{ErrorKind, RedisError, RedisResult};
use tokio::time::Instant;

use self::most::ask_most;
use super::{
    node::{Node, OnPush},
    slots::{Claims, SLOTS, Seen, slot},
    url::{Address, Kind, RedisUrl},
};

/// How long after a look the next one is made, however often it is asked for.
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// How old what was seen may become: a primary that was cut off, or has a successor and does not know, does not say so.
const LOOK_MAX: Duration = Duration::from_millis(500);

/// How many numbers are looked through for one that is at a server.
const NUMBERS_MAX: u64 = 1_000;

/// The servers of a store.
pub struct Servers {
    url: RedisUrl,
    on_push: Option<OnPush>,
    sentinels: Vec<Arc<Node>>,
    /// Held for a look, never across an await.
    map: Mutex<Map>,
    /// Held by who looks.
    looking: tokio::sync::Mutex<()>,
}

struct Map {
    closed: bool,
    /// The servers that are in use.
    nodes: HashMap<Address, Arc<Node>>,
    /// The primary of each slot; without slots, of the only one.
    owners: Vec<Option<Arc<Node>>>,
    /// Servers that a Cluster named, primaries or not.
    named: Vec<Address>,
    /// How many replicas a primary has that are not down.
    replicas: HashMap<Address, usize>,
    /// Whether something was found that is not as it was seen.
    suspect: bool,
    /// When the last look ended, and how if it failed.
    looked: Option<(Instant, Option<RedisError>)>,
}

impl Servers {
    /// The servers at `url`, none of which is connected to yet. `on_push` hears what they push.
    ///
    /// # Errors
    ///
    /// Those of certificates that cannot be used.
    pub fn new(url: RedisUrl, on_push: Option<OnPush>) -> RedisResult<Self> {
        let sentinels = match url.kind() {
            Kind::Sentinel { .. } => {
                let hosts = url.hosts().iter();
                let sentinel = |host: &Address| {
                    let client = url.sentinel(host)?;
                    Ok(Arc::new(Node::new(host.clone(), client, false, None)))
                };
                hosts.map(sentinel).collect::<RedisResult<_>>()?
            }
            Kind::Standalone | Kind::Cluster => Vec::new(),
        };
        let slots = if *url.kind() == Kind::Cluster { SLOTS } else { 1 };
        let map = Mutex::new(Map {
            closed: false,
            nodes: HashMap::new(),
            owners: vec![None; slots],
            named: Vec::new(),
            replicas: HashMap::new(),
            suspect: false,
            looked: None,
        });
        let servers = Self { url, on_push, sentinels, map, looking: tokio::sync::Mutex::default() };
        if *servers.url.kind() == Kind::Standalone {
            let only = servers.node(&servers.url.hosts()[0])?;
            servers.map().owners = vec![Some(only)];
        }
        Ok(servers)
    }

    /// Whether keys are in slots.
    pub fn is_cluster(&self) -> bool {
        *self.url.kind() == Kind::Cluster
    }

    /// The primary that has `key`.
    ///
    /// # Errors
    ///
    /// None is known: nothing was asked.
    ///
    /// # Cancellation
    ///
    /// Safe.
    pub async fn of(&self, key: &str) -> RedisResult<Arc<Node>> {
        let index = self.index(key);
        if let Some(owner) = self.seen(|map| map.owners[index].clone()) {
            return Ok(owner);
        }
        let looked = self.look().await;
        let owner = self.map().owners[index].clone();
        match (owner, looked) {
            (Some(owner), _) => Ok(owner),
            (None, Err(error)) => Err(error),
            (None, Ok(())) => {
                Err((ErrorKind::ClusterConnectionNotFound, "no server has it").into())
            }
        }
    }

    /// All primaries, each once.
    ///
    /// # Errors
    ///
    /// None is known.
    ///
    /// # Cancellation
    ///
    /// Safe.
    pub async fn primaries(&self) -> RedisResult<Vec<Arc<Node>>> {
        if let Some(primaries) = self.seen(|map| Some(map.primaries())) {
            return Ok(primaries);
        }
        let looked = self.look().await;
        let primaries = self.map().primaries();
        if primaries.is_empty() { looked.map(|()| primaries) } else { Ok(primaries) }
    }

    /// The server at `address`.
    ///
    /// # Errors
    ///
    /// Those of certificates that cannot be used.
    pub fn node(&self, address: &Address) -> RedisResult<Arc<Node>> {
        let mut map = self.map();
        if let Some(node) = map.nodes.get(address) {
            return Ok(node.clone());
        }
        let primary = matches!(self.url.kind(), Kind::Sentinel { .. });
        let client = self.url.client(address)?;
        let node = Arc::new(Node::new(address.clone(), client, primary, self.on_push.clone()));
        if map.closed {
            node.close();
        }
        map.nodes.insert(address.clone(), node.clone());
        Ok(node)
    }

    /// How many replicas the primary at `address` has that are not down; 0 where nobody says.
    pub fn replicas_of(&self, address: &Address) -> usize {
        self.map().replicas.get(address).copied().unwrap_or_default()
    }

    /// Whether the server at `address` is one of those that were seen last.
    pub fn is_known(&self, address: &Address) -> bool {
        self.map().nodes.contains_key(address)
    }

    /// The first number from `from` on under which a key by this name is at the primary at `address`; none if it has next to no
    /// slots.
    pub fn number_at(
        &self,
        address: &Address,
        name: impl Fn(u64) -> String,
        from: u64,
    ) -> Option<u64> {
        let map = self.map();
        let owner = |number: u64| map.owners[self.index(&name(number))].as_ref();
        let mut numbers = from..from + NUMBERS_MAX;
        numbers.find(|number| owner(*number).is_some_and(|owner| owner.address() == address))
    }

    /// Hears from a server that `key`, and its slot, is at another.
    pub fn moved(&self, key: &str, to: &Address) -> RedisResult<()> {
        let (index, node) = (self.index(key), self.node(to)?);
        let mut map = self.map();
        map.owners[index] = Some(node);
        // More slots will have gone there.
        map.suspect = true;
        Ok(())
    }

    /// Hears that a server is not what it was seen to be.
    pub fn suspect(&self) {
        self.map().suspect = true;
    }

    /// Looks again if what was seen has become old.
    pub async fn keep_up(&self) {
        let old = |map: &Map| {
            map.looked.as_ref().is_none_or(|(when, _)| when.elapsed() > LOOK_MAX) || map.suspect
        };
        if *self.url.kind() != Kind::Standalone && old(&self.map()) {
            // What fails by it is told to who asks.
            let _ = self.look().await;
        }
    }

    /// Lets go of all servers for good.
    pub fn close(&self) {
        let mut map = self.map();
        map.closed = true;
        map.nodes.values().for_each(|node| node.close());
        self.sentinels.iter().for_each(|node| node.close());
    }

    fn index(&self, key: &str) -> usize {
        if self.is_cluster() { slot(key) } else { 0 }
    }

    /// No holder of the lock panics midway.
    fn map(&self) -> MutexGuard<'_, Map> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was seen, unless it is suspect and it is time to look again.
    fn seen<T>(&self, read: impl FnOnce(&Map) -> Option<T>) -> Option<T> {
        let map = self.map();
        let known = *self.url.kind() == Kind::Standalone || map.looked.is_some();
        let trusted = known && (!map.suspect || map.looked_lately());
        if trusted { read(&map) } else { None }
    }

    /// Looks which server has what, unless that was done a moment ago.
    async fn look(&self) -> RedisResult<()> {
        let _looking = self.looking.lock().await;
        {
            let map = self.map();
            if *self.url.kind() == Kind::Standalone {
                return Ok(());
            }
            if let Some((_, failed)) = map.looked.as_ref().filter(|_| map.looked_lately()) {
                return failed.clone().map_or(Ok(()), Err);
            }
        }
        // Whoever finds something from here on finds it anew.
        self.map().suspect = false;
        let seen = match self.url.kind() {
            Kind::Standalone => Ok(()),
            Kind::Sentinel { name } => self.ask_sentinels(name).await,
            Kind::Cluster => self.ask_cluster().await,
        };
        let mut map = self.map();
        if let Err(error) = &seen {
            tracing::debug!(%error, "which server of Redis has what could not be seen");
            map.suspect = true;
        }
        map.looked = Some((Instant::now(), seen.as_ref().err().cloned()));
        seen
    }

    /// Asks the Sentinels for their primary, and believes the one that was last voted for, if it is one.
    async fn ask_sentinels(&self, name: &str) -> RedisResult<()> {
        let mut ask = redis::pipe();
        for what in ["GET-MASTER-ADDR-BY-NAME", "MASTER", "REPLICAS"] {
            ask.cmd("SENTINEL").arg(what).arg(name);
        }
        let mut named = Vec::new();
        let mut replicas = HashMap::new();
        for (_, [address, primary, theirs]) in ask_most(self.sentinels.clone(), ask).await? {
            let address: Option<(String, u16)> = redis::from_redis_value(address)?;
            let Some((host, port)) = address else { continue };
            let address = Address { host, port };
            let primary: HashMap<String, String> = redis::from_redis_value(primary)?;
            let epoch = primary.get("config-epoch").and_then(|epoch| epoch.parse::<u64>().ok());
            let theirs: Vec<HashMap<String, String>> = redis::from_redis_value(theirs)?;
            let up = theirs.iter().filter(|replica| is_up(replica)).count();
            let most = replicas.entry(address.clone()).or_default();
            *most = up.max(*most);
            named.push((epoch, address));
        }
        let current = self.map().owners[0].clone();
        // In the middle of a vote they may differ without an epoch between them: then the one that is new.
        let is_new = |address: &Address| current.as_ref().is_none_or(|it| it.address() != address);
        named.sort_by_key(|(epoch, address)| (*epoch, is_new(address)));
        named.dedup();
        let mut failed = RedisError::from((
            ErrorKind::MasterNameNotFoundBySentinel,
            "no Sentinel knows a primary of this name",
        ));
        while let Some((_, address)) = named.pop() {
            let node = self.node(&address)?;
            match node.connection().await {
                Ok(_) => {
                    let mut map = self.map();
                    map.owners[0] = Some(node);
                    map.replicas = replicas;
                    map.let_go(&[address]);
                    return Ok(());
                }
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    /// Asks most of the Cluster's primaries, or whoever is there, and believes the latest votes.
    async fn ask_cluster(&self) -> RedisResult<()> {
        let mut ask = redis::pipe();
        ask.cmd("CLUSTER").arg("SLOTS").cmd("CLUSTER").arg("NODES");
        let (primaries, others) = {
            let map = self.map();
            let mut others = map.named.clone();
            others.extend_from_slice(self.url.hosts());
            (map.primaries(), others)
        };
        let others: RedisResult<Vec<_>> = others.iter().map(|host| self.node(host)).collect();
        let others = others?;
        let told = match ask_most(primaries, ask.clone()).await {
            Ok(told) => told,
            Err(_) => ask_most(others, ask).await?,
        };
        let mut claims = Claims::new();
        for (told_by, [slots, nodes]) in told {
            claims.hear(told_by.address(), slots, nodes)?;
        }
        let Seen { owners, named, replicas } = claims.seen();
        if named.is_empty() {
            return Err((ErrorKind::ClusterConnectionNotFound, "no server has a slot").into());
        }
        // Slots that lie side by side are mostly of one server.
        let mut last: Option<Arc<Node>> = None;
        let node = |owner: Option<Address>| {
            let Some(address) = owner else { return Ok(None) };
            if last.as_ref().is_none_or(|last| *last.address() != address) {
                last = Some(self.node(&address)?);
            }
            Ok(last.clone())
        };
        let owners = owners.into_iter().map(node).collect::<RedisResult<_>>()?;
        let mut map = self.map();
        (map.owners, map.named, map.replicas) = (owners, named.clone(), replicas);
        map.let_go(&named);
        Ok(())
    }
}

impl Map {
    fn looked_lately(&self) -> bool {
        self.looked.as_ref().is_some_and(|(when, _)| when.elapsed() < LOOK_PAUSE)
    }

    fn primaries(&self) -> Vec<Arc<Node>> {
        let mut primaries: Vec<Arc<Node>> = Vec::new();
        for owner in self.owners.iter().flatten() {
            if !primaries.iter().any(|known| Arc::ptr_eq(known, owner)) {
                primaries.push(owner.clone());
            }
        }
        primaries
    }

    /// Lets go of all servers but those.
    fn let_go(&mut self, but: &[Address]) {
        self.nodes.retain(|address, _| but.contains(address));
    }
}

/// Whether what Sentinels describe so is a replica, and not down. One that is only disconnected is not down: so is, for a moment,
/// the one that has just been promoted, of which its primary does not know yet. Nor is one that may never be promoted: which
/// replicas have a change is told by number alone, and this one's word must not stand for another's. Without a port it is
/// somebody who was sent a copy for a backup.
fn is_up(replica: &HashMap<String, String>) -> bool {
    let flags = replica.get("flags").map_or("", String::as_str);
    let down = flags.split(',').any(|flag| ["s_down", "o_down"].contains(&flag));
    !down && replica.get("port").is_none_or(|port| port != "0")
}

#[cfg(test)]
mod tests;
