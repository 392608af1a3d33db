//! One watched game: its history as the store has it, encoded for all of its watchers.
//!
//! The store is the truth, and is re-read on every hint, on every new watcher and every so often without either. What is
//! read is believed only if it folds to the version that it claims: contiguous revisions, chained digests. If it does not
//! continue what was known, it takes its place, and every cursor sees whether what it delivered is still part of it.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use prost::Message as _;
use reversi_proto::v1::EndReason;
use reversi_rules::{Status, Version};
use tokio::sync::{Notify, watch};

use crate::{
    error::{Error, StoreError},
    model::{Event, Fold, Game, GameId, Lifetimes, Millis, Stored, jittered},
    sabotage::{Sabotage, sabotaged},
    store::{Lookup, Store},
    telemetry::{Cause, Caused, Metrics, Present, Telemetry, labels::CatchUp},
    wire,
};

/// How far ahead of ours a store's clock may be: a game that goes so long before its time has expired.
const CLOCK_SKEW: Duration = Duration::from_secs(2);

/// Causes of versions that were not read yet. When there are more, the oldest is forgotten.
const CAUSES_MAX: usize = 16;

/// When the store is read again after it failed.
const REREAD: Duration = Duration::from_secs(1);

/// An event, ready to be sent.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The version after it.
    pub version: Version,
    /// The encoded `GameEvent`.
    pub event: Bytes,
    /// When it was committed.
    pub time: Millis,
    /// What caused it, if a hint told so before it was read.
    pub caused: Option<Caused>,
}

/// Why nothing will follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// In good order.
    End(EndReason),
    /// The game was there, and is not, and nobody deleted it.
    Vanished,
    /// A newer release goes on with it, in the form of this number, which this one cannot read.
    NewerForm(u8),
}

/// What is known of a game; watchers see each state at once and whole.
#[derive(Clone, Debug, Default)]
pub struct Tip {
    /// Every event, from revision 1 on.
    pub frames: Vec<Frame>,
    /// The encoded `Game` after the last of them.
    pub snapshot: Bytes,
    /// Set once nothing will follow.
    pub closed: Option<Closed>,
    /// The game after the last event; none before the first reading.
    pub game: Option<Game>,
}

/// How the last reading of the store ended, for those who called for it.
#[derive(Clone, Debug)]
struct Reading {
    /// How many calls it answers.
    answered: u64,
    result: Result<(), Error>,
}

impl Tip {
    /// The last version; zero before the first reading.
    pub fn version(&self) -> Version {
        self.frames.last().map_or(Version::ZERO, |frame| frame.version)
    }

    /// The event that follows `revision`, if it was committed.
    pub fn frame_after(&self, revision: u64) -> Option<&Frame> {
        self.frames.get(usize::try_from(revision).ok()?)
    }

    /// The version of this history at `revision`, if it reaches it.
    pub fn version_at(&self, revision: u64) -> Option<Version> {
        match usize::try_from(revision).ok()?.checked_sub(1) {
            None => Some(Version::ZERO),
            Some(index) => self.frames.get(index).map(|frame| frame.version),
        }
    }

    /// Takes in what the store has now.
    fn read(
        &mut self,
        lookup: Lookup,
        lifetimes: Lifetimes,
        now: Millis,
    ) -> Result<(), StoreError> {
        match lookup {
            Lookup::Found(stored) if stored.game.expire_time > now => {
                self.advance(&stored, lifetimes)?;
                // A game that is there is open again, whatever it was taken for when the store had lost it.
                let finished = stored.game.table.status() == Status::Finished;
                self.closed = finished.then_some(Closed::End(EndReason::GameFinished));
            }
            Lookup::Found(_) => self.closed = Some(Closed::End(EndReason::GameExpired)),
            Lookup::Deleted(_) => self.closed = Some(Closed::End(EndReason::GameDeleted)),
            Lookup::Missing => {
                let soon = now.after(CLOCK_SKEW);
                let expired = self.game.as_ref().is_some_and(|game| game.expire_time <= soon);
                self.closed = Some(match expired {
                    true => Closed::End(EndReason::GameExpired),
                    false => Closed::Vanished,
                });
            }
        }
        Ok(())
    }

    fn advance(&mut self, stored: &Stored, lifetimes: Lifetimes) -> Result<(), StoreError> {
        if stored.game.version() == self.version() {
            return Ok(());
        }
        match self.continued(stored, lifetimes) {
            Some(frames) => self.frames.extend(frames),
            None => self.frames = all_frames(stored, lifetimes)?,
        }
        self.snapshot = wire::game(&stored.game).encode_to_vec().into();
        self.game = Some(stored.game.clone());
        Ok(())
    }

    /// The frames that the store's history has beyond this one's, if it continues this one.
    fn continued(&self, stored: &Stored, lifetimes: Lifetimes) -> Option<Vec<Frame>> {
        let mut game = self.game.clone()?;
        let records = stored.history.get(self.frames.len()..)?;
        let frames: Option<Vec<_>> = records
            .iter()
            .map(|record| game.apply(record, lifetimes).ok().as_ref().map(Frame::of))
            .collect();
        frames.filter(|_| game.version() == stored.game.version())
    }
}

impl Frame {
    fn of(event: &Event) -> Self {
        let encoded = wire::event(event).encode_to_vec();
        Self { version: event.version, event: encoded.into(), time: event.time, caused: None }
    }
}

/// Folds a whole history into frames; one that does not chain up to the stored version is corrupt.
fn all_frames(stored: &Stored, lifetimes: Lifetimes) -> Result<Vec<Frame>, StoreError> {
    let mut fold = Fold::new(lifetimes);
    let events = stored.history.iter().map(|record| fold.step(record));
    let frames: Vec<_> = events
        .map(|event| event.as_ref().map(Frame::of).map_err(Clone::clone))
        .collect::<Result<_, _>>()?;
    if frames.last().map(|frame| frame.version) != Some(stored.game.version()) {
        return Err(StoreError::Corrupt("a history does not fold to its state".into()));
    }
    Ok(frames)
}

/// A watched game.
pub struct Topic {
    id: GameId,
    tip: watch::Sender<Tip>,
    /// Apart from the tip, so that a new watcher's call wakes nobody else.
    reading: watch::Sender<Reading>,
    /// Wakes the task that re-reads the store.
    wake: Notify,
    /// How many calls for a re-reading were made.
    called: AtomicU64,
    /// Whether a hint came since the last reading began.
    hinted: AtomicBool,
    /// What hints said of versions that were not read yet; held for a look.
    causes: Mutex<VecDeque<Cause>>,
    metrics: Arc<Metrics>,
    _present: Present,
}

impl Topic {
    /// A topic that nobody drives yet.
    pub fn new(id: GameId, telemetry: &Telemetry) -> Self {
        Self {
            id,
            hinted: AtomicBool::new(false),
            causes: Mutex::default(),
            metrics: telemetry.metrics.clone(),
            _present: telemetry.metrics.watched_game(),
            tip: watch::Sender::new(Tip::default()),
            reading: watch::Sender::new(Reading { answered: 0, result: Ok(()) }),
            wake: Notify::new(),
            called: AtomicU64::new(0),
        }
    }

    /// The game's id.
    pub fn id(&self) -> &GameId {
        &self.id
    }

    /// Sees every later state.
    pub fn subscribe(&self) -> watch::Receiver<Tip> {
        self.tip.subscribe()
    }

    /// How many see it.
    pub fn watchers(&self) -> usize {
        self.tip.receiver_count()
    }

    /// Says that the game may have changed, and what caused it. Never waits.
    pub fn hint(&self, cause: Option<Cause>) {
        if let Some(cause) = cause {
            let mut causes = self.causes.lock().unwrap_or_else(PoisonError::into_inner);
            if causes.len() == CAUSES_MAX {
                causes.pop_front();
            }
            causes.push_back(cause);
        }
        self.hinted.store(true, Ordering::SeqCst);
        self.wake.notify_one();
    }

    /// Puts causes to the frames that a reading added, and forgets those of what was read.
    fn attribute(&self, frames: &mut [Frame]) {
        let Some(last) = frames.last().map(|frame| frame.version) else { return };
        let mut causes = self.causes.lock().unwrap_or_else(PoisonError::into_inner);
        for cause in causes.iter() {
            let frame = frames.iter_mut().find(|frame| frame.version == cause.version);
            if let Some(frame) = frame {
                frame.caused.get_or_insert_with(|| Caused::by(cause.origin));
            }
        }
        causes.retain(|cause| cause.version.revision > last.revision);
    }

    /// Counts a reading that brought news which watchers should have had from a hint, or one by one.
    fn count(&self, news: usize, hinted: bool, called: bool) {
        match news {
            2.. if hinted => self.metrics.catch_up(CatchUp::Gap),
            1.. if !hinted && !called => self.metrics.catch_up(CatchUp::Poll),
            _ => {}
        }
    }

    /// Waits for a reading of the store that begins after this call; what it found is in the tip then.
    ///
    /// # Errors
    ///
    /// [`Error::GameNotFound`] when there is no such game any more; [`Error::Store`].
    ///
    /// # Cancellation
    ///
    /// Safe.
    pub async fn refresh(&self) -> Result<(), Error> {
        let call = self.called.fetch_add(1, Ordering::SeqCst) + 1;
        self.wake.notify_one();
        let mut reading = self.reading.subscribe();
        let answer = reading.wait_for(|reading| reading.answered >= call).await;
        answer
            .map_err(|_| Error::Internal("a topic ended under its watcher".into()))?
            .result
            .clone()
    }

    /// Re-reads the store once, and publishes what it has.
    pub async fn read(&self, store: &Arc<dyn Store>, lifetimes: Lifetimes) {
        let answered = self.called.load(Ordering::SeqCst);
        let called = answered != self.reading.borrow().answered;
        let was_read = self.reading.borrow().result.is_ok();
        let hinted = self.hinted.swap(false, Ordering::SeqCst);
        let lookup = store.load(&self.id).await;
        let mut result = Ok(());
        self.tip.send_if_modified(|tip| {
            let before = (tip.version(), tip.closed);
            let (known, first) = (tip.frames.len(), tip.game.is_none());
            let read = lookup.and_then(|lookup| tip.read(lookup, lifetimes, Millis::now()));
            if let Err(StoreError::NewerForm(form)) = read {
                tip.closed = Some(Closed::NewerForm(form));
            }
            if let Some(news) = tip.frames.get_mut(known..) {
                self.attribute(news);
                if !first {
                    self.count(news.len(), hinted, called);
                }
            }
            result = match (read, tip.closed) {
                (Err(error), _) => {
                    // Once, however often it is tried again.
                    if was_read {
                        tracing::warn!(game_id = %self.id, %error, "a watched game cannot be read");
                    }
                    Err(error.into())
                }
                (Ok(()), None | Some(Closed::End(EndReason::GameFinished))) => Ok(()),
                (Ok(()), Some(_)) => Err(Error::GameNotFound),
            };
            before != (tip.version(), tip.closed)
        });
        self.reading.send_replace(Reading { answered, result });
    }

    /// Waits until the store should be read again: a hint, a call, the game's expiry, or `poll`.
    pub async fn due(&self, poll: Duration) {
        let failed = matches!(self.reading.borrow().result, Err(Error::Store(_)));
        let expiry = match &*self.tip.borrow() {
            // Perhaps there was something that only a hint told of.
            _ if failed => REREAD,
            // A millisecond later it is past for certain.
            Tip { game: Some(game), closed: None, .. } => {
                game.expire_time.since(Millis::now()) + Duration::from_millis(1)
            }
            _ => Duration::MAX,
        };
        tokio::select! {
            () = self.wake.notified() => {}
            () = tokio::time::sleep(jittered(poll).min(expiry)), if !sabotaged(Sabotage::Hints) => {}
        }
    }

    /// Waits until nobody watches.
    pub async fn unwatched(&self) {
        self.tip.closed().await;
    }
}
