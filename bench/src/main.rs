//! Measures `MakeMove` on every store beside a bare service: flags, the order of measurements, and an end that leaves
//! nothing running.

mod bare;
mod load;
mod play;
mod process;
mod recording;
mod report;

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use clap::{Parser, Subcommand, ValueEnum};
use tokio::signal::unix::{SignalKind, signal};

use self::{
    load::Side,
    process::{Redis, Server},
    recording::Recording,
    report::{Row, Sample},
};

const FAILED: u8 = 1;
const STOPPED: u8 = 130;

/// How much of a measurement's time is spent before the first of each side.
const WARM_UP: f64 = 0.4;

/// Measures MakeMove of reversid beside a bare service, on loopback.
///
/// Both are processes of their own and get the same requests: the moves of real games, each with a request id and the
/// version that it was judged on. The bare service answers with as many bytes and does only the unavoidable: a map under
/// a lock (memory), a group commit of an equal entry (file), one script with the same writes (Redis). The two are measured
/// in turn, --rounds times each; medians are printed.
///
///   cargo run --release -p reversi-bench
///   cargo run --release -p reversi-bench -- --stores file --in-flight 1,16,256
///
/// The load generator, both services and Redis share this machine's cores. Files are written beside this program's own.
/// Exit codes: 0, 1 when something failed, 2 for wrong usage, 130 when it was stopped.
#[derive(Parser)]
#[command(name = "reversi-bench", verbatim_doc_comment, args_conflicts_with_subcommands = true)]
struct Args {
    #[command(subcommand)]
    part: Option<Part>,

    /// Which stores, comma-separated. Redis is a redis-server that is started for this.
    #[arg(long, value_delimiter = ',', default_value = "memory,file,redis", value_name = "LIST")]
    stores: Vec<StoreKind>,

    /// How many calls are in flight at a time, comma-separated; all on one connection.
    #[arg(long, value_delimiter = ',', default_value = "1,64", value_name = "LIST",
          value_parser = clap::value_parser!(u16).range(1..=512))]
    in_flight: Vec<u16>,

    /// Seconds a measurement.
    #[arg(long, default_value = "1.5", value_name = "N", value_parser = seconds)]
    seconds: f64,

    /// Measurements of each side.
    #[arg(long, default_value_t = 3, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,

    /// Measure this reversid, instead of one that is built from this source.
    #[arg(long, value_name = "PATH")]
    reversid: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Part {
    /// The bare service, which the bench starts.
    #[command(hide = true)]
    Bare(bare::Args),
}

/// Where games live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StoreKind {
    Memory,
    File,
    Redis,
}

impl StoreKind {
    fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::File => "file",
            Self::Redis => "redis",
        }
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.05..=60.0).contains(&seconds) => Ok(seconds),
        _ => Err("must be from 0.05 to 60".into()),
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let ended = match &args.part {
        Some(Part::Bare(part)) => bare::run(part),
        None => {
            reversid(args.reversid.as_deref()).and_then(|reversid| in_time(bench(&args, &reversid)))
        }
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_empty() => ExitCode::from(STOPPED),
        Err(error) => {
            eprintln!("reversi-bench: {error}");
            ExitCode::from(FAILED)
        }
    }
}

/// The program to measure: the one that is given, or one built as this program was.
fn reversid(given: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    if let Some(cargo) = std::env::var_os("CARGO") {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
        let mut build = Command::new(cargo);
        build.args(["build", "--locked", "--bin", "reversid", "--manifest-path", manifest]);
        if !cfg!(debug_assertions) {
            build.arg("--release");
        }
        if !build.status().is_ok_and(|status| status.success()) {
            return Err("reversid could not be built".into());
        }
    }
    let beside = own_program()?.with_file_name("reversid");
    match beside.exists() {
        true => Ok(beside),
        false => Err(format!("there is no {}: run this by cargo run", beside.display())),
    }
}

fn own_program() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|error| format!("this program cannot be found: {error}"))
}

/// Runs `work` until it ends or a signal comes; what it started ends with it either way. Stopped, the error is empty.
///
/// One thread is all that the load gets: the other cores are the services'.
fn in_time(work: impl Future<Output = Result<(), String>>) -> Result<(), String> {
    let text = |error| format!("the runtime did not start: {error}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(text)?.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(text)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(text)?;
        tokio::select! {
            ended = work => ended,
            _ = interrupt.recv() => Err(String::new()),
            _ = terminate.recv() => Err(String::new()),
        }
    })
}

async fn bench(args: &Args, reversid: &Path) -> Result<(), String> {
    let own = own_program()?;
    let home = own.parent().unwrap_or(Path::new("."));
    let folder = tempfile::tempdir_in(home)
        .map_err(|error| format!("no folder for files in {}: {error}", home.display()))?;
    report::conditions(args.seconds, args.rounds);
    eprintln!("recording what reversid answers and keeps ...");
    let recording = Recording::make(reversid, folder.path()).await?;
    report::head(&recording);
    for &store in &args.stores {
        let folder = folder.path().join(store.name());
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let redis = match store {
            StoreKind::Redis if !Redis::is_installed() => {
                report::skipped(
                    store,
                    "redis-server is not installed (apt-get install redis-server)",
                );
                continue;
            }
            StoreKind::Redis => Some(Redis::start(&folder).await?),
            StoreKind::Memory | StoreKind::File => None,
        };
        let url = |side: &str| match (store, &redis) {
            (StoreKind::File, _) => format!("file:{}", folder.join(side).display()),
            (StoreKind::Redis, Some(redis)) => redis.url(),
            (StoreKind::Memory, _) | (StoreKind::Redis, None) => "memory:".into(),
        };
        let real = Server::reversid(reversid, &url("real.redb")).await?;
        let bare = Server::bare(&own, &url("bare.redb"), &recording).await?;
        let real = Side::real(real, recording.plays.clone()).await?;
        let bare = Side::bare(bare, recording.plays.clone()).await?;
        let mut sides = [real, bare];
        for &in_flight in &args.in_flight {
            let row = row(args, store, in_flight.into(), &mut sides, redis.as_ref()).await?;
            report::row(&row);
        }
    }
    report::foot();
    Ok(())
}

/// Measures both sides in turn, so that whatever drifts hits both.
async fn row(
    args: &Args,
    store: StoreKind,
    in_flight: usize,
    sides: &mut [Side; 2],
    redis: Option<&Redis>,
) -> Result<Row, String> {
    for side in sides.iter_mut() {
        side.measure(in_flight, args.seconds * WARM_UP, redis).await?;
    }
    let mut samples: [Vec<Sample>; 2] = Default::default();
    for round in 1..=args.rounds {
        for (side, samples) in sides.iter_mut().zip(&mut samples) {
            let sample = side.measure(in_flight, args.seconds, redis).await?;
            let (name, per_second) = (side.name(), sample.calls_a_second);
            let (store, rounds) = (store.name(), args.rounds);
            eprintln!(
                "{store}, {in_flight} in flight, round {round} of {rounds}: {name} {per_second:.0} calls/s"
            );
            samples.push(sample);
        }
    }
    let [real, bare] = samples.map(Sample::median);
    Ok(Row { store, in_flight, real, bare })
}
