//! What the process says of itself: traces and metrics, by OTLP and as Prometheus text, and the log.
//!
//! `logs` writes the log; `spans` makes every span there is, `w3c` reads the contexts of callers, and `context` carries
//! them along; `metrics` declares every instrument, with the closed sets of `labels`; `conventions` holds the names of
//! others that are used; `export` sends it all, within bounds, and never in anybody's way.

mod context;
mod conventions;
mod export;
pub mod labels;
mod logs;
mod metrics;
mod spans;
mod w3c;

use std::{sync::Arc, time::SystemTime};

pub use self::{
    context::{Cause, Origin, carried},
    conventions::OTHER,
    export::{Export, ExportSettings, Scrape},
    logs::{LogFormat, log},
    metrics::{Metrics, Present},
    spans::{CallSpan, Caused, Spans, StoreKind, StoreSpan, note_game, note_revision, noted_game},
};
use crate::model::{GameId, Millis};

/// What the parts tell what they do. Cheap to clone.
#[derive(Clone)]
pub struct Telemetry {
    /// Traces.
    pub spans: Spans,
    /// Metrics.
    pub metrics: Arc<Metrics>,
}

impl Telemetry {
    /// Says nothing to anybody.
    pub fn off() -> Self {
        let meter = opentelemetry::global::meter("reversid");
        Self { spans: Spans::new(None), metrics: Arc::new(Metrics::new(&meter)) }
    }
}

/// An event on its way to a watcher.
pub struct Delivery {
    /// The game's.
    pub game_id: GameId,
    /// The event's.
    pub revision: u64,
    /// When the event was committed.
    pub committed: Millis,
    /// When it was this watcher's turn.
    pub begun: SystemTime,
    /// What caused the event, as far as it is known.
    pub caused: Option<Caused>,
    /// The call that opened the watch, if it is recorded.
    pub watch: Option<Origin>,
}

impl Delivery {
    /// The event was handed to the transport.
    pub fn handed_over(self, telemetry: &Telemetry) {
        telemetry.metrics.delivered(Millis::now().since(self.committed));
        telemetry.spans.delivered(&self);
    }
}
