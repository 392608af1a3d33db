//! A watch message whose contents are encoded already, so that one event is encoded once for all of its watchers.

/// What the server sends as a `WatchGameResponse`: the same bytes on the wire, with the fields that hold messages given
/// in their encoded form.
#[derive(Clone, PartialEq, prost::Message)]
pub struct WatchFrame {
    /// Exactly one, as in the contract.
    #[prost(oneof = "watch_frame::Message", tags = "1, 2, 3, 4, 5, 6")]
    pub message: Option<watch_frame::Message>,
}

/// The contents of a [`WatchFrame`].
pub mod watch_frame {
    use bytes::Bytes;

    use crate::v1;

    /// One for each field of `WatchGameResponse`, under the same numbers.
    #[allow(clippy::large_enum_variant, reason = "a reset is rare, and a frame lives for a moment")]
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Message {
        /// An encoded [`v1::Game`].
        #[prost(bytes = "bytes", tag = "1")]
        Snapshot(Bytes),
        /// An encoded [`v1::GameEvent`].
        #[prost(bytes = "bytes", tag = "2")]
        Event(Bytes),
        /// The replay of a resume is complete.
        #[prost(message, tag = "3")]
        CaughtUp(v1::CaughtUp),
        /// The stream is alive.
        #[prost(message, tag = "4")]
        Heartbeat(v1::Heartbeat),
        /// The caller's history is not the server's.
        #[prost(message, boxed, tag = "5")]
        Reset(Box<v1::HistoryReset>),
        /// Nothing will follow.
        #[prost(message, tag = "6")]
        End(v1::WatchEnd),
    }
}

impl From<watch_frame::Message> for WatchFrame {
    fn from(message: watch_frame::Message) -> Self {
        Self { message: Some(message) }
    }
}
