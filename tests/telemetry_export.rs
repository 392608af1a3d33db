//! A collector that is down, or silent, or slow costs no caller anything, and the end of the process no more than it may; on one
//! processor too. One that is there gets all of it.

mod common;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use common::{
    collector::Collector,
    process::{Process, without_variables},
    *,
};
use reversi_proto::v1;
use tokio::{
    net::{TcpListener, TcpStream},
    process::Command,
    sync::mpsc,
};

/// The drain's own waits and the flush, with room for a busy machine.
const END_MAX: Duration = Duration::from_secs(6);

const CALLS: usize = 200;

/// What the process may run on.
#[derive(Clone, Copy, Debug)]
enum Processors {
    All,
    /// One of the machine's, and one worker of the runtime's.
    One,
}

fn server(processors: Processors, endpoint: &str) -> Command {
    let binary = env!("CARGO_BIN_EXE_reversid");
    let flags = ["--listen=127.0.0.1:0", "--store=memory:", "--otlp-endpoint", endpoint];
    let mut command = match processors {
        Processors::All => without_variables(Path::new(binary), &flags),
        Processors::One => {
            let pinned = [&["-c", "0", binary], &flags[..]].concat();
            let mut command = without_variables(Path::new("taskset"), &pinned);
            command.env("TOKIO_WORKER_THREADS", "1");
            command
        }
    };
    // Soon in trouble, if there is any: hardly any room, and much to send.
    command.env("OTEL_BSP_SCHEDULE_DELAY", "10").env("OTEL_BSP_MAX_QUEUE_SIZE", "16");
    command.env("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "8").env("OTEL_METRIC_EXPORT_INTERVAL", "50");
    command
}

/// How long calls take, one after the other.
async fn calls(server: &Process) -> Duration {
    let mut client = server.client().await;
    let begun = Instant::now();
    for _ in 0..CALLS {
        create(&mut client, v1::Rules::default()).await;
    }
    begun.elapsed()
}

/// Plays, ends the process, and answers with how long that took and its log.
async fn ended(mut server: Process) -> (Duration, String) {
    let asked = Instant::now();
    server.signal(&["TERM"]).await;
    assert_eq!(server.ended().await.code(), Some(0), "{}", server.log());
    (asked.elapsed(), server.logged("drained").await)
}

/// Calls take as long as without a collector, as far as a busy machine can tell, and the process ends in time.
async fn costs_nothing(processors: Processors, endpoint: &str) -> String {
    let alone = Process::of(server(processors, "")).await;
    let without = calls(&alone).await;
    let server = Process::of(server(processors, endpoint)).await;
    let with = calls(&server).await;
    println!("{processors:?}: {CALLS} calls took {with:?}, and {without:?} without a collector");
    // A wait for the collector in one call of ten would be ten times more than this.
    assert!(with < 3 * without + Duration::from_millis(500), "{with:?}, not {without:?}");
    let (took, log) = ended(server).await;
    assert!(took < END_MAX, "it took {took:?}");
    log
}

/// A port where nobody listens.
async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    format!("http://{}", listener.local_addr().expect("it is bound"))
}

/// A peer that accepts and never answers.
async fn silent() -> (String, mpsc::Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let endpoint = format!("http://{}", listener.local_addr().expect("it is bound"));
    let (keep, kept) = mpsc::channel(1_000);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = keep.send(stream).await;
        }
    });
    (endpoint, kept)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_down_costs_nothing() {
    let log = costs_nothing(Processors::All, &nobody().await).await;
    assert!(log.contains(" WARN opentelemetry"), "it is told: {log}");
    assert!(!log.contains("ERROR"), "and is no fault of ours: {log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_silent_costs_nothing() {
    let (endpoint, _peers) = silent().await;
    let log = costs_nothing(Processors::All, &endpoint).await;
    assert!(log.contains("may not have reached the collector"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_one_processor_a_collector_that_is_down_costs_nothing() {
    costs_nothing(Processors::One, &nobody().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_one_processor_a_collector_that_is_silent_costs_nothing() {
    let (endpoint, _peers) = silent().await;
    costs_nothing(Processors::One, &endpoint).await;
}

/// Everything that was recorded before the signal is there after the end, and the end is not held up.
async fn gets_all(processors: Processors) {
    let (collector, endpoint) = Collector::start().await;
    let mut command = server(processors, &endpoint);
    // Nothing is sent before the end.
    for variable in ["OTEL_BSP_SCHEDULE_DELAY", "OTEL_METRIC_EXPORT_INTERVAL"] {
        command.env(variable, "3600000");
    }
    command.env("OTEL_BSP_MAX_QUEUE_SIZE", "2048").env("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2048");
    let server = Process::of(command).await;
    calls(&server).await;
    assert_eq!(collector.spans().len(), 0);
    let (took, log) = ended(server).await;
    assert!(took < END_MAX, "it took {took:?}");
    assert!(!log.contains("may not have reached"), "{log}");
    // Each call, and what it did to the store.
    assert_eq!(collector.named("reversi.v1.GameService/CreateGame").len(), CALLS);
    assert_eq!(collector.named("create").len(), CALLS);
    let created = [("rpc.method", "reversi.v1.GameService/CreateGame")];
    assert_eq!(collector.sum("rpc.server.call.duration", &created), CALLS as f64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_its_end_the_process_sends_what_is_left() {
    gets_all(Processors::All).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_one_processor_the_process_sends_what_is_left_at_its_end() {
    gets_all(Processors::One).await;
}
