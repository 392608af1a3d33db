//! A connection to one server: one that all share, made when it is first needed, replaced when it is dead or only seems
//! alive. Making one and using it are two steps, so that whoever could not be connected knows that nothing was asked.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use redis::{
    AsyncConnectionConfig, Client, Cmd, ErrorKind, Pipeline, PushInfo, PushKind, RedisError,
    RedisFuture, RedisResult, ServerErrorKind, Value,
    aio::{ConnectionLike, MultiplexedConnection},
};
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

use super::url::Address;
use crate::model::jittered;

/// How long an answer may take. Longer, and whether the command was done is unknown.
const ANSWER: Duration = Duration::from_secs(2);

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(1);

/// How long a connection may answer nothing that it is asked before another is tried: a peer that is gone without a word
/// is otherwise noticed only when the operating system gives up.
const SILENCE: Duration = Duration::from_secs(4);

/// The wait between attempts to connect grows from the first to the second. All callers share one attempt.
const RECONNECT_MIN: Duration = Duration::from_millis(50);
const RECONNECT_MAX: Duration = Duration::from_millis(250);

/// How many attempts to connect were made, to all servers.
static MADE: AtomicU64 = AtomicU64::new(1);

/// Hears every push of a server's, among them the end of a connection.
pub type OnPush = Arc<dyn Fn(&Address, &PushInfo) + Send + Sync>;

/// A server, and the connection to it.
pub struct Node {
    address: Address,
    client: Client,
    /// Whether it is used as a primary alone, so that it is asked first whether it is one.
    primary: bool,
    on_push: Option<OnPush>,
    /// Held for a look, never across an await.
    state: Arc<Mutex<State>>,
}

struct State {
    closed: bool,
    connection: Option<MultiplexedConnection>,
    /// The number of this connection, or of the attempt, which no other of the process has.
    made: u64,
    /// When it was first asked after its last answer. Whoever asked may have left since.
    silent_since: Option<Instant>,
    /// The attempt that is being made.
    attempt: Option<watch::Receiver<Attempt>>,
    /// Until when no other is made, and how the last one failed.
    failed: Option<(Instant, RedisError)>,
    pause: Duration,
}

/// How an attempt ended, once it has.
type Attempt = Option<RedisResult<Connection>>;

/// A connection, by its number.
#[derive(Clone)]
pub struct Connection {
    inner: MultiplexedConnection,
    made: u64,
    asking: bool,
}

impl Connection {
    /// Its number.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// The same; each command sent over it says that a slot's key was looked for here on another server's word.
    pub fn asking(mut self, asking: bool) -> Self {
        self.asking = asking;
        self
    }

    /// Answers may take so much longer than a common one.
    pub fn patient(mut self, longer: Duration) -> Self {
        self.inner.set_response_timeout(ANSWER + longer);
        self
    }
}

impl Node {
    /// A server that is connected to when it is first needed.
    pub fn new(address: Address, client: Client, primary: bool, on_push: Option<OnPush>) -> Self {
        let state = Arc::new(Mutex::new(State {
            closed: false,
            connection: None,
            made: 0,
            silent_since: None,
            attempt: None,
            failed: None,
            pause: RECONNECT_MIN,
        }));
        Self { address, client, primary, on_push, state }
    }

    /// Where it is.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The connection, which may have to be made.
    ///
    /// # Errors
    ///
    /// It could not be made, which may be told of an attempt a moment ago: nothing was asked.
    ///
    /// # Cancellation
    ///
    /// Safe; an attempt goes on for others.
    pub async fn connection(&self) -> RedisResult<Connection> {
        let mut attempt = {
            let mut state = locked(&self.state);
            if state.closed {
                return Err(RedisError::from((ErrorKind::Client, "it is closed")));
            }
            if state.silent_since.is_some_and(|since| since.elapsed() > SILENCE) {
                (state.connection, state.silent_since) = (None, None);
            }
            if let Some(inner) = state.connection.clone() {
                state.silent_since.get_or_insert_with(Instant::now);
                return Ok(Connection { inner, made: state.made, asking: false });
            }
            match (&state.attempt, &state.failed) {
                (Some(attempt), _) => attempt.clone(),
                (None, Some((until, error))) if *until > Instant::now() => {
                    return Err(error.clone());
                }
                (None, _) => {
                    let (told, attempt) = watch::channel(None);
                    state.attempt = Some(attempt.clone());
                    state.made = MADE.fetch_add(1, Ordering::Relaxed);
                    tokio::spawn(self.attempt(state.made, told));
                    attempt
                }
            }
        };
        let ended = attempt.wait_for(Option::is_some).await.ok().and_then(|ended| ended.clone());
        ended.unwrap_or_else(|| Err(RedisError::from((ErrorKind::Client, "it is closed"))))
    }

    /// Makes a connection, and tells of it.
    fn attempt(&self, made: u64, told: watch::Sender<Attempt>) -> impl Future<Output = ()> + use<> {
        let (client, primary, on_push) = (self.client.clone(), self.primary, self.on_push.clone());
        let address = self.address.clone();
        let state = Arc::downgrade(&self.state);
        let gone = state.clone();
        let heed = move |push: PushInfo| -> Result<(), std::convert::Infallible> {
            if push.kind == PushKind::Disconnection {
                forget(&gone, made);
            }
            if let Some(on_push) = &on_push {
                on_push(&address, &push);
            }
            Ok(())
        };
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT))
            .set_response_timeout(Some(ANSWER))
            .set_push_sender(heed);
        async move {
            let connect = async {
                let mut inner =
                    client.get_multiplexed_async_connection_with_config(&config).await?;
                if primary {
                    check_primary(&mut inner).await?;
                }
                Ok(inner)
            };
            let late = RedisError::from(std::io::Error::from(std::io::ErrorKind::TimedOut));
            let ended = timeout(CONNECT, connect).await.unwrap_or(Err(late));
            let Some(state) = state.upgrade() else { return };
            let mut state = locked(&state);
            state.attempt = None;
            match &ended {
                Ok(inner) => {
                    state.connection = Some(inner.clone()).filter(|_| !state.closed);
                    (state.failed, state.pause) = (None, RECONNECT_MIN);
                    // Whoever waits for it asks it now.
                    state.silent_since = Some(Instant::now());
                }
                Err(error) => {
                    state.failed = Some((Instant::now() + jittered(state.pause), error.clone()));
                    state.pause = (state.pause * 2).min(RECONNECT_MAX);
                }
            }
            let ended = ended.map(|inner| Connection { inner, made, asking: false });
            let _ = told.send(Some(ended));
        }
    }

    /// Notes that the connection of this number answers, unless it kept silent; and lets go of one that will not get well
    /// by itself.
    pub fn note(&self, made: u64, error: Option<&RedisError>) {
        let mut state = locked(&self.state);
        if state.made != made || error.is_some_and(RedisError::is_timeout) {
            return;
        }
        state.silent_since = None;
        if error.is_some_and(|error| error.is_io_error() || is_for_good(error)) {
            state.connection = None;
        }
    }

    /// Lets go of the connection; another is made when one is needed.
    pub fn forget(&self) {
        locked(&self.state).connection = None;
    }

    /// Lets go of the connection for good.
    pub fn close(&self) {
        let mut state = locked(&self.state);
        (state.closed, state.connection) = (true, None);
    }
}

/// No holder of the lock panics midway.
fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn forget(state: &Weak<Mutex<State>>, made: u64) {
    if let Some(state) = state.upgrade() {
        let mut state = locked(&state);
        if state.made == made {
            state.connection = None;
        }
    }
}

/// Whether a connection that gave this error gives it for ever: it goes to a server that takes no writes any more, or that
/// has come to think otherwise of us.
fn is_for_good(error: &RedisError) -> bool {
    let codes = ["READONLY", "NOAUTH"];
    error.code().is_some_and(|code| codes.contains(&code))
}

/// A primary that a Sentinel names may have become a replica, or not yet be a primary.
async fn check_primary(connection: &mut MultiplexedConnection) -> RedisResult<()> {
    let role: Vec<Value> = redis::cmd("ROLE").query_async(connection).await?;
    let role = role.into_iter().next().map(redis::from_redis_value::<String>).transpose()?;
    match role.as_deref() {
        Some("master") => Ok(()),
        _ => Err((ErrorKind::Server(ServerErrorKind::ReadOnly), "it is not a primary").into()),
    }
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        if !self.asking {
            return self.inner.req_packed_command(cmd);
        }
        Box::pin(async move {
            // In one write, so that no other caller's command comes between them.
            let mut pipeline = Pipeline::with_capacity(2);
            pipeline.cmd("ASKING").add_command(cmd.clone());
            let mut answers = self.inner.req_packed_commands(&pipeline, 0, 2).await?;
            answers.pop().ok_or_else(|| (ErrorKind::Parse, "no answer").into())
        })
    }

    /// What is asked on another server's word is asked one by one.
    fn req_packed_commands<'a>(
        &'a mut self,
        cmd: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        self.inner.req_packed_commands(cmd, offset, count)
    }

    fn get_db(&self) -> i64 {
        self.inner.get_db()
    }
}
