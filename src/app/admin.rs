//! The admin port: metrics in the Prometheus text format, over HTTP/1, for operators alone. Its bounds are its own, so that
//! whoever is on it takes nothing from players.

use std::{sync::Arc, time::Duration};

use axum::{Router, http::StatusCode, response::IntoResponse, routing::get};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use tokio::{
    net::TcpListener,
    sync::Semaphore,
    time::{sleep, timeout},
};

use super::serve::ACCEPT_RETRY;
use crate::telemetry::Scrape;

/// Connections at once; more wait to be accepted.
const ADMIN_CONNECTIONS_MAX: usize = 16;

/// How long a connection may last, which is for one request.
const ADMIN_CONNECTION: Duration = Duration::from_secs(10);

/// What is served.
pub fn router(scrape: Scrape) -> Router {
    Router::new().route("/metrics", get(async move || metrics(&scrape)))
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
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder.http1().timer(TokioTimer::new()).keep_alive(false);
    let places = Arc::new(Semaphore::new(ADMIN_CONNECTIONS_MAX));
    loop {
        // Never closed.
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_RETRY).await;
            continue;
        };
        let (builder, service) = (builder.clone(), TowerToHyperService::new(router.clone()));
        tokio::spawn(async move {
            let _place = place;
            let connection = builder.serve_connection(TokioIo::new(stream), service);
            if let Ok(Err(error)) = timeout(ADMIN_CONNECTION, connection).await {
                tracing::debug!(error, "an admin connection failed");
            }
        });
    }
}
