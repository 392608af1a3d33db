//! A thousand watchers who do not read, die, or fall silent cost the real process a bounded part of its memory, for a bounded
//! time; and streams do not all end at once.

mod common;

use std::{
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use common::{
    metrics::{self, scrape},
    process::{Process, reversid},
    watch::Watch,
    *,
};
use hyper_util::rt::TokioIo;
use prost::Message as _;
use reversi_proto::{PIECE_BYTES, v1};
use reversi_testbed::Proxy;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpSocket, TcpStream},
    sync::watch as flag,
    task::JoinSet,
    time::{sleep, timeout},
};
use tonic::{
    Streaming,
    transport::{Channel, Endpoint},
};

const WATCHERS: usize = 1_000;

/// What a watcher who does not read may take of the server's memory, on a connection that many share and on one of its own:
/// docs/watch.md says so. Where streams have room and the socket is full, each holds `SEND_BUFFER` as well, as much as one of its own.
const SHARED_BYTES_MAX: u64 = 24 << 10;
const OWN_BYTES_MAX: u64 = 64 << 10;

/// What the process may take besides, once.
const SLACK: u64 = 24 << 20;

/// What the transport takes of a stream that nobody reads: two pieces, and the message that each ends with.
const TAKEN_MAX: usize = 2 * PIECE_BYTES + (4 << 10);

/// How long a peer may say nothing: `KEEP_ALIVE` and `KEEP_ALIVE_ANSWER` in `src/app/serve.rs`.
const SILENCE: Duration = Duration::from_secs(20 + 10);

/// A server in memory that can be asked for its gauge; both processes may have the files that thousands of sockets take.
async fn server(flags: &[&str]) -> Process {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let many = maximum.map_or(16_384, |most| most.min(16_384));
    setrlimit(Resource::Nofile, Rlimit { current: Some(many), maximum })
        .expect("up to the maximum");
    let own = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--store", "memory:"];
    Process::of(reversid(&[&own, flags].concat())).await
}

async fn watchers(server: &Process) -> usize {
    scrape(server.admin().await).await.sum("reversi_watchers", &[]) as usize
}

async fn ends(server: &Process, reason: &str) -> usize {
    let label = format!("reason=\"{reason}\"");
    scrape(server.admin().await).await.sum("reversi_watch_ends_total", &[&label]) as usize
}

/// Waits until so many watchers are left, and answers how long that took.
async fn left(server: &Process, count: usize, within: Duration) -> Duration {
    let begun = Instant::now();
    while watchers(server).await != count {
        assert!(begun.elapsed() < within, "{} left", watchers(server).await);
        sleep(Duration::from_millis(50)).await;
    }
    begun.elapsed()
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Plays a whole game on the largest board, but for its last move.
async fn long_game(client: &mut Client) -> Table {
    let rules = v1::Rules { board: v1::Board::Board10x10.into(), players: 4, ..Default::default() };
    let table = create(client, rules).await;
    let mut now = position(&table.game).clone();
    for _ in 0..90 {
        let color = v1::Color::try_from(now.to_move).expect("a colour");
        let made = client.make_move(table.play(color, &now.legal_moves[0])).await;
        let event = made.expect("a legal move").into_inner().event.expect("an event");
        now = event.position.expect("a position");
    }
    table
}

/// A connection of which nobody reads more than a first part, until the flag is raised.
struct Stalling {
    stream: TcpStream,
    left: usize,
    read_on: Pin<Box<dyn Future<Output = ()> + Send>>,
    reads: bool,
}

impl AsyncRead for Stalling {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.reads && self.left == 0 {
            ready!(self.read_on.as_mut().poll(cx));
            self.reads = true;
        }
        if self.reads {
            return Pin::new(&mut self.stream).poll_read(cx, buf);
        }
        let mut bytes = [0; 512];
        let most = self.left.min(bytes.len()).min(buf.remaining());
        let mut part = ReadBuf::new(&mut bytes[..most]);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut part))?;
        self.left -= part.filled().len();
        buf.put_slice(part.filled());
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stalling {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

fn endpoint(address: SocketAddr) -> Endpoint {
    Channel::from_shared(format!("http://{address}")).expect("an address")
}

/// A connection with all the room that HTTP/2 can give, in a socket with as little as there can be, which is not read.
async fn unread_socket(address: SocketAddr, read_on: flag::Receiver<bool>) -> Channel {
    let connect = move |_| {
        let mut read_on = read_on.clone();
        async move {
            let socket = TcpSocket::new_v4()?;
            socket.set_recv_buffer_size(4 << 10)?;
            let stream = socket.connect(address).await?;
            let read_on = Box::pin(async move { drop(read_on.wait_for(|on| *on).await) });
            Ok::<_, io::Error>(TokioIo::new(Stalling {
                stream,
                left: 4 << 10,
                read_on,
                reads: false,
            }))
        }
    };
    let open = endpoint(address)
        .initial_stream_window_size(1 << 30)
        .initial_connection_window_size(1 << 30);
    open.connect_with_connector(tower::service_fn(connect)).await.expect("the server accepts")
}

/// A connection whose streams have next to no room.
async fn closed_window(address: SocketAddr) -> Channel {
    let endpoint = endpoint(address).initial_stream_window_size(64);
    endpoint.connect().await.expect("the server accepts")
}

/// Opens all watches of the whole game, so many on each of the channels.
async fn watch_all(
    channels: &[Channel],
    each: usize,
    game_id: &str,
) -> Vec<Streaming<v1::WatchGameResponse>> {
    let request = v1::WatchGameRequest {
        game_id: game_id.into(),
        resume_after: Some(v1::Version::default()),
        ..Default::default()
    };
    let mut opening = JoinSet::new();
    for channel in channels {
        let (mut client, request) = (Client::new(channel.clone().into()), request.clone());
        opening.spawn(async move {
            let mut opened = Vec::new();
            for _ in 0..each {
                let watch = client.watch_game(request.clone()).await;
                opened.push(watch.expect("it opens").into_inner());
            }
            opened
        });
    }
    timeout(PATIENCE, opening.join_all())
        .await
        .expect("they open in time")
        .into_iter()
        .flatten()
        .collect()
}

/// How the stream ends, and how many bytes of messages come before.
async fn end(mut stream: Streaming<v1::WatchGameResponse>) -> (Refused, usize) {
    let mut told = 0;
    loop {
        match timeout(PATIENCE, stream.message()).await.expect("it goes on in time") {
            Ok(Some(message)) => told += message.encoded_len(),
            Ok(None) => panic!("it must not end as if all were told"),
            Err(status) => return (refused(&status), told),
        }
    }
}

/// Rounds of a thousand watchers who open a watch and never read, because their streams have no room.
async fn stalled_watchers(channels: usize, bytes_max: u64) {
    const STALL: Duration = Duration::from_secs(3);
    let server = server(&["--watch-stall", "3s"]).await;
    let mut client = server.client().await;
    let table = long_game(&mut client).await;
    let before = server.resident_bytes();
    let mut peaks = Vec::new();
    for round in 1..=3 {
        let mut connecting = JoinSet::new();
        for _ in 0..channels {
            connecting.spawn(closed_window(server.address));
        }
        let connected = connecting.join_all().await;
        let begun = Instant::now();
        let streams = watch_all(&connected, WATCHERS / channels, &table.id).await;
        assert_eq!(watchers(&server).await, WATCHERS, "all at once, after {:?}", begun.elapsed());
        let average = move_beside_them(&mut client).await;
        let peak = server.resident_bytes();
        left(&server, 0, STALL + PATIENCE).await;
        assert_eq!(ends(&server, "watcher_too_slow").await, round * WATCHERS);
        let after = server.resident_bytes();
        let each = peak.saturating_sub(before) as f64 / 1024.0 / WATCHERS as f64;
        println!(
            "round {round}: {average:?} a move beside them; resident {:.1} MiB before all, {:.1} with them \
             ({each:.1} KiB each), {:.1} after their end",
            mib(before),
            mib(peak),
            mib(after)
        );
        assert!(average < Duration::from_millis(250), "{average:?} a move");
        assert!(peak < before + WATCHERS as u64 * bytes_max + SLACK);
        peaks.push(peak.max(after));

        // Whoever reads at last is told why there is no more.
        let mut told = 0;
        for stream in streams {
            let (refused, bytes) = end(stream).await;
            assert_eq!(refused.reason, "WATCHER_TOO_SLOW");
            told = told.max(bytes);
        }
        println!("at most {told} bytes of messages were on their way to a watcher");
        assert!(told <= TAKEN_MAX);
    }
    assert!(peaks[2] < peaks[1] + SLACK / 2, "each round leaves its memory to the next: {peaks:?}");
}

/// Plays a game, and answers what a move took.
async fn move_beside_them(client: &mut Client) -> Duration {
    let table = create(client, v1::Rules::default()).await;
    let begun = Instant::now();
    let moves = play_out(client, &table).await.len();
    begun.elapsed() / u32::try_from(moves).expect("a game is short")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_watchers_on_few_connections_are_bounded_and_told() {
    stalled_watchers(4, SHARED_BYTES_MAX).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_watchers_on_connections_of_their_own_are_bounded_and_told() {
    stalled_watchers(WATCHERS, OWN_BYTES_MAX).await;
}

/// What the kernel takes of a connection counts as read, up to megabytes; so a part of them is too slow, and who is none of those
/// is dead as far as anybody can tell.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_whose_sockets_nobody_reads_are_bounded_and_gone() {
    const CONNECTIONS: usize = 2;
    let server = server(&["--watch-stall", "3s"]).await;
    let mut client = server.client().await;
    let table = long_game(&mut client).await;
    let before = server.resident_bytes();
    let (_never, read_on) = flag::channel(false);
    let mut channels = Vec::new();
    for _ in 0..CONNECTIONS {
        channels.push(unread_socket(server.address, read_on.clone()).await);
    }
    let request = v1::WatchGameRequest {
        game_id: table.id.clone(),
        resume_after: Some(v1::Version::default()),
        ..Default::default()
    };
    let mut waiting = JoinSet::new();
    for channel in channels.iter().cycle().take(WATCHERS) {
        let (mut client, request) = (Client::new(channel.clone().into()), request.clone());
        // Not even the head of an answer is read.
        waiting.spawn(async move { client.watch_game(request).await.map(drop) });
    }
    let opened = async {
        let sum = |samples: metrics::Samples| {
            let now = samples.sum("reversi_watchers", &[]);
            now + samples.sum("reversi_watch_ends_total", &[])
        };
        while (sum(scrape(server.admin().await).await) as usize) < WATCHERS {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, opened).await.expect("they open in time");
    let average = move_beside_them(&mut client).await;
    let peak = server.resident_bytes();
    let took = left(&server, 0, SILENCE + Duration::from_secs(8)).await;
    let [slow, gone] =
        [ends(&server, "watcher_too_slow").await, ends(&server, "client_gone").await];
    println!(
        "{slow} too slow and {gone} gone after {took:?}; {average:?} a move beside them; resident {:.1} MiB \
         before, {:.1} with them, {:.1} after",
        mib(before),
        mib(peak),
        mib(server.resident_bytes())
    );
    assert_eq!(slow + gone, WATCHERS);
    assert!(slow > 0, "more was pending than the kernel takes");
    assert!(peak < before + WATCHERS as u64 * OWN_BYTES_MAX + SLACK);
}

/// A connection that can be broken without a word of HTTP/2.
struct Breakable {
    stream: TcpStream,
    broken: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl AsyncRead for Breakable {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.broken.as_mut().poll(cx).is_ready() {
            // Whoever reads this drops the socket.
            self.broken = Box::pin(std::future::ready(()));
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Breakable {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A connection that breaks when the flag is raised: half by a FIN, half by an RST.
async fn breakable(address: SocketAddr, broken: flag::Receiver<bool>, reset: bool) -> Channel {
    let connect = move |_| {
        let mut broken = broken.clone();
        async move {
            let stream = TcpStream::connect(address).await?;
            if reset {
                stream.set_zero_linger()?;
            }
            let broken = Box::pin(async move { drop(broken.wait_for(|on| *on).await) });
            Ok::<_, io::Error>(TokioIo::new(Breakable { stream, broken }))
        }
    };
    let connect = tower::service_fn(connect);
    endpoint(address).connect_with_connector(connect).await.expect("the server accepts")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_watchers_are_gone_at_once() {
    let server = server(&[]).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let (raise, broken) = flag::channel(false);
    let mut connecting = JoinSet::new();
    for number in 0..WATCHERS {
        connecting.spawn(breakable(server.address, broken.clone(), number % 2 == 0));
    }
    let channels = connecting.join_all().await;
    let streams = watch_all(&channels, 1, &table.id).await;
    assert_eq!(watchers(&server).await, WATCHERS);
    raise.send_replace(true);
    let took = left(&server, 0, PATIENCE).await;
    println!("{WATCHERS} killed watchers were gone after {took:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_eq!(ends(&server, "client_gone").await, WATCHERS);
    drop(streams);
    client.make_move(table.play(v1::Color::Black, "d3")).await.expect("a legal move");
}

/// The network swallows everything and nobody is told: only pings without an answer tell.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silently_cut_watchers_are_gone_within_the_time_to_keep_alive() {
    const CONNECTIONS: usize = 250;
    let server = server(&[]).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let proxy = Proxy::to(server.address.port()).await;
    let through = SocketAddr::from(([127, 0, 0, 1], proxy.port()));
    let mut connecting = JoinSet::new();
    for _ in 0..CONNECTIONS {
        connecting.spawn(channel_to(through));
    }
    let channels = connecting.join_all().await;
    let streams = watch_all(&channels, WATCHERS / CONNECTIONS, &table.id).await;
    assert_eq!(watchers(&server).await, WATCHERS);
    proxy.bury();
    // One that is not cut stays.
    let mut alive = Watch::of(&mut client, &table.id).await;
    alive.snapshot().await;
    let took = left(&server, 1, SILENCE + Duration::from_secs(8)).await;
    println!("{WATCHERS} silently cut watchers were gone after {took:?}");
    client.make_move(table.play(v1::Color::Black, "d3")).await.expect("a legal move");
    alive.event().await;
    drop(streams);
}

/// As many clients as there are do not all come back at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_begin_together_end_apart() {
    const LIFETIME: Duration = Duration::from_secs(5);
    let server = server(&["--watch-lifetime", "5s"]).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let channel = channel_to(server.address).await;
    let begun = Instant::now();
    let streams = watch_all(&[channel], WATCHERS / 2, &table.id).await;
    let opened = begun.elapsed();
    let mut ending = JoinSet::new();
    for stream in streams {
        ending.spawn(async move {
            assert_eq!(end(stream).await.0.reason, "STREAM_LIFETIME_REACHED");
            begun.elapsed()
        });
    }
    let mut ended = timeout(PATIENCE, ending.join_all()).await.expect("they end in time");
    ended.sort();
    let (first, last) = (ended[0], ended[ended.len() - 1]);
    // The tenth on either side, in tenths of all.
    let tenths = (0..ended.len()).step_by(ended.len() / 10).map(|at| ended[at].as_millis());
    println!(
        "{} streams, opened within {opened:?}, ended by tenths after {:?} ms, the last after {last:?}",
        ended.len(),
        tenths.collect::<Vec<_>>()
    );
    assert!(first >= LIFETIME.mul_f64(0.9), "{first:?}");
    assert!(last <= LIFETIME.mul_f64(1.1) + opened + Duration::from_secs(1), "{last:?}");
    // Evenly over a second: no fifth of it sees more than twice its share.
    let share = ended.len() / 5;
    let fifth = LIFETIME / 25;
    for window in ended.windows(2 * share) {
        assert!(window[window.len() - 1] - window[0] > fifth, "too many at once");
    }
}
