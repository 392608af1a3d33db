//! Every instrument, once: its name, unit, meaning, and what it can be told apart by.
//!
//! One set of instruments has two readers: what is sent by OTLP, and the Prometheus text. Counters begin at zero, each with
//! every value of its attributes, so that a rate is right from the first event on.

use std::time::Duration;

use opentelemetry::{
    KeyValue,
    metrics::{Counter, Gauge, Histogram, Meter, UpDownCounter},
};

use super::{
    conventions::{
        GRPC, RPC_METHOD, RPC_RESPONSE_STATUS_CODE, RPC_SERVER_CALL_DURATION, RPC_SYSTEM_NAME,
    },
    labels::{self, CatchUp, Change, Operation, Outcome, Reset, WatchEnd},
};
use crate::{build_info, error::StoreError, model::Game};

/// The edges of what is counted in seconds: 0.1 ms to 10 s.
const SECONDS: [f64; 16] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0,
];

/// The instruments.
pub struct Metrics {
    calls: Histogram<f64>,
    refusals: Counter<u64>,
    in_flight: UpDownCounter<i64>,
    connections: UpDownCounter<i64>,
    commits: Histogram<f64>,
    conflicts: Counter<u64>,
    store_calls: Histogram<f64>,
    store_errors: Counter<u64>,
    store_ready: Gauge<u64>,
    games: Counter<u64>,
    watchers: UpDownCounter<i64>,
    watched_games: UpDownCounter<i64>,
    delivery_lag: Histogram<f64>,
    catch_ups: Counter<u64>,
    resets: Counter<u64>,
    watch_ends: Counter<u64>,
    cache_lookups: Counter<u64>,
    swept: Counter<u64>,
}

/// One of those that are there now, until it is dropped.
pub struct Present(UpDownCounter<i64>);

impl Present {
    fn of(counter: &UpDownCounter<i64>) -> Self {
        counter.add(1, &[]);
        Self(counter.clone())
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.0.add(-1, &[]);
    }
}

impl Metrics {
    /// Instruments of `meter`, with every value that a counter can be told apart by at zero.
    pub fn new(meter: &Meter) -> Self {
        let counter = |name, unit, what| {
            meter.u64_counter(name).with_unit(unit).with_description(what).build()
        };
        let present = |name, unit, what| {
            meter.i64_up_down_counter(name).with_unit(unit).with_description(what).build()
        };
        let seconds = |name, what| {
            let histogram = meter.f64_histogram(name).with_unit("s").with_description(what);
            histogram.with_boundaries(SECONDS.to_vec()).build()
        };
        let metrics = Self {
            calls: seconds(
                RPC_SERVER_CALL_DURATION,
                "How long a call took to its answer; of a watch, to its opening.",
            ),
            refusals: counter(
                "reversi.refusals",
                "{call}",
                "Calls of the contract that ended with an error, by its reason.",
            ),
            in_flight: present(
                "reversi.calls.in_flight",
                "{call}",
                "Unary calls whose message is whole and whose answer is not.",
            ),
            connections: present("reversi.connections", "{connection}", "Connections."),
            commits: seconds("reversi.commit.duration", "How long an attempt to commit took."),
            conflicts: counter(
                "reversi.commit.conflicts",
                "{commit}",
                "Attempts to commit that another change came before.",
            ),
            store_calls: seconds("reversi.store.call.duration", "How long the store took."),
            store_errors: counter("reversi.store.errors", "{error}", "Errors of the store."),
            store_ready: meter
                .u64_gauge("reversi.store.ready")
                .with_description("Whether the store can do its part: 1 or 0.")
                .build(),
            games: counter(
                "reversi.games",
                "{game}",
                "Games that came to this status by a change committed here.",
            ),
            watchers: present("reversi.watchers", "{watch}", "Open watches."),
            watched_games: present("reversi.watched_games", "{game}", "Games with a watch."),
            delivery_lag: seconds(
                "reversi.watch.delivery.lag",
                "From an event's commit time to handing it to the transport.",
            ),
            catch_ups: counter(
                "reversi.watch.catch_ups",
                "{catch_up}",
                "Times that watchers had to catch up, by cause.",
            ),
            resets: counter("reversi.watch.resets", "{reset}", "Watchers told of another history."),
            watch_ends: counter("reversi.watch.ends", "{watch}", "Watches that ended."),
            cache_lookups: counter(
                "reversi.cache.lookups",
                "{lookup}",
                "Changes that looked for their game in the cache.",
            ),
            swept: counter("reversi.swept", "{entry}", "Expired entries that were removed."),
        };
        metrics.begin_at_zero();
        let build = meter.u64_gauge("reversi.build.info").with_description("Always 1.").build();
        let build_attributes = [
            KeyValue::new("version", build_info::VERSION),
            KeyValue::new("commit", build_info::COMMIT),
            KeyValue::new("rustc", build_info::RUSTC),
        ];
        build.record(1, &build_attributes);
        metrics
    }

    fn begin_at_zero(&self) {
        for present in [&self.in_flight, &self.connections, &self.watchers, &self.watched_games] {
            present.add(0, &[]);
        }
        for change in Change::ALL {
            self.conflicts.add(0, &[KeyValue::new("change", change.text())]);
        }
        for operation in Operation::ALL {
            for kind in labels::STORE_ERRORS {
                self.store_errors.add(0, &store_error(operation, kind));
            }
        }
        for cause in CatchUp::ALL {
            self.catch_ups.add(0, &[KeyValue::new("cause", cause.text())]);
        }
        for reason in Reset::ALL {
            self.resets.add(0, &[KeyValue::new("reason", reason.text())]);
        }
        for reason in WatchEnd::ALL {
            self.watch_ends.add(0, &[KeyValue::new("reason", reason.text())]);
        }
        for result in ["hit", "miss"] {
            self.cache_lookups.add(0, &[KeyValue::new("result", result)]);
        }
        self.swept.add(0, &[]);
    }

    /// Makes the counters of these reasons begin at zero.
    pub fn expect_refusals(&self, reasons: &[&'static str]) {
        for reason in reasons {
            self.refusals.add(0, &[KeyValue::new("reason", *reason)]);
        }
    }

    /// A call was answered.
    pub fn call(&self, method: &'static str, code: &'static str, took: Duration) {
        let attributes = [
            KeyValue::new(RPC_SYSTEM_NAME, GRPC),
            KeyValue::new(RPC_METHOD, method),
            KeyValue::new(RPC_RESPONSE_STATUS_CODE, code),
        ];
        self.calls.record(took.as_secs_f64(), &attributes);
    }

    /// It was an error, for this reason.
    pub fn refusal(&self, reason: &'static str) {
        self.refusals.add(1, &[KeyValue::new("reason", reason)]);
    }

    /// A call is in flight.
    pub fn in_flight(&self) -> Present {
        Present::of(&self.in_flight)
    }

    /// A connection is open.
    pub fn connection(&self) -> Present {
        Present::of(&self.connections)
    }

    /// A watch is open.
    pub fn watcher(&self) -> Present {
        Present::of(&self.watchers)
    }

    /// A game is watched.
    pub fn watched_game(&self) -> Present {
        Present::of(&self.watched_games)
    }

    /// An attempt to commit ended.
    pub fn commit(&self, change: Change, outcome: Outcome, took: Duration) {
        let change = KeyValue::new("change", change.text());
        if outcome == Outcome::Conflict {
            self.conflicts.add(1, std::slice::from_ref(&change));
        }
        let attributes = [change, KeyValue::new("outcome", outcome.text())];
        self.commits.record(took.as_secs_f64(), &attributes);
    }

    /// A store answered.
    pub fn store_call(
        &self,
        store: &'static str,
        operation: Operation,
        took: Duration,
        error: Option<&StoreError>,
    ) {
        let attributes =
            [KeyValue::new("operation", operation.text()), KeyValue::new("store", store)];
        self.store_calls.record(took.as_secs_f64(), &attributes);
        if let Some(error) = error {
            self.store_errors.add(1, &store_error(operation, labels::store_error(error)));
        }
    }

    /// Whether the store can do its part.
    pub fn store_ready(&self, ready: bool) {
        self.store_ready.record(ready.into(), &[]);
    }

    /// A change committed here brought a game to its status.
    pub fn game(&self, game: &Game) {
        let rules = game.table.rules();
        let attributes = [
            KeyValue::new("status", labels::status(game.table.status())),
            KeyValue::new("board", labels::board(rules.board())),
            KeyValue::new("players", i64::from(rules.players())),
            KeyValue::new("multicolor", rules.multicolor()),
            KeyValue::new("objective", labels::objective(rules.objective())),
        ];
        self.games.add(1, &attributes);
    }

    /// An event was handed to the transport so long after its commit.
    pub fn delivered(&self, lag: Duration) {
        self.delivery_lag.record(lag.as_secs_f64(), &[]);
    }

    /// Watchers had to catch up.
    pub fn catch_up(&self, cause: CatchUp) {
        self.catch_ups.add(1, &[KeyValue::new("cause", cause.text())]);
    }

    /// A watcher was told of another history.
    pub fn reset(&self, reason: Reset) {
        self.resets.add(1, &[KeyValue::new("reason", reason.text())]);
    }

    /// A watch ended.
    pub fn watch_end(&self, reason: WatchEnd) {
        self.watch_ends.add(1, &[KeyValue::new("reason", reason.text())]);
    }

    /// A change looked for its game in the cache.
    pub fn cache_lookup(&self, found: bool) {
        let result = if found { "hit" } else { "miss" };
        self.cache_lookups.add(1, &[KeyValue::new("result", result)]);
    }

    /// Expired entries were removed.
    pub fn swept(&self, removed: usize) {
        self.swept.add(removed as u64, &[]);
    }
}

fn store_error(operation: Operation, kind: &'static str) -> [KeyValue; 2] {
    [KeyValue::new("operation", operation.text()), KeyValue::new("kind", kind)]
}
