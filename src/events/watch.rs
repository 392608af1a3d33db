//! A watch: a cursor that is moved along a bounded channel until something ends it.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use reversi_proto::{WatchFrame, to_wire, v1, watch_frame::Message};
use reversi_rules::Version;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch},
    time::{Instant, sleep_until, timeout},
};
use tokio_stream::Stream;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    cursor::{Cursor, Step},
    hub::Hub,
    topic::Tip,
};
use crate::{
    error::Error,
    model::{GameId, jittered},
};

/// How many messages wait in a watch's channel. One: what a watcher has not taken stays in the topic's one history, and with
/// `latest_only` is decided as late as can be.
const CHANNEL: usize = 1;

/// When to come back after the limit of watches was reached.
const RETRY: Duration = Duration::from_secs(1);

/// The bounds of a watch.
#[derive(Clone, Copy, Debug)]
pub struct WatchSettings {
    /// How many watches may be open.
    pub max: usize,
    /// How long data may be pending without anything being taken.
    pub stall: Duration,
    /// How long a stream is idle before a heartbeat, with jitter.
    pub heartbeat: Duration,
    /// How long a stream lasts, with jitter.
    pub lifetime: Duration,
}

/// What a caller wants to watch.
#[derive(Clone, Debug)]
pub struct WatchGame {
    /// Which game.
    pub game_id: GameId,
    /// The last version that the caller has; digest 0 stands for any.
    pub resume_after: Option<Version>,
    /// Whether a slow reader gets a snapshot in place of what it would have to catch up on.
    pub latest_only: bool,
    /// When the caller's deadline passes.
    pub deadline: Option<Instant>,
}

/// All open watches. Cheap to clone.
#[derive(Clone)]
pub struct Watches {
    hub: Hub,
    settings: WatchSettings,
    places: Arc<Semaphore>,
    draining: CancellationToken,
    tasks: TaskTracker,
}

impl Watches {
    /// Watches over `hub`, which end when `draining` is cancelled and are waited for on `tasks`.
    pub fn new(
        hub: Hub,
        settings: WatchSettings,
        draining: CancellationToken,
        tasks: TaskTracker,
    ) -> Self {
        let places = Arc::new(Semaphore::new(settings.max));
        Self { hub, settings, places, draining, tasks }
    }

    /// Opens a watch.
    ///
    /// # Errors
    ///
    /// [`Error::GameNotFound`]; [`Error::Limit`]; [`Error::Draining`]; [`Error::Store`].
    ///
    /// # Cancellation
    ///
    /// Safe; a dropped [`Watch`] ends.
    pub async fn open(&self, command: WatchGame) -> Result<Watch, Error> {
        if self.draining.is_cancelled() {
            return Err(Error::Draining);
        }
        let place = self
            .places
            .clone()
            .try_acquire_owned()
            .map_err(|_| Error::Limit { limit: "watches", retry: Some(RETRY) })?;
        let mut tip = self.hub.attach(&command.game_id).await?;
        let cursor =
            Cursor::new(&tip.borrow_and_update(), command.resume_after, command.latest_only);
        let (messages, received) = mpsc::channel(CHANNEL);
        let (ended, end) = oneshot::channel();
        let run = Run {
            cursor,
            tip,
            messages,
            settings: self.settings,
            draining: self.draining.clone(),
            _place: place,
        };
        let deadline = command.deadline;
        self.tasks.spawn(async move {
            // The end is told before the channel closes, so that its reader finds it there.
            let (run, result) = run.until_end(deadline).await;
            let _ = ended.send(result);
            drop(run);
        });
        Ok(Watch { received, end: Some(end) })
    }
}

/// An open watch: its messages, then how it ended. Ends without an error only after an `end` message.
pub struct Watch {
    received: mpsc::Receiver<WatchFrame>,
    /// Taken once it was told.
    end: Option<oneshot::Receiver<Result<(), Error>>>,
}

impl Stream for Watch {
    type Item = Result<WatchFrame, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(frame) = ready!(self.received.poll_recv(cx)) {
            return Poll::Ready(Some(Ok(frame)));
        }
        let Some(end) = &mut self.end else { return Poll::Ready(None) };
        let ended = ready!(Pin::new(end).poll(cx));
        self.end = None;
        Poll::Ready(match ended {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(Err(error)),
            Err(_) => Some(Err(Error::Internal("a watch stopped without saying why".into()))),
        })
    }
}

struct Run {
    cursor: Cursor,
    tip: watch::Receiver<Tip>,
    messages: mpsc::Sender<WatchFrame>,
    settings: WatchSettings,
    draining: CancellationToken,
    _place: OwnedSemaphorePermit,
}

impl Run {
    async fn until_end(mut self, deadline: Option<Instant>) -> (Self, Result<(), Error>) {
        let lifetime = sleep_until(Instant::now() + jittered(self.settings.lifetime));
        let draining = self.draining.clone();
        let messages = self.messages.clone();
        let deadline = async {
            match deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let result = tokio::select! {
            result = self.deliver() => result,
            () = lifetime => Err(Error::StreamLifetime),
            () = draining.cancelled() => Err(Error::Draining),
            () = deadline => Err(Error::Deadline),
            () = messages.closed() => Ok(()),
        };
        (self, result)
    }

    /// Sends what is pending, in order, as fast as it is taken; ends after an `end` message.
    async fn deliver(&mut self) -> Result<(), Error> {
        let mut idle_until = self.next_heartbeat();
        loop {
            let heartbeat_due = tokio::select! {
                biased;
                pending = self.pending() => { pending?; false }
                () = sleep_until(idle_until) => true,
            };
            let place = timeout(self.settings.stall, self.messages.reserve()).await;
            let place = match place {
                Err(_) => return Err(Error::WatcherTooSlow),
                // The reader is gone.
                Ok(Err(_)) => return Ok(()),
                Ok(Ok(place)) => place,
            };
            let step = self.cursor.next(&self.tip.borrow_and_update())?;
            let (message, end) = match step {
                Some(step) => message(step),
                None if heartbeat_due => {
                    let version = Some(to_wire::version(self.cursor.delivered()));
                    (Message::Heartbeat(v1::Heartbeat { version }), false)
                }
                None => continue,
            };
            place.send(message.into());
            if end {
                return Ok(());
            }
            idle_until = self.next_heartbeat();
        }
    }

    /// Waits until there is something to tell.
    async fn pending(&mut self) -> Result<(), Error> {
        let cursor = &self.cursor;
        let gone = |_| Error::Internal("a topic ended under its watcher".into());
        self.tip.wait_for(|tip| cursor.pending(tip)).await.map(drop).map_err(gone)
    }

    fn next_heartbeat(&self) -> Instant {
        Instant::now() + jittered(self.settings.heartbeat)
    }
}

/// What a step is on the wire, and whether it is the last.
fn message(step: Step) -> (Message, bool) {
    match step {
        Step::Snapshot(game) => (Message::Snapshot(game), false),
        Step::Event(event) => (Message::Event(event), false),
        Step::CaughtUp(version) => {
            let version = Some(to_wire::version(version));
            (Message::CaughtUp(v1::CaughtUp { version }), false)
        }
        Step::Reset(reset) => (Message::Reset(reset), false),
        Step::End(reason) => (Message::End(v1::WatchEnd { reason: reason.into() }), true),
    }
}
