//! A watch as a stream of the transport's.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use reversi_proto::WatchFrame;
use tokio_stream::Stream;
use tonic::{Request, Status};

use super::status::status;
use crate::{events::Watch, model::Deadline, telemetry::CallSpan};

/// When the caller of `request` stops to wait, if it said so.
pub fn deadline_of<T>(request: &Request<T>) -> Option<Deadline> {
    request.extensions().get().copied()
}

/// The messages of a [`Watch`], and its error as a status.
pub struct WatchStream {
    watch: Watch,
    /// The call that opened it, which its error belongs to.
    call: CallSpan,
}

impl WatchStream {
    /// Wraps a watch, within the call that opened it.
    pub fn new(watch: Watch) -> Self {
        Self { watch, call: CallSpan::current() }
    }
}

impl Stream for WatchStream {
    type Item = Result<WatchFrame, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(Pin::new(&mut self.watch).poll_next(cx));
        Poll::Ready(next.map(|frame| {
            frame.map_err(|error| {
                let _within = self.call.enter();
                status(error)
            })
        }))
    }
}
