//! Keeps bytes under names in the three ways that reversid does, each as plainly as it can be done.

use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, PoisonError},
    thread,
    time::{Duration, SystemTime},
};

use redb::{Database, TableDefinition};
use redis::{Client, ProtocolVersion, Script, aio::MultiplexedConnection};
use tokio::sync::{OnceCell, mpsc, oneshot};

const ENTRIES: TableDefinition<&str, &[u8]> = TableDefinition::new("entries");

/// The bounds and the cache of reversid's file.
const QUEUE: usize = 1_024;
const BATCH: usize = 256;
const CACHE_BYTES: usize = 64 << 20;

/// What entries are made of; none is longer.
static FILL: [u8; 8 << 10] = [0xA5; 8 << 10];

/// How long Redis keeps an entry.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

static SET: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "redis.call('SET', KEYS[1], ARGV[1], 'PXAT', ARGV[2])
         redis.call('SPUBLISH', KEYS[1], '')
         return 1",
    )
});

/// A place to keep bytes.
pub enum Keep {
    /// A map under a lock.
    Memory(Mutex<HashMap<String, Box<[u8]>>>),
    /// A thread that commits what has queued as one transaction.
    File(mpsc::Sender<Put>),
    /// One script a call on one connection, made when it is first used.
    Redis(Box<Client>, OnceCell<MultiplexedConnection>),
}

/// Bytes for the file, and who waits for them to be there.
pub struct Put {
    name: String,
    length: usize,
    done: oneshot::Sender<()>,
}

impl Keep {
    /// Opens the place that `url` names as reversid's `--store` would.
    pub fn open(url: &str) -> Result<Self, String> {
        match url.split_once(':') {
            Some(("memory", _)) => Ok(Self::Memory(Mutex::default())),
            Some(("file", path)) => {
                let database = Database::builder().set_cache_size(CACHE_BYTES).create(path);
                let database = database.map_err(|error| format!("{path}: {error}"))?;
                let (queue, puts) = mpsc::channel(QUEUE);
                thread::spawn(move || {
                    // The callers see that nobody answers.
                    if let Err(error) = commit_all(&database, puts) {
                        eprintln!("the file cannot be written: {error}");
                    }
                });
                Ok(Self::File(queue))
            }
            _ => {
                let text = |error: redis::RedisError| error.to_string();
                let info = redis::IntoConnectionInfo::into_connection_info(url).map_err(text)?;
                let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
                let client = Client::open(info.set_redis_settings(settings)).map_err(text)?;
                Ok(Self::Redis(Box::new(client), OnceCell::new()))
            }
        }
    }

    /// Keeps so many bytes under `name`, in place of those that were there.
    ///
    /// # Errors
    ///
    /// They cannot be kept.
    pub async fn put(&self, name: String, length: usize) -> Result<(), String> {
        let entry = &FILL[..length];
        match self {
            Self::Memory(map) => {
                map.lock().unwrap_or_else(PoisonError::into_inner).insert(name, entry.into());
            }
            Self::File(queue) => {
                let (done, kept) = oneshot::channel();
                let queued = queue.send(Put { name, length, done }).await;
                queued.map_err(|_| "the writing thread has ended")?;
                kept.await.map_err(|_| "the writing thread has ended")?;
            }
            Self::Redis(client, connection) => {
                let connect = || client.get_multiplexed_async_connection();
                let connection = connection.get_or_try_init(connect).await;
                let mut connection = connection.map_err(|error| error.to_string())?.clone();
                let until = SystemTime::now() + KEPT;
                let until = until.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                let mut set = SET.key(format!("bare:{name}"));
                let set = set.arg(entry).arg(until.as_millis() as u64);
                let set: Result<(), _> = set.invoke_async(&mut connection).await;
                set.map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }
}

fn commit_all(database: &Database, mut puts: mpsc::Receiver<Put>) -> Result<(), redb::Error> {
    let mut batch = Vec::with_capacity(BATCH);
    while puts.blocking_recv_many(&mut batch, BATCH) > 0 {
        let transaction = database.begin_write()?;
        {
            let mut entries = transaction.open_table(ENTRIES)?;
            for put in &batch {
                entries.insert(put.name.as_str(), &FILL[..put.length])?;
            }
        }
        transaction.commit()?;
        for put in batch.drain(..) {
            let _ = put.done.send(());
        }
    }
    Ok(())
}
