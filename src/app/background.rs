//! What goes on beside the calls: following whether the store is there, and removing what has expired.

use std::{sync::Arc, time::Duration};

use tokio::time::{sleep, timeout};
use tonic_health::server::HealthReporter;

use crate::{
    api,
    model::{Millis, jittered},
    store::Store,
    telemetry::Metrics,
};

/// How often the store is asked whether it can do its part, and how long it has to answer.
const READY_CHECK: Duration = Duration::from_secs(1);
const READY_ANSWER: Duration = Duration::from_secs(2);

/// Says that calls are welcome while the store can do its part.
pub struct Readiness {
    store: Arc<dyn Store>,
    health: HealthReporter,
    metrics: Arc<Metrics>,
    /// What was said last; nothing before the first check.
    ready: Option<bool>,
}

impl Readiness {
    /// Nothing is said yet.
    pub fn new(store: Arc<dyn Store>, health: HealthReporter, metrics: Arc<Metrics>) -> Self {
        Self { store, health, metrics, ready: None }
    }

    /// Asks the store once, and says what has changed.
    pub async fn check(&mut self) {
        let answer = match timeout(READY_ANSWER, self.store.ready()).await {
            Ok(answer) => answer.map_err(|error| error.to_string()),
            Err(_) => Err("the store does not answer".to_owned()),
        };
        if self.ready == Some(answer.is_ok()) {
            return;
        }
        match &answer {
            Ok(()) => tracing::info!("ready"),
            Err(error) => tracing::warn!(error, "not ready"),
        }
        self.metrics.store_ready(answer.is_ok());
        api::report_ready(&self.health, answer.is_ok()).await;
        self.ready = Some(answer.is_ok());
    }

    /// Checks for ever.
    pub async fn follow(mut self) {
        loop {
            sleep(jittered(READY_CHECK)).await;
            self.check().await;
        }
    }
}

/// Removes what has expired, now and then.
pub async fn sweep(store: Arc<dyn Store>, interval: Duration, metrics: Arc<Metrics>) {
    loop {
        sleep(jittered(interval)).await;
        loop {
            match store.sweep(Millis::now()).await {
                Ok(swept) => {
                    metrics.swept(swept.removed);
                    if swept.removed > 0 {
                        tracing::debug!(removed = swept.removed, "swept");
                    }
                    if !swept.more {
                        break;
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "what has expired could not be removed");
                    break;
                }
            }
        }
    }
}
