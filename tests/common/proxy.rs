//! A network between a server and Redis that can be cut, or fall silent, in either direction, and counts what is asked of it.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{mpsc, watch},
    task::JoinHandle,
};

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

    /// Closes every connection.
    pub fn cut(&self) {
        let last = self.connections();
        self.state.send_modify(|state| state.cut = last);
    }

    /// From now on nothing comes through and nobody is told, also over new connections.
    pub fn hold(&self) {
        self.state.send_modify(|state| (state.questions_held, state.answers_held) = (true, true));
    }

    /// From now on Redis hears what it is asked, and nobody hears what it answers.
    pub fn hold_answers(&self) {
        self.state.send_modify(|state| state.answers_held = true);
    }

    /// What was held comes through, and all that follows.
    pub fn release(&self) {
        self.state.send_modify(|state| (state.questions_held, state.answers_held) = (false, false));
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
        let (state, counts) = (state.clone(), counts.clone());
        tokio::spawn(async move {
            let Ok(redis) = TcpStream::connect(("127.0.0.1", port)).await else { return };
            let mut cut = state.clone();
            let (questions, hear) = client.into_split();
            let (answers, ask) = redis.into_split();
            let count = |bytes: &[u8]| {
                let commands = bytes.windows(2).filter(|two| two[0] == b'*' && two[1] < b':');
                counts.commands.fetch_add(commands.count(), Ordering::SeqCst);
            };
            tokio::select! {
                () = carry(questions, ask, number, state.clone(), |it| it.questions_held, count) => {}
                () = carry(answers, hear, number, state, |it| it.answers_held, |_| ()) => {}
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
    count: impl Fn(&[u8]),
) {
    let (queue, mut queued) = mpsc::unbounded_channel::<Vec<u8>>();
    let read = async {
        let mut bytes = vec![0; 64 << 10];
        while let Ok(length @ 1..) = from.read(&mut bytes).await {
            count(&bytes[..length]);
            let _ = queue.send(bytes[..length].to_vec());
        }
        drop(queue);
    };
    let write = async {
        while let Some(bytes) = queued.recv().await {
            let flows = state.wait_for(|state| !held(state)).await.map(|state| *state);
            let Ok(State { buried, cut, .. }) = flows else { return };
            if number <= cut || number > buried && to.write_all(&bytes).await.is_err() {
                return;
            }
        }
    };
    tokio::join!(read, write);
}
