//! A transport to one server, or to replicas in turn: no two calls in a row go to the same one.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use tonic::{
    body::Body,
    codegen::http::{Request, Response},
    transport::{Channel, Error},
};
use tower::{Service, ServiceExt as _};

/// Channels that take turns, over all clones.
#[derive(Clone, Debug)]
pub struct Replicas {
    channels: Arc<[Channel]>,
    calls: Arc<AtomicUsize>,
}

impl Replicas {
    /// Calls are counted on `calls`, which clients may share.
    pub fn new(channels: Vec<Channel>, calls: Arc<AtomicUsize>) -> Self {
        Self { channels: channels.into(), calls }
    }
}

impl From<Channel> for Replicas {
    fn from(channel: Channel) -> Self {
        Self::new(vec![channel], Arc::default())
    }
}

impl Service<Request<Body>> for Replicas {
    type Response = Response<Body>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let turn = self.calls.fetch_add(1, Ordering::Relaxed) % self.channels.len();
        let channel = self.channels[turn].clone();
        Box::pin(channel.oneshot(request))
    }
}
