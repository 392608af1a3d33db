//! Follows a game across lost connections: one loop that resumes where it was, and checks that what it gets is one chain.

use std::time::Duration;

use reversi_proto::v1;
use reversi_proto::v1::watch_game_response::Message;
use tonic::{Code, Status, Streaming};

use crate::connect::Connection;
use crate::errors::Failure;
use crate::retry::Backoff;

/// A stream that says nothing for so long, heartbeats included, is taken for dead. Servers send one every 15 s by default.
const SILENCE_MAX: Duration = Duration::from_secs(90);

/// The longest wait before reconnecting, so that a server that comes back is found soon.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// What a follower meets.
#[derive(Debug)]
pub enum Update {
    /// A message as the server sent it, and what is wrong with its place in the chain, if anything is.
    Message { message: Box<v1::WatchGameResponse>, broken: Option<String> },
    /// The stream was lost; the next call of [`Follower::next`] waits and reconnects.
    Lost { fault: Box<Status>, wait: Duration },
}

/// A watch that outlives its streams.
#[derive(Debug)]
pub struct Follower {
    connection: Connection,
    game_id: String,
    latest_only: bool,
    once: bool,
    /// The last version that was delivered; where to resume.
    cursor: Option<v1::Version>,
    stream: Option<Streaming<v1::WatchGameResponse>>,
    backoff: Backoff,
    wait: Duration,
    ended: bool,
}

impl Follower {
    /// Prepares to follow a game: from a snapshot, or from after a version.
    pub fn new(connection: &Connection, game_id: &str, after: Option<v1::Version>) -> Self {
        Self {
            connection: connection.clone(),
            game_id: game_id.to_owned(),
            latest_only: false,
            once: false,
            cursor: after,
            stream: None,
            backoff: Backoff::new(WAIT_MAX),
            wait: Duration::ZERO,
            ended: false,
        }
    }

    /// Skips to the game as it stands when this reader falls behind.
    pub fn latest_only(self, latest_only: bool) -> Self {
        Self { latest_only, ..self }
    }

    /// Ends with the first stream that is lost.
    pub fn once(self, once: bool) -> Self {
        Self { once, ..self }
    }

    /// The next message, in order, none twice, none missing; none after the end of the watch. Waits while there is no
    /// connection, for as long as it takes. Dropping the future loses nothing but the stream.
    ///
    /// # Errors
    ///
    /// What reconnecting cannot mend: no such game, a server that has no such call. With `once` every lost stream.
    pub async fn next(&mut self) -> Result<Option<Update>, Failure> {
        if self.ended {
            return Ok(None);
        }
        let fault = match self.receive().await {
            Ok(message) => {
                let broken = self.accept(&message);
                self.ended = matches!(message.message, Some(Message::End(_)));
                self.backoff = Backoff::new(WAIT_MAX);
                return Ok(Some(Update::Message { message: Box::new(message), broken }));
            }
            Err(fault) => fault,
        };
        self.stream = None;
        if self.once || is_final(&fault) {
            return Err(Failure::of(fault, false));
        }
        self.wait = self.backoff.after(&fault);
        Ok(Some(Update::Lost { fault: Box::new(fault), wait: self.wait }))
    }

    async fn receive(&mut self) -> Result<v1::WatchGameResponse, Status> {
        tokio::time::sleep(std::mem::take(&mut self.wait)).await;
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => {
                let opened = tokio::time::timeout(self.connection.timeout, self.open()).await;
                let silent = |_| Status::deadline_exceeded("the watch did not open in time");
                let stream = opened.map_err(silent)??;
                self.stream.insert(stream)
            }
        };
        match tokio::time::timeout(SILENCE_MAX, stream.message()).await {
            Ok(Ok(Some(message))) => Ok(message),
            Ok(Ok(None)) => Err(Status::unavailable("the stream ended without saying why")),
            Ok(Err(fault)) => Err(fault),
            Err(_) => Err(Status::deadline_exceeded("the stream went silent")),
        }
    }

    async fn open(&self) -> Result<Streaming<v1::WatchGameResponse>, Status> {
        let request = v1::WatchGameRequest {
            game_id: self.game_id.clone(),
            resume_after: self.cursor,
            latest_only: self.latest_only,
        };
        Ok(self.connection.client.clone().watch_game(request).await?.into_inner())
    }

    /// Moves the cursor past the message; says what does not follow from what came before.
    fn accept(&mut self, message: &v1::WatchGameResponse) -> Option<String> {
        match message.message.as_ref()? {
            Message::Snapshot(game) => self.cursor = game.version,
            Message::Reset(reset) => {
                self.cursor = reset.game.as_ref().and_then(|game| game.version)
            }
            Message::Event(event) => {
                let broken = self.cursor.and_then(|before| break_in_chain(before, event));
                self.cursor = event.version;
                return broken;
            }
            Message::CaughtUp(v1::CaughtUp { version })
            | Message::Heartbeat(v1::Heartbeat { version }) => {
                if let (Some(said), Some(had)) = (version, self.cursor)
                    && (said.revision != had.revision || !same_digest(said.digest, had.digest))
                {
                    return Some(format!(
                        "the server says that revision {} was delivered, but it was {}",
                        said.revision, had.revision
                    ));
                }
            }
            Message::End(_) => {}
        }
        None
    }
}

/// What is wrong with an event as the next after a version, if anything is.
pub fn break_in_chain(before: v1::Version, event: &v1::GameEvent) -> Option<String> {
    let version = event.version.unwrap_or_default();
    if Some(version.revision) != before.revision.checked_add(1) {
        return Some(format!("revision {} came after {}", version.revision, before.revision));
    }
    let known = before.digest != 0 || before.revision == 0;
    (known && event.previous_digest != before.digest).then(|| {
        format!(
            "revision {} follows on digest {:#018x}, but revision {} had {:#018x}",
            version.revision, event.previous_digest, before.revision, before.digest
        )
    })
}

/// 0 is a digest that is not known.
fn same_digest(one: u64, other: u64) -> bool {
    one == other || one == 0 || other == 0
}

/// Whether the server answered something that another attempt will not change.
fn is_final(fault: &Status) -> bool {
    use std::error::Error as _;
    fault.source().is_none()
        && matches!(
            fault.code(),
            Code::InvalidArgument
                | Code::NotFound
                | Code::Unauthenticated
                | Code::PermissionDenied
                | Code::FailedPrecondition
                | Code::OutOfRange
                | Code::Unimplemented
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(revision: u64, previous_digest: u64) -> v1::GameEvent {
        let version = Some(v1::Version { revision, digest: 1 });
        v1::GameEvent { version, previous_digest, ..Default::default() }
    }

    #[test]
    fn a_gap_a_repeat_and_another_history_break_the_chain() {
        let at = |revision, digest| v1::Version { revision, digest };
        assert_eq!(break_in_chain(at(0, 0), &event(1, 0)), None);
        assert_eq!(break_in_chain(at(6, 9), &event(7, 9)), None);
        assert_eq!(break_in_chain(at(6, 0), &event(7, 9)), None, "the digest was not known");
        assert!(break_in_chain(at(6, 9), &event(8, 9)).is_some());
        assert!(break_in_chain(at(6, 9), &event(6, 9)).is_some());
        assert!(break_in_chain(at(6, 9), &event(7, 10)).is_some());
        assert!(break_in_chain(at(0, 0), &event(1, 5)).is_some());
        assert!(break_in_chain(at(u64::MAX, 9), &event(0, 9)).is_some());
    }

    #[test]
    fn only_answers_that_stay_the_same_end_a_watch() {
        for code in [Code::NotFound, Code::InvalidArgument, Code::Unimplemented] {
            assert!(is_final(&Status::new(code, "")), "{code:?}");
        }
        for code in [Code::Unavailable, Code::ResourceExhausted, Code::Unknown, Code::Internal] {
            assert!(!is_final(&Status::new(code, "")), "{code:?}");
        }
    }
}
