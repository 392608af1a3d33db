//! The admin port: metrics in the Prometheus text format and backups over HTTP, and health by gRPC, for operators alone. Its bounds
//! are its own, so that whoever is on it takes nothing from players, nor they from it: at the limit of connections the process
//! still says here that it lives.

use std::{sync::Arc, time::Duration};

use axum::{Extension, Router, http::StatusCode, response::IntoResponse, routing::get};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
    time::{Instant, sleep, sleep_until},
};
use tonic_health::pb::health_server::{Health, HealthServer};

use super::{backup, serve::ACCEPT_RETRY};
use crate::{store::Store, telemetry::Scrape};

/// Connections at once; more wait to be accepted.
const ADMIN_CONNECTIONS_MAX: usize = 16;

/// Streams of one connection over HTTP/2; a client's further requests wait in the client.
const ADMIN_STREAMS_MAX: u32 = 4;

/// How long a connection may last, unless a request on it takes longer by its nature. Over HTTP/1 it is for one.
const ADMIN_CONNECTION: Duration = Duration::from_secs(10);

/// Until when a connection may last. Cheap to clone.
#[derive(Clone)]
pub struct Lease(Arc<watch::Sender<Instant>>);

impl Lease {
    fn new(time: Duration) -> Self {
        Self(Arc::new(watch::Sender::new(Instant::now() + time)))
    }

    /// From now on it lasts so long.
    pub fn renew(&self, time: Duration) {
        self.0.send_replace(Instant::now() + time);
    }

    async fn ended(&self) {
        let mut until = self.0.subscribe();
        loop {
            let end = *until.borrow_and_update();
            tokio::select! {
                () = sleep_until(end) => return,
                _ = until.changed() => {}
            }
        }
    }
}

/// What is served.
pub fn router(scrape: Scrape, store: Arc<dyn Store>, health: HealthServer<impl Health>) -> Router {
    let download = async move |Extension(lease): Extension<Lease>| {
        backup::download(store.as_ref(), lease).await
    };
    Router::new()
        .route("/metrics", get(async move || metrics(&scrape)))
        // To be told of it, it would have to be made.
        .route("/backup", get(download).head(async || StatusCode::METHOD_NOT_ALLOWED))
        .route_service("/grpc.health.v1.Health/{method}", health)
}

fn metrics(scrape: &Scrape) -> impl IntoResponse + use<> {
    let text = scrape.text().map_err(|problem| {
        tracing::error!(problem, "the metrics cannot be written");
        StatusCode::INTERNAL_SERVER_ERROR
    });
    ([("content-type", "text/plain; version=0.0.4; charset=utf-8")], text)
}

/// Serves `router` on what `listener` accepts, until it is dropped.
pub async fn serve(listener: TcpListener, router: Router) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).keep_alive(false);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(ADMIN_STREAMS_MAX);
    let places = Arc::new(Semaphore::new(ADMIN_CONNECTIONS_MAX));
    loop {
        // Never closed.
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_RETRY).await;
            continue;
        };
        let lease = Lease::new(ADMIN_CONNECTION);
        let router = router.clone().layer(Extension(lease.clone()));
        let (builder, service) = (builder.clone(), TowerToHyperService::new(router));
        tokio::spawn(async move {
            let _place = place;
            let connection = builder.serve_connection(TokioIo::new(stream), service);
            tokio::select! {
                ended = connection => {
                    if let Err(error) = ended {
                        tracing::debug!(error, "an admin connection failed");
                    }
                }
                () = lease.ended() => {}
            }
        });
    }
}
