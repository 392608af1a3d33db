//! A watch as a client has it, and what its messages must be.

use reversi_proto::v1::{self, EndReason, watch_game_response::Message};
use tokio::time::timeout;
use tonic::Streaming;

use super::{Client, PATIENCE, Refused, refused};

/// An open watch.
pub struct Watch(pub Streaming<v1::WatchGameResponse>);

impl Watch {
    pub async fn open(client: &mut Client, request: v1::WatchGameRequest) -> Self {
        Self(client.watch_game(request).await.expect("the watch opens").into_inner())
    }

    pub async fn of(client: &mut Client, id: &str) -> Self {
        Self::open(client, v1::WatchGameRequest { game_id: id.into(), ..Default::default() }).await
    }

    pub async fn resumed(client: &mut Client, id: &str, after: Option<v1::Version>) -> Self {
        let request =
            v1::WatchGameRequest { game_id: id.into(), resume_after: after, ..Default::default() };
        Self::open(client, request).await
    }

    /// The next message; heartbeats are messages too.
    pub async fn message(&mut self) -> Message {
        let next = timeout(PATIENCE, self.0.message()).await.expect("a message comes in time");
        next.expect("the stream goes on").expect("the stream goes on").message.expect("one of them")
    }

    pub async fn event(&mut self) -> v1::GameEvent {
        let change = self.change().await;
        change.unwrap_or_else(|reset| panic!("an event comes next, not {reset:?}"))
    }

    /// The next event, or what takes back those before.
    pub async fn change(&mut self) -> Result<v1::GameEvent, v1::HistoryReset> {
        loop {
            match self.message().await {
                Message::Event(event) => return Ok(event),
                Message::Reset(reset) => return Err(reset),
                Message::Heartbeat(_) => {}
                other => panic!("an event comes next, not {other:?}"),
            }
        }
    }

    pub async fn snapshot(&mut self) -> v1::Game {
        match self.message().await {
            Message::Snapshot(game) => game,
            other => panic!("a snapshot comes next, not {other:?}"),
        }
    }

    pub async fn reset(&mut self) -> v1::HistoryReset {
        loop {
            match self.message().await {
                Message::Reset(reset) => return reset,
                Message::Heartbeat(_) => {}
                other => panic!("a reset comes next, not {other:?}"),
            }
        }
    }

    pub async fn end(&mut self) -> EndReason {
        let reason = loop {
            match self.message().await {
                Message::End(end) => break end.reason(),
                Message::Heartbeat(_) => {}
                other => panic!("the end comes next, not {other:?}"),
            }
        };
        let closed = timeout(PATIENCE, self.0.message()).await.expect("the stream closes in time");
        assert_eq!(closed.expect("with OK"), None);
        reason
    }

    /// The status that the stream ends with, whatever comes before.
    pub async fn failure(&mut self) -> Refused {
        loop {
            match timeout(PATIENCE, self.0.message()).await.expect("the stream ends in time") {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the stream ends with a status, not with OK"),
                Err(status) => return refused(&status),
            }
        }
    }
}

/// Panics unless the events go on from `before`, without a gap.
pub fn assert_chained(events: &[v1::GameEvent], mut before: v1::Version) {
    for event in events {
        let version = event.version.expect("a version");
        assert_eq!(version.revision, before.revision + 1);
        assert_eq!(event.previous_digest, before.digest);
        before = version;
    }
}
