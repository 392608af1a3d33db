//! What all parts of a run share: where the replicas are, how long it goes on, and what is counted.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use reversi_proto::v1::game_service_client::GameServiceClient;
use tokio::sync::watch;
use tonic::transport::{Channel, Endpoint};

use crate::{
    check::{Violation, Window},
    log::{Shared, version},
    random::Random,
};

/// A client of one replica.
pub type Client = GameServiceClient<Channel>;

/// How long connecting to a replica may take.
const CONNECT: Duration = Duration::from_secs(1);

/// How long games and watchers have to end once nothing breaks any more.
pub const SETTLE: Duration = Duration::from_secs(20);

/// What the run is about, for everybody in it.
pub struct World {
    /// The replicas, as clients reach them.
    addresses: Vec<String>,
    /// Whether moves that were acknowledged may be lost, where that is told.
    pub loses: bool,
    /// Whether a primary can be replaced, so that what nobody was told to be done can be lost, and done again.
    pub promotes: bool,
    /// When the run began.
    pub begun: Instant,
    /// Whether nothing breaks any more.
    calm: AtomicBool,
    counts: Mutex<BTreeMap<&'static str, u64>>,
    windows: Mutex<Vec<Window>>,
    safe_until: watch::Sender<Instant>,
    /// The games that are played.
    open: Mutex<HashMap<usize, Shared>>,
    violations: Mutex<Vec<Violation>>,
}

impl World {
    /// A world in which things are about to break.
    pub fn new(addresses: Vec<String>, loses: bool, promotes: bool) -> Self {
        Self {
            addresses,
            loses,
            promotes,
            begun: Instant::now(),
            calm: AtomicBool::new(false),
            counts: Mutex::default(),
            windows: Mutex::default(),
            safe_until: watch::Sender::new(Instant::now()),
            open: Mutex::default(),
            violations: Mutex::default(),
        }
    }

    /// Whether anything may be lost: what was acknowledged, or what nobody was told to be done.
    pub fn can_lose(&self) -> bool {
        self.loses || self.promotes
    }

    /// Clients of all replicas, with connections of their own, which are made when they are first used.
    pub fn clients(&self) -> Vec<Client> {
        let client = |address: &String| {
            let endpoint = Endpoint::from_shared(format!("http://{address}"));
            let endpoint = endpoint.expect("an address makes a URL").connect_timeout(CONNECT);
            GameServiceClient::new(endpoint.connect_lazy())
        };
        self.addresses.iter().map(client).collect()
    }

    /// Counts something.
    pub fn count(&self, what: &'static str) {
        *lock(&self.counts).entry(what).or_default() += 1;
    }

    /// What was counted.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        lock(&self.counts).clone()
    }

    /// How often this was counted.
    pub fn counted(&self, what: &str) -> u64 {
        lock(&self.counts).get(what).copied().unwrap_or_default()
    }

    /// Says that nothing breaks any more.
    pub fn calm_down(&self) {
        self.calm.store(true, Ordering::Relaxed);
    }

    /// Whether things may break.
    pub fn is_calm(&self) -> bool {
        self.calm.load(Ordering::Relaxed)
    }

    /// Notes that from this moment on, or since the given one, there may be two primaries or losses. Answers what ends it.
    pub fn open_window(&self, from: Instant, loses: bool) -> usize {
        let mut windows = lock(&self.windows);
        windows.push(Window { from, until: None, loses });
        windows.len() - 1
    }

    /// Notes that it is over.
    pub fn close_window(&self, window: usize) {
        lock(&self.windows)[window].until = Some(Instant::now());
    }

    /// Notes that what was acknowledged before this moment will not be lost by a fault to come, and that what a fault may
    /// have done before it is in a window.
    pub fn note_safe(&self, until: Instant) {
        self.safe_until.send_replace(until);
    }

    /// What was noted last.
    pub fn safe_until(&self) -> Instant {
        *self.safe_until.borrow()
    }

    /// Whether what the store had between these moments is there to stay: it was not in a window in which it may have lost it.
    /// Waits until that is known.
    pub async fn lasts(&self, begun: Instant, ended: Instant) -> bool {
        if !self.can_lose() {
            return true;
        }
        self.all_safe().await;
        !self.windows().iter().any(|window| window.overlaps(begun, ended))
    }

    /// Waits until all that happened so far is safe, or in a window.
    pub async fn all_safe(&self) {
        let now = Instant::now();
        let mut safe = self.safe_until.subscribe();
        safe.wait_for(|until| *until > now).await.expect("the sender is in the same struct");
    }

    /// The windows so far.
    pub fn windows(&self) -> Vec<Window> {
        lock(&self.windows).clone()
    }

    /// Notes that a game begins.
    pub fn open(&self, number: usize, log: &Shared) {
        lock(&self.open).insert(number, log.clone());
    }

    /// Notes that a game was judged.
    pub fn close(&self, number: usize) {
        lock(&self.open).remove(&number);
    }

    /// The ids of the games that are played now.
    pub fn played(&self) -> Vec<String> {
        let open = lock(&self.open);
        let logs = open.values().map(Shared::lock);
        let played = logs.filter(|log| !log.over && !log.game_id.is_empty());
        played.map(|log| log.game_id.clone()).collect()
    }

    /// The games that were not judged yet, as their players see them.
    pub fn still_open(&self) -> Vec<String> {
        let open = lock(&self.open);
        let told = open.values().map(|log| {
            let log = log.lock();
            let last = log.states.values().max_by_key(|game| version(game.version).revision);
            format!("{} at {last:?}, last called {:?}", log.game_id, log.calls.last())
        });
        told.collect()
    }

    /// Notes what must not be.
    pub fn violated(&self, violations: Vec<Violation>) {
        for violation in &violations {
            eprintln!("VIOLATION {violation}");
        }
        lock(&self.violations).extend(violations);
    }

    /// What must not be, and was.
    pub fn violations(&self) -> Vec<Violation> {
        lock(&self.violations).clone()
    }
}

/// No holder of such a lock panics midway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One of the clients.
pub fn any(clients: &[Client], random: &mut Random) -> Client {
    clients[random.below(clients.len())].clone()
}
