//! Wires the parts and runs the process's life: build, serve, drain. Listener and shutdown are arguments, so that tests
//! start the real thing.

mod admin;
mod background;
mod backup;
pub mod health;
mod serve;

use std::{future::Future, io, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{net::TcpListener, task::JoinSet, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic_health::server::HealthReporter;

use self::{
    background::{Readiness, sweep},
    serve::Server,
};
use crate::{
    api::{self, Games, InFlight},
    events::{Hub, Watches, relay},
    service::Service,
    settings::Settings,
    store::{Observed, Store, StoreUrl},
    telemetry::{Export, ExportSettings, Telemetry},
};

/// How long connections get to close after the last call was answered.
const LINGER: Duration = Duration::from_secs(1);

/// The service, bound and ready to run.
pub struct App {
    settings: Settings,
    listener: TcpListener,
    address: SocketAddr,
    admin: Option<(TcpListener, SocketAddr)>,
    store: Arc<dyn Store>,
    export: Export,
    telemetry: Telemetry,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Everything that was in flight finished.
    Drained,
    /// The drain timeout cut something off.
    CutOff,
}

impl App {
    /// Binds the address and opens the store; serves nothing yet.
    ///
    /// # Errors
    ///
    /// For people: the address or the store cannot be had.
    pub async fn build(settings: Settings) -> Result<Self, String> {
        let store = settings.store.open(settings.lifetimes)?;
        let (listener, address) = bind(settings.listen).await?;
        let admin = match settings.admin_listen {
            Some(listen) => Some(bind(listen).await?),
            None => None,
        };
        // Last, so that nothing has to be sent when the rest cannot be had.
        let exported = ExportSettings {
            otlp_endpoint: settings.otlp_endpoint.clone(),
            scraped: admin.is_some(),
        };
        let (export, telemetry) = Export::start(&exported)?;
        telemetry.metrics.expect_refusals(&api::REASONS);
        let store: Arc<dyn Store> = match export.is_on() {
            true => Arc::new(Observed::new(store, settings.store.kind(), telemetry.clone())),
            false => store,
        };
        Ok(Self { settings, listener, address, admin, store, export, telemetry })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it serves metrics, if it does.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(|(_, address)| *address)
    }

    /// Serves until `shutdown`, then drains within the drain timeout.
    ///
    /// # Errors
    ///
    /// For people: it could not serve.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<Ended, String> {
        let Self { settings, listener, address: _, admin, store, export, telemetry } = self;
        let draining = CancellationToken::new();
        let tasks = TaskTracker::new();
        let lifetimes = settings.lifetimes;
        let hub = Hub::new(store.clone(), lifetimes, settings.watch_poll, telemetry.clone());
        let watches = Watches::new(
            hub.clone(),
            settings.watch,
            draining.clone(),
            tasks.clone(),
            telemetry.clone(),
        );
        let service =
            Service::new(store.clone(), hub.clone(), lifetimes, tasks.clone(), telemetry.clone());
        let (health, health_service) = tonic_health::server::health_reporter();
        let in_flight = InFlight::new(settings.max_in_flight, tasks.clone(), telemetry.clone());
        let games = Games::new(service, watches);
        let router = api::router(games, health_service.clone(), in_flight)
            .map_err(|error| format!("the descriptors are broken: {error}"))?;
        api::report_alive(&health, true).await;
        let metrics = telemetry.metrics.clone();
        let mut readiness = Readiness::new(store.clone(), health.clone(), metrics.clone());
        readiness.check().await;
        let server = Server::start(
            listener,
            router,
            settings.max_connections,
            draining.clone(),
            telemetry.clone(),
        );
        // Serves until the end, so that the drain can be seen.
        let mut observers = JoinSet::new();
        if let Some((listener, _)) = admin {
            let router = admin::router(export.scrape(), store.clone(), health_service);
            observers.spawn(admin::serve(listener, router));
        }
        let mut background = JoinSet::new();
        background.spawn(sweep(store.clone(), settings.sweep_interval, metrics));
        background.spawn(readiness.follow());
        if let StoreUrl::Redis(url) = settings.store {
            background.spawn(relay(url, hub));
        }

        shutdown.await;

        // Above all readiness, which must not come back.
        background.shutdown().await;

        let drain = drain(&health, draining, tasks);
        let drained = timeout(settings.drain_timeout, drain).await;
        let _ = timeout(LINGER.min(settings.drain_timeout), server.closed()).await;
        let _ = timeout(LINGER, store.close()).await;
        observers.shutdown().await;
        export.flush().await;
        Ok(if drained.is_ok() { Ended::Drained } else { Ended::CutOff })
    }
}

async fn bind(listen: SocketAddr) -> Result<(TcpListener, SocketAddr), String> {
    let bound = async {
        let listener = TcpListener::bind(listen).await?;
        let address = listener.local_addr()?;
        io::Result::Ok((listener, address))
    };
    bound.await.map_err(|error| format!("cannot listen on {listen}: {error}"))
}

/// Turns callers away and waits for what is in flight: health first, so that balancers move on; then watches end and
/// connections take no new calls.
async fn drain(health: &HealthReporter, draining: CancellationToken, tasks: TaskTracker) {
    api::report_alive(health, false).await;
    api::report_ready(health, false).await;
    draining.cancel();
    tasks.close();
    tasks.wait().await;
}
