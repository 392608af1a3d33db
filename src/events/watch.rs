//! A watch: a cursor that is moved along a bounded channel until something ends it.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, SystemTime},
};

use reversi_proto::{
    WatchFrame, to_wire,
    v1::{self, EndReason, ResetReason},
    watch_frame::Message,
};
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
    error::{Error, StoreError},
    model::{Deadline, GameId, jittered},
    sabotage::{Sabotage, sabotaged},
    store::Patience,
    telemetry::{
        Delivery, Origin, Present, Telemetry,
        labels::{CatchUp, Reset, WatchEnd},
        note_game, note_revision,
    },
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
    pub deadline: Option<Deadline>,
}

/// All open watches. Cheap to clone.
#[derive(Clone)]
pub struct Watches {
    hub: Hub,
    settings: WatchSettings,
    places: Arc<Semaphore>,
    draining: CancellationToken,
    tasks: TaskTracker,
    telemetry: Telemetry,
}

impl Watches {
    /// Watches over `hub`, which end when `draining` is cancelled and are waited for on `tasks`.
    pub fn new(
        hub: Hub,
        settings: WatchSettings,
        draining: CancellationToken,
        tasks: TaskTracker,
        telemetry: Telemetry,
    ) -> Self {
        let places = Arc::new(Semaphore::new(settings.max));
        Self { hub, settings, places, draining, tasks, telemetry }
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
        note_game(&command.game_id);
        if self.draining.is_cancelled() {
            return Err(Error::Draining);
        }
        let place = self
            .places
            .clone()
            .try_acquire_owned()
            .map_err(|_| Error::Limit { limit: "watches", retry: Some(RETRY) })?;
        let away = |error: &Error| matches!(error, Error::Store(error) if error.is_away());
        let attach = || self.hub.attach(&command.game_id);
        let mut tip = Patience::until(command.deadline).attempt(away, attach).await?;
        let cursor =
            Cursor::new(&tip.borrow_and_update(), command.resume_after, command.latest_only);
        note_revision(tip.borrow().version().revision);
        if cursor.resumes_behind(&tip.borrow()) {
            self.telemetry.metrics.catch_up(CatchUp::Resume);
        }
        let (messages, received) = mpsc::channel(CHANNEL);
        let (ended, end) = oneshot::channel();
        let run = Run {
            cursor,
            tip,
            messages,
            settings: self.settings,
            draining: self.draining.clone(),
            game_id: command.game_id,
            opened: Origin::current(),
            telemetry: self.telemetry.clone(),
            _place: (place, self.telemetry.metrics.watcher()),
        };
        let deadline = command.deadline;
        self.tasks.spawn(async move {
            // The end is told before the channel closes, so that its reader finds it there.
            let (run, result) = run.until_end(deadline).await;
            run.telemetry.metrics.watch_end(watch_end(&result));
            let _ = ended.send(result.map(drop));
            drop(run);
        });
        Ok(Watch { received, end: Some(end), telemetry: self.telemetry.clone() })
    }
}

/// An open watch: its messages, then how it ended. Ends without an error only after an `end` message.
pub struct Watch {
    received: mpsc::Receiver<Sent>,
    /// Taken once it was told.
    end: Option<oneshot::Receiver<Result<(), Error>>>,
    telemetry: Telemetry,
}

/// A message on its way to the transport, and what is told of it once it is there.
struct Sent {
    frame: WatchFrame,
    delivery: Option<Delivery>,
}

impl Stream for Watch {
    type Item = Result<WatchFrame, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(Sent { frame, delivery }) = ready!(self.received.poll_recv(cx)) {
            if let Some(delivery) = delivery {
                delivery.handed_over(&self.telemetry);
            }
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
    messages: mpsc::Sender<Sent>,
    settings: WatchSettings,
    draining: CancellationToken,
    game_id: GameId,
    /// The call that opened it.
    opened: Option<Origin>,
    telemetry: Telemetry,
    _place: (OwnedSemaphorePermit, Present),
}

impl Sent {
    fn plain(message: Message) -> Self {
        Self { frame: message.into(), delivery: None }
    }
}

/// How a watch ended in good order.
enum Ended {
    /// With an `end` message.
    Told(EndReason),
    /// Its reader went.
    Gone,
}

fn watch_end(result: &Result<Ended, Error>) -> WatchEnd {
    match result {
        Ok(Ended::Told(EndReason::GameFinished)) => WatchEnd::GameFinished,
        Ok(Ended::Told(EndReason::GameDeleted)) => WatchEnd::GameDeleted,
        Ok(Ended::Told(EndReason::GameExpired)) => WatchEnd::GameExpired,
        Ok(Ended::Gone) => WatchEnd::ClientGone,
        Err(Error::Draining) => WatchEnd::ServerDraining,
        Err(Error::StreamLifetime) => WatchEnd::StreamLifetimeReached,
        Err(Error::WatcherTooSlow) => WatchEnd::WatcherTooSlow,
        Err(Error::Deadline) => WatchEnd::DeadlineExceeded,
        Err(Error::GameNotFound) => WatchEnd::GameNotFound,
        Err(Error::Store(
            StoreError::Unavailable(_) | StoreError::NotDone(_) | StoreError::QueueFull,
        )) => WatchEnd::StoreUnavailable,
        Err(Error::Store(StoreError::NewerForm(_))) => WatchEnd::ServerOutdated,
        Ok(Ended::Told(EndReason::Unspecified))
        | Err(
            Error::Store(StoreError::Corrupt(_))
            | Error::Invalid(_)
            | Error::LayoutNotFound
            | Error::Refused { .. }
            | Error::Limit { .. }
            | Error::Unimplemented { .. }
            | Error::Internal(_),
        ) => WatchEnd::Internal,
    }
}

impl Run {
    async fn until_end(mut self, deadline: Option<Deadline>) -> (Self, Result<Ended, Error>) {
        let lifetime = sleep_until(Instant::now() + jittered(self.settings.lifetime));
        let draining = self.draining.clone();
        let messages = self.messages.clone();
        let passed = async {
            match deadline {
                Some(deadline) => sleep_until(deadline.at).await,
                None => std::future::pending().await,
            }
        };
        let result = tokio::select! {
            result = self.deliver() => result,
            () = lifetime => Err(Error::StreamLifetime),
            () = draining.cancelled() => Err(Error::Draining),
            () = passed => Err(Error::Deadline),
            () = messages.closed() => Ok(Ended::Gone),
        };
        let by_deadline =
            matches!(result, Ok(Ended::Gone)) && deadline.is_some_and(Deadline::is_near);
        (self, if by_deadline { Err(Error::Deadline) } else { result })
    }

    /// Sends what is pending, in order, as fast as it is taken; ends after an `end` message.
    async fn deliver(&mut self) -> Result<Ended, Error> {
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
                Ok(Err(_)) => return Ok(Ended::Gone),
                Ok(Ok(place)) => place,
            };
            let step = self.cursor.next(&self.tip.borrow_and_update())?;
            let (sent, end) = match step {
                Some(step) => self.sent(step),
                None if heartbeat_due => {
                    let mut version = self.cursor.delivered();
                    version.revision += u64::from(sabotaged(Sabotage::Heartbeats));
                    let version = Some(to_wire::version(version));
                    (Sent::plain(Message::Heartbeat(v1::Heartbeat { version })), None)
                }
                None => continue,
            };
            place.send(sent);
            if let Some(reason) = end {
                return Ok(Ended::Told(reason));
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

    /// What a step is on the wire and, if it is the last, why.
    fn sent(&self, step: Step) -> (Sent, Option<EndReason>) {
        let message = match step {
            Step::Snapshot(game) => Message::Snapshot(game),
            Step::Event { frame, live } => {
                let message = Message::Event(frame.event);
                let delivery = live.then(|| Delivery {
                    game_id: self.game_id.clone(),
                    revision: frame.version.revision,
                    committed: frame.time,
                    begun: SystemTime::now(),
                    caused: frame.caused,
                    watch: self.opened,
                });
                return (Sent { frame: message.into(), delivery }, None);
            }
            Step::CaughtUp(version) => {
                let version = Some(to_wire::version(version));
                Message::CaughtUp(v1::CaughtUp { version })
            }
            Step::Reset(reset) => {
                match reset.reason() {
                    ResetReason::RevisionAhead => {
                        self.telemetry.metrics.reset(Reset::RevisionAhead)
                    }
                    ResetReason::HistoryDiverged => {
                        self.telemetry.metrics.reset(Reset::HistoryDiverged);
                    }
                    // Never sent.
                    ResetReason::Unspecified => {}
                }
                Message::Reset(reset)
            }
            Step::End(reason) => {
                let end = Message::End(v1::WatchEnd { reason: reason.into() });
                return (Sent::plain(end), Some(reason));
            }
        };
        (Sent::plain(message), None)
    }

    fn next_heartbeat(&self) -> Instant {
        Instant::now() + jittered(self.settings.heartbeat)
    }
}
