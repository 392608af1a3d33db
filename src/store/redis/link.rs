//! The connection to Redis: one, shared by all calls, replaced when it is dead or only seems alive.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use redis::{
    Client, ConnectionInfo, ErrorKind, IntoConnectionInfo as _, ProtocolVersion, RedisError,
    RedisResult,
    aio::{ConnectionManager, ConnectionManagerConfig},
};
use tokio::time::{Instant, sleep};

use crate::{
    error::{StoreError, chain},
    model::jittered,
};

/// How long an answer may take. Longer, and whether the command was done is unknown.
const ANSWER: Duration = Duration::from_secs(2);

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(1);

/// How long a connection may answer nothing that it is asked before another is tried: a peer that is gone without a word
/// is otherwise noticed only when the operating system gives up.
const SILENCE: Duration = Duration::from_secs(4);

/// Until when, from its beginning, what may be run twice is run anew when the connection broke under it or Redis is only
/// starting; and the first pause, which doubles.
const READ_MAX: Duration = Duration::from_secs(1);
const READ_PAUSE: Duration = Duration::from_millis(10);

/// The wait between attempts to connect grows from the first to the second. All callers share one attempt.
const RECONNECT_MIN: Duration = Duration::from_millis(50);
const RECONNECT_MAX: Duration = Duration::from_secs(1);

/// Attempts to connect before the callers that wait for it are told; the next call begins again.
const ATTEMPTS: usize = 2;

/// Where Redis is, and who we are to it. Shown without the password.
#[derive(Clone)]
pub struct RedisUrl(Client);

impl RedisUrl {
    /// Reads a `redis://` URL.
    ///
    /// # Errors
    ///
    /// What is wrong with it, for people, without its password.
    pub fn parse(url: &str) -> Result<Self, String> {
        let connection = |info: ConnectionInfo| {
            // Pushes tell of messages and of a lost connection without being asked.
            let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
            Client::open(info.set_redis_settings(settings))
        };
        let client = url.into_connection_info().and_then(connection);
        client.map(Self).map_err(|error| format!("the Redis URL cannot be used: {error}"))
    }

    /// Connects there.
    pub fn client(&self) -> Client {
        self.0.clone()
    }
}

impl fmt::Display for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.0.get_connection_info();
        write!(f, "redis://{}/{}", info.addr(), info.redis_settings().db())
    }
}

/// How connections are made and kept.
pub fn config() -> ConnectionManagerConfig {
    ConnectionManagerConfig::new()
        .set_response_timeout(Some(ANSWER))
        .set_connection_timeout(Some(CONNECT))
        .set_min_delay(RECONNECT_MIN)
        .set_max_delay(RECONNECT_MAX)
        .set_number_of_retries(ATTEMPTS)
}

/// The shared connection.
pub struct Link {
    client: Client,
    /// Held for a look, never across an await.
    current: Mutex<Current>,
}

struct Current {
    closed: bool,
    connection: Option<ConnectionManager>,
    made: u64,
    /// When it was first asked after its last answer. Whoever asked may have left since.
    silent_since: Option<Instant>,
}

impl Link {
    /// A link that connects when it is first used.
    pub fn new(client: Client) -> Self {
        let current = Current { closed: false, connection: None, made: 0, silent_since: None };
        Self { client, current: Mutex::new(current) }
    }

    /// Runs commands on the connection.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`]: what was asked may or may not have been done.
    pub async fn run<T, F>(
        &self,
        commands: impl FnOnce(ConnectionManager) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = RedisResult<T>>,
    {
        let (connection, made) = self.connection()?;
        let result = commands(connection).await;
        self.note(made, result.as_ref().err());
        result.map_err(unavailable)
    }

    /// Runs commands that may be run twice, for as long as it takes a connection to be replaced.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`].
    pub async fn read<T, F>(
        &self,
        commands: impl Fn(ConnectionManager) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = RedisResult<T>>,
    {
        let begun = Instant::now();
        let mut pause = READ_PAUSE;
        loop {
            let (connection, made) = self.connection()?;
            let result = commands(connection).await;
            self.note(made, result.as_ref().err());
            let passes = result.as_ref().is_err_and(passes);
            if !passes || begun.elapsed() + pause > READ_MAX {
                return result.map_err(unavailable);
            }
            sleep(jittered(pause)).await;
            pause *= 2;
        }
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of the connection for good.
    pub fn close(&self) {
        let mut current = self.current();
        current.closed = true;
        current.connection = None;
    }

    fn connection(&self) -> Result<(ConnectionManager, u64), StoreError> {
        let mut current = self.current();
        if current.closed {
            return Err(StoreError::Unavailable("it is closed".into()));
        }
        if current.silent_since.is_some_and(|since| since.elapsed() > SILENCE) {
            (current.connection, current.silent_since) = (None, None);
        }
        current.silent_since.get_or_insert_with(Instant::now);
        let connection = match &current.connection {
            Some(connection) => connection.clone(),
            None => {
                let client = self.client.clone();
                let connection = ConnectionManager::new_lazy_with_config(client, config())
                    .map_err(unavailable)?;
                current.connection = Some(connection.clone());
                current.made += 1;
                connection
            }
        };
        Ok((connection, current.made))
    }

    /// Notes that it answers, unless it kept silent; and lets go of a connection that will not get well by itself.
    fn note(&self, made: u64, error: Option<&RedisError>) {
        let mut current = self.current();
        if current.made != made || error.is_some_and(RedisError::is_timeout) {
            return;
        }
        current.silent_since = None;
        if error.is_some_and(is_for_good) {
            current.connection = None;
        }
    }
}

/// Whether a connection that gave this error gives it for ever: it goes to a server that takes no writes any more, or was
/// turned away when it was made (no right to enter, no room), which is not tried again by itself.
fn is_for_good(error: &RedisError) -> bool {
    let codes = ["READONLY", "NOAUTH", "WRONGPASS", "ERR"];
    error.code().is_some_and(|code| codes.contains(&code))
        || error.kind() == ErrorKind::AuthenticationFailed
}

/// Whether a moment later all may be well. After a silence as long as an answer may take, nobody waits for more.
fn passes(error: &RedisError) -> bool {
    let broken = error.is_io_error() && !error.is_timeout();
    broken || is_for_good(error) || error.code() == Some("LOADING")
}

/// The caller is told that it is away; why is logged where the answer is made.
fn unavailable(error: RedisError) -> StoreError {
    StoreError::Unavailable(chain(&error))
}
