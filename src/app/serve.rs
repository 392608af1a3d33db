//! Accepts connections and serves the router on them, within bounds that tonic's own server does not set: connections,
//! silent peers, a stream's send buffer, and a drain that ends.

use std::{sync::Arc, time::Duration};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto::Builder, graceful::GracefulShutdown},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tonic_web::GrpcWebLayer;
use tower::ServiceBuilder;

use crate::{api, telemetry::Telemetry};

/// How long a peer may take for its first byte, and over HTTP/1 for the head of a request.
const FIRST_BYTE: Duration = Duration::from_secs(10);

/// Streams of one connection; a client's further calls wait in the client.
const STREAMS_MAX: u32 = 1_000;

/// What is buffered for a stream whose peer does not read.
const SEND_BUFFER: usize = 16 << 10;

/// Bytes of a request's headers.
const HEADERS_MAX: u32 = 16 << 10;

/// How often an idle HTTP/2 peer is asked whether it is there, and how long it has to answer.
const KEEP_ALIVE: Duration = Duration::from_secs(20);
const KEEP_ALIVE_ANSWER: Duration = Duration::from_secs(10);

/// How long to wait after accepting failed, for want of file descriptors above all.
pub const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// A server that is running.
pub struct Server {
    closed: oneshot::Receiver<()>,
}

impl Server {
    /// Serves what `listener` accepts, until `draining` is cancelled: then nothing more is accepted, and open connections
    /// finish the calls that they have.
    pub fn start(
        listener: TcpListener,
        router: Router,
        connections_max: usize,
        draining: CancellationToken,
        telemetry: Telemetry,
    ) -> Self {
        let (done, closed) = oneshot::channel();
        tokio::spawn(async move {
            accept(listener, router, connections_max, draining, telemetry).await;
            let _ = done.send(());
        });
        Self { closed }
    }

    /// Waits until every connection is closed.
    pub async fn closed(self) {
        let _ = self.closed.await;
    }
}

async fn accept(
    listener: TcpListener,
    router: Router,
    connections_max: usize,
    draining: CancellationToken,
    telemetry: Telemetry,
) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(FIRST_BYTE);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_send_buf_size(SEND_BUFFER)
        .max_header_list_size(HEADERS_MAX)
        .keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE_ANSWER);
    let service = ServiceBuilder::new()
        .layer(api::cors())
        .layer(GrpcWebLayer::new())
        .map_response(|response: axum::response::Response| response.map(tonic::body::Body::new))
        .service(router);
    let places = Arc::new(Semaphore::new(connections_max));
    let graceful = GracefulShutdown::new();

    loop {
        let accepted = tokio::select! {
            accepted = next(&listener, &places) => accepted,
            () = draining.cancelled() => break,
        };
        let Some((stream, place)) = accepted else {
            sleep(ACCEPT_RETRY).await;
            continue;
        };
        let builder = builder.clone();
        let service = TowerToHyperService::new(service.clone());
        let watcher = graceful.watcher();
        let draining = draining.clone();
        let present = telemetry.metrics.connection();
        tokio::spawn(async move {
            let _place = (place, present);
            let mut first = [0];
            let spoke = tokio::select! {
                spoke = timeout(FIRST_BYTE, stream.peek(&mut first)) => matches!(spoke, Ok(Ok(1..))),
                () = draining.cancelled() => false,
            };
            if spoke {
                let connection = builder.serve_connection(TokioIo::new(stream), service);
                if let Err(error) = watcher.watch(connection).await {
                    tracing::debug!(error, "a connection failed");
                }
            }
        });
    }
    drop(listener);
    graceful.shutdown().await;
}

/// The next connection, once there is a place for it.
async fn next(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let place = places.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            // Answers are small and wanted at once.
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "a connection stays delayed");
            }
            Some((stream, place))
        }
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            None
        }
    }
}
