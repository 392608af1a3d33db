//! What was measured, and how it is told.

use std::{fs, time::Duration};

use crate::{StoreKind, recording::Recording};

/// One measurement of one side.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Moves answered in a second.
    pub calls_a_second: f64,
    /// The time to an answer that half of the calls stayed within, in microseconds.
    pub p50: f64,
    /// The same of 99 in 100.
    pub p99: f64,
    /// The server's processor time a call, in microseconds.
    pub server: f64,
    /// Redis' processor time a call, in microseconds.
    pub redis: Option<f64>,
}

impl Sample {
    /// Of these answer times in `elapsed` seconds, and the processor time that went into them; none without answers.
    pub fn of(
        mut times: Vec<Duration>,
        elapsed: f64,
        server: Duration,
        redis: Option<Duration>,
    ) -> Option<Self> {
        times.sort_unstable();
        let calls = times.len() as f64;
        let at = |part: f64| times.get((part * calls) as usize).copied().map(micros);
        let a_call = |time: Duration| micros(time) / calls;
        Some(Self {
            calls_a_second: calls / elapsed,
            p50: at(0.50)?,
            p99: at(0.99)?,
            server: a_call(server),
            redis: redis.map(a_call),
        })
    }

    /// Figure by figure the median.
    ///
    /// # Panics
    ///
    /// Of no samples.
    pub fn median(samples: Vec<Self>) -> Self {
        let median = |figure: fn(&Self) -> f64| {
            let mut figures: Vec<_> = samples.iter().map(figure).collect();
            figures.sort_by(f64::total_cmp);
            let (low, high) = ((figures.len() - 1) / 2, figures.len() / 2);
            (figures[low] + figures[high]) / 2.0
        };
        Self {
            calls_a_second: median(|sample| sample.calls_a_second),
            p50: median(|sample| sample.p50),
            p99: median(|sample| sample.p99),
            server: median(|sample| sample.server),
            redis: samples[0].redis.map(|_| median(|sample| sample.redis.unwrap_or_default())),
        }
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Both sides under one load.
pub struct Row {
    /// Where games lived.
    pub store: StoreKind,
    /// How many calls were in flight.
    pub in_flight: usize,
    /// The medians of reversid.
    pub real: Sample,
    /// The medians of the bare service.
    pub bare: Sample,
}

/// Says what the figures depend on.
pub fn conditions(seconds: f64, rounds: u16) {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').take(3).collect::<Vec<_>>().join(" ");
    println!(
        "MakeMove of reversid (real) beside a bare tonic service (bare), {rounds} x {seconds} s each in turn, medians."
    );
    println!(
        "The load generator, both services and Redis share {cores} cores. Load average at the start: {load}."
    );
    if cfg!(debug_assertions) {
        println!("This is a debug build: the figures say nothing.");
    }
}

/// Says what both sides are given to do, and begins the table.
pub fn head(recording: &Recording) {
    let (bytes, answers) = recording.answers;
    let entry = recording.entry;
    println!(
        "{} games of 8x8, {} moves; an answer has {} bytes, a stored game {} to {}.\n",
        recording.plays.len(),
        answers,
        bytes / answers,
        entry.created,
        entry.at(1 + answers / recording.plays.len()),
    );
    println!(
        "{:<7} {:>9}  {:<9} {:>9} {:>9} {:>9} {:>13} {:>12}",
        "store",
        "in flight",
        "side",
        "calls/s",
        "p50 us",
        "p99 us",
        "server us/call",
        "Redis us/call"
    );
}

/// Says that a store is not measured.
pub fn skipped(store: StoreKind, why: &str) {
    println!("{:<7} SKIPPED: {why}", store.name());
    eprintln!("{} is SKIPPED: {why}", store.name());
}

/// Tells one load of one store.
pub fn row(row: &Row) {
    let line = |side: &str, figures: [String; 4], redis: Option<String>| {
        let [calls, p50, p99, server] = figures;
        println!(
            "{:<7} {:>9}  {side:<9} {calls:>9} {p50:>9} {p99:>9} {server:>13} {:>12}",
            row.store.name(),
            row.in_flight,
            redis.unwrap_or("-".into())
        );
    };
    let figures = |of: fn(&Sample) -> f64| (of(&row.real), of(&row.bare));
    let all = [
        figures(|it| it.calls_a_second),
        figures(|it| it.p50),
        figures(|it| it.p99),
        figures(|it| it.server),
    ];
    let redis = row.real.redis.zip(row.bare.redis);
    let plain = |figure: f64| format!("{figure:.*}", if figure < 100.0 { 1 } else { 0 });
    let ratio = |(real, bare): (f64, f64)| format!("{:.2}", real / bare);
    line("real", all.map(|(real, _)| plain(real)), redis.map(|(real, _)| plain(real)));
    line("bare", all.map(|(_, bare)| plain(bare)), redis.map(|(_, bare)| plain(bare)));
    line("real/bare", all.map(ratio), redis.map(ratio));
}

/// Says how to read it.
pub fn foot() {
    println!(
        "\nus are microseconds. CPU is user and system time of the process, by the kernel's count of 10 ms. \
         docs/performance.md says what each figure means."
    );
}
