//! A network in front of Redis that can be cut, delayed, or fall silent, in either direction, and counts what is asked of
//! it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{mpsc, watch},
    task::JoinHandle,
    time::{Instant, sleep_until},
};

/// What only a replica asks, and once it has, all that it is told is what its primary does.
const PSYNC: &[u8] = b"PSYNC";

/// A proxy in front of a port of this machine; gone when dropped, with all its connections.
pub struct Proxy {
    port: u16,
    state: watch::Sender<State>,
    counts: Arc<Counts>,
    accepting: JoinHandle<()>,
}

/// What becomes of bytes. Connections are numbered from 1 on as they come.
#[derive(Clone, Copy, Default)]
struct State {
    /// Whether questions and answers wait here until they flow again. Nobody is told.
    questions_held: bool,
    answers_held: bool,
    /// What comes over connections up to this one is gone for ever. Nobody is told.
    buried: usize,
    /// Connections up to this one are closed.
    cut: usize,
    /// Whether new connections are closed at once.
    refused: bool,
    /// How late what comes arrives.
    delay: Duration,
    /// What the primary tells its replicas waits here.
    replicas_held: bool,
}

#[derive(Default)]
struct Counts {
    connections: AtomicUsize,
    commands: AtomicUsize,
}

impl Proxy {
    /// A proxy through which everything flows.
    pub async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let own = listener.local_addr().expect("it is bound").port();
        let (state, seen) = watch::channel(State::default());
        let counts = Arc::<Counts>::default();
        let accepting = tokio::spawn(accept(listener, port, seen, counts.clone()));
        Self { port: own, state, counts, accepting }
    }

    /// Where Redis seems to be.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Closes every connection.
    pub fn cut(&self) {
        let last = self.connections();
        self.state.send_modify(|state| state.cut = last);
    }

    /// Closes every connection, and from now on also each new one.
    pub fn refuse(&self) {
        self.state.send_modify(|state| state.refused = true);
        self.cut();
    }

    /// From now on everything arrives so much later, in both directions.
    pub fn delay(&self, by: Duration) {
        self.state.send_modify(|state| state.delay = by);
    }

    /// From now on replicas hear nothing of what the primary behind this proxy does, and neither is told.
    pub fn hold_replicas(&self) {
        self.state.send_modify(|state| state.replicas_held = true);
    }

    /// From now on nothing comes through and nobody is told, also over new connections.
    pub fn hold(&self) {
        self.state.send_modify(|state| (state.questions_held, state.answers_held) = (true, true));
    }

    /// From now on Redis hears what it is asked, and nobody hears what it answers.
    pub fn hold_answers(&self) {
        self.state.send_modify(|state| state.answers_held = true);
    }

    /// What was held comes through, and all that follows, at once; new connections are well.
    pub fn release(&self) {
        self.state.send_modify(|state| {
            let State { buried, cut, .. } = *state;
            *state = State { buried, cut, ..State::default() };
        });
    }

    /// What is open leads nowhere for ever, and nobody is told; new connections are well.
    pub fn bury(&self) {
        let last = self.connections();
        self.state.send_modify(|state| state.buried = last);
    }

    /// How many connections were made.
    pub fn connections(&self) -> usize {
        self.counts.connections.load(Ordering::SeqCst)
    }

    /// How many commands were sent, whether or not they came through: at most a few more than there were.
    pub fn commands(&self) -> usize {
        self.counts.commands.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}

async fn accept(
    listener: TcpListener,
    port: u16,
    state: watch::Receiver<State>,
    counts: Arc<Counts>,
) {
    while let Ok((client, _)) = listener.accept().await {
        let number = counts.connections.fetch_add(1, Ordering::SeqCst) + 1;
        if state.borrow().refused {
            continue;
        }
        let (state, counts) = (state.clone(), counts.clone());
        tokio::spawn(async move {
            let Ok(redis) = TcpStream::connect(("127.0.0.1", port)).await else { return };
            // What is small is wanted at once.
            let _ = (client.set_nodelay(true), redis.set_nodelay(true));
            let mut cut = state.clone();
            let (questions, hear) = client.into_split();
            let (answers, ask) = redis.into_split();
            let replica = AtomicBool::new(false);
            let look = |bytes: &[u8]| {
                let commands = bytes.windows(2).filter(|two| two[0] == b'*' && two[1] < b':');
                counts.commands.fetch_add(commands.count(), Ordering::SeqCst);
                if bytes.windows(PSYNC.len()).any(|word| word == PSYNC) {
                    replica.store(true, Ordering::SeqCst);
                }
            };
            let answers_held = |state: &State| {
                state.answers_held || state.replicas_held && replica.load(Ordering::SeqCst)
            };
            tokio::select! {
                () = carry(questions, ask, number, state.clone(), |it| it.questions_held, look) => {}
                () = carry(answers, hear, number, state, answers_held, |_| ()) => {}
                _ = cut.wait_for(|state| state.cut >= number) => {}
            }
        });
    }
}

/// Carries bytes one way until that way ends.
async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    number: usize,
    mut state: watch::Receiver<State>,
    held: impl Fn(&State) -> bool,
    look: impl Fn(&[u8]),
) {
    let (queue, mut queued) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    let delay = state.clone();
    let read = async {
        let mut bytes = vec![0; 64 << 10];
        while let Ok(length @ 1..) = from.read(&mut bytes).await {
            look(&bytes[..length]);
            let due = Instant::now() + delay.borrow().delay;
            let _ = queue.send((due, bytes[..length].to_vec()));
        }
        drop(queue);
    };
    let write = async {
        while let Some((due, bytes)) = queued.recv().await {
            sleep_until(due).await;
            let flows = state.wait_for(|state| !held(state)).await.map(|state| *state);
            let Ok(State { buried, cut, .. }) = flows else { return };
            if number <= cut || number > buried && to.write_all(&bytes).await.is_err() {
                return;
            }
        }
    };
    tokio::join!(read, write);
}
