//! One watcher's place in a game's history, and what it is to be told next. Pure, so that the contract of a watch can be
//! read and tested here without a clock or a socket.

use bytes::Bytes;
use reversi_proto::v1::{self, EndReason, ResetReason};
use reversi_rules::Version;

use super::topic::{Closed, Tip};
use crate::error::Error;

/// What a watcher is told next.
#[derive(Debug)]
pub enum Step {
    /// The game as it stands, encoded.
    Snapshot(Bytes),
    /// The next event, encoded.
    Event(Bytes),
    /// The replay of its resume is complete.
    CaughtUp(Version),
    /// Its history is not ours; here is ours.
    Reset(ResetReason, v1::Game),
    /// Nothing will follow.
    End(EndReason),
}

/// Where a watcher is.
#[derive(Debug)]
pub struct Cursor {
    /// The last version delivered, or the resume point.
    delivered: Version,
    lineage: u64,
    latest_only: bool,
    start: Start,
}

#[derive(Debug)]
enum Start {
    /// A snapshot comes first.
    Snapshot,
    /// A reset comes first.
    Reset(ResetReason),
    /// `caught_up` comes once this revision was delivered.
    Replay { until: u64 },
    /// All that comes at the start has.
    Over,
}

impl Cursor {
    /// A watcher that joins at `tip`, with what it says it has.
    pub fn new(tip: &Tip, resume_after: Option<Version>, latest_only: bool) -> Self {
        let fresh = Version::ZERO;
        let (delivered, start) = match resume_after {
            None => (fresh, Start::Snapshot),
            Some(after) => match tip.version_at(after.revision) {
                None => (fresh, Start::Reset(ResetReason::RevisionAhead)),
                Some(ours) if after.digest == 0 || after.digest == ours.digest => {
                    (ours, Start::Replay { until: tip.version().revision })
                }
                Some(_) => (fresh, Start::Reset(ResetReason::HistoryDiverged)),
            },
        };
        Self { delivered, lineage: tip.lineage, latest_only, start }
    }

    /// The last version delivered, or the resume point.
    pub fn delivered(&self) -> Version {
        self.delivered
    }

    /// Whether there is something to tell.
    pub fn pending(&self, tip: &Tip) -> bool {
        !matches!(self.start, Start::Over)
            || self.lineage != tip.lineage
            || self.delivered.revision < tip.version().revision
            || tip.closed.is_some()
    }

    /// What comes next, which then counts as delivered; none if nothing is pending.
    ///
    /// # Errors
    ///
    /// [`Error::GameNotFound`] when the game vanished.
    pub fn next(&mut self, tip: &Tip) -> Result<Option<Step>, Error> {
        if self.lineage != tip.lineage
            && let Some(reason) = tip.reset
        {
            self.lineage = tip.lineage;
            self.start = match self.start {
                // Whoever has nothing yet has lost nothing.
                Start::Snapshot => Start::Snapshot,
                Start::Reset(_) | Start::Replay { .. } | Start::Over => Start::Reset(reason),
            };
        }
        match self.start {
            Start::Snapshot => {
                self.jump(tip);
                return Ok(Some(Step::Snapshot(tip.snapshot.clone())));
            }
            Start::Reset(reason) => {
                self.jump(tip);
                return Ok(tip.game().map(|game| Step::Reset(reason, game)));
            }
            Start::Replay { until } if self.delivered.revision >= until => {
                self.start = Start::Over;
                return Ok(Some(Step::CaughtUp(self.delivered)));
            }
            Start::Replay { .. } | Start::Over => {}
        }
        let delivered = self.delivered.revision;
        Ok(match (tip.version().revision.saturating_sub(delivered), tip.closed) {
            (0, None) => None,
            (0, Some(Closed::End(reason))) => Some(Step::End(reason)),
            (0, Some(Closed::Vanished)) => return Err(Error::GameNotFound),
            (2.., _) if self.latest_only => {
                self.delivered = tip.version();
                Some(Step::Snapshot(tip.snapshot.clone()))
            }
            _ => tip.frame_after(delivered).map(|frame| {
                self.delivered = frame.version;
                Step::Event(frame.event.clone())
            }),
        })
    }

    fn jump(&mut self, tip: &Tip) {
        self.delivered = tip.version();
        self.start = Start::Over;
    }
}
