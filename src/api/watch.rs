//! A watch as a stream of the transport's.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use reversi_proto::WatchFrame;
use tokio_stream::Stream;
use tonic::{Request, Status};

use super::status::status;
use crate::{events::Watch, model::Deadline};

/// When the caller of `request` stops to wait, if it said so.
pub fn deadline_of<T>(request: &Request<T>) -> Option<Deadline> {
    request.extensions().get().copied()
}

/// The messages of a [`Watch`], and its error as a status.
pub struct WatchStream(Watch);

impl WatchStream {
    /// Wraps a watch.
    pub fn new(watch: Watch) -> Self {
        Self(watch)
    }
}

impl Stream for WatchStream {
    type Item = Result<WatchFrame, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.0).poll_next(cx).map(|next| next.map(|frame| frame.map_err(status)))
    }
}
