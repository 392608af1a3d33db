//! One watcher's place in a game's history, and what it is to be told next. Pure, so that the contract of a watch can be
//! read and tested here without a clock or a socket.

use bytes::Bytes;
use reversi_proto::v1::{self, EndReason, ResetReason};
use reversi_rules::Version;

use super::topic::{Closed, Frame, Tip};
use crate::{
    error::{Error, StoreError},
    sabotage::{Sabotage, sabotaged},
    wire,
};

/// What a watcher is told next.
#[derive(Debug)]
pub enum Step {
    /// The game as it stands, encoded.
    Snapshot(Bytes),
    /// The next event: of a replay, or as it happens.
    Event {
        /// The event.
        frame: Frame,
        /// Whether the watcher was there already when it happened.
        live: bool,
    },
    /// The replay of its resume is complete.
    CaughtUp(Version),
    /// Its history is not ours; here is ours.
    Reset(Box<v1::HistoryReset>),
    /// Nothing will follow.
    End(EndReason),
}

/// Where a watcher is.
#[derive(Debug)]
pub struct Cursor {
    /// The last version delivered, or the resume point.
    delivered: Version,
    latest_only: bool,
    start: Start,
}

#[derive(Debug)]
enum Start {
    /// A snapshot comes first.
    Snapshot,
    /// `caught_up` comes once this revision was delivered, or the last one if the history has become shorter.
    Replay { until: u64 },
    /// All that comes at the start has.
    Over,
}

impl Cursor {
    /// A watcher that joins at `tip`, with what it says it has; digest 0 stands for whatever is at that revision.
    pub fn new(tip: &Tip, resume_after: Option<Version>, latest_only: bool) -> Self {
        let (delivered, start) = match resume_after {
            None => (Version::ZERO, Start::Snapshot),
            Some(after) => {
                let any = Some(after).filter(|after| after.digest == 0);
                let ours = any.and_then(|after| tip.version_at(after.revision));
                (ours.unwrap_or(after), Start::Replay { until: tip.version().revision })
            }
        };
        Self { delivered, latest_only, start }
    }

    /// The last version delivered, or the resume point.
    pub fn delivered(&self) -> Version {
        self.delivered
    }

    /// Whether it has to be told what happened before it came.
    pub fn resumes_behind(&self, tip: &Tip) -> bool {
        matches!(self.start, Start::Replay { until } if self.delivered.revision < until)
            && self.lost(tip).is_none()
    }

    /// Whether there is something to tell.
    pub fn pending(&self, tip: &Tip) -> bool {
        !matches!(self.start, Start::Over)
            || self.lost(tip).is_some()
            || self.delivered.revision < tip.version().revision
            || tip.closed.is_some()
    }

    /// What comes next, which then counts as delivered; none if nothing is pending.
    ///
    /// # Errors
    ///
    /// [`Error::GameNotFound`] when the game vanished; [`Error::Store`] when a newer release goes on with it.
    pub fn next(&mut self, tip: &Tip) -> Result<Option<Step>, Error> {
        if let Some(reason) = self.lost(tip) {
            self.jump(tip);
            let game = tip.game.as_ref().map(wire::game);
            return Ok(Some(Step::Reset(Box::new(v1::HistoryReset {
                reason: reason.into(),
                game,
            }))));
        }
        let last = tip.version();
        match self.start {
            Start::Snapshot => {
                self.jump(tip);
                return Ok(Some(Step::Snapshot(tip.snapshot.clone())));
            }
            Start::Replay { until } if self.delivered.revision >= until.min(last.revision) => {
                self.start = Start::Over;
                return Ok(Some(Step::CaughtUp(self.delivered)));
            }
            Start::Replay { .. } | Start::Over => {}
        }
        let delivered = self.delivered.revision;
        Ok(match (last.revision.saturating_sub(delivered), tip.closed) {
            (0, None) => None,
            (0, Some(Closed::End(reason))) => Some(Step::End(reason)),
            (0, Some(Closed::Vanished)) => return Err(Error::GameNotFound),
            (0, Some(Closed::NewerForm(form))) => return Err(StoreError::NewerForm(form).into()),
            (2.., _) if self.latest_only => {
                self.delivered = last;
                Some(Step::Snapshot(tip.snapshot.clone()))
            }
            _ => tip.frame_after(delivered).map(|frame| {
                self.delivered = frame.version;
                Step::Event { frame: frame.clone(), live: matches!(self.start, Start::Over) }
            }),
        })
    }

    /// Why what was delivered is not the beginning of the history as it is now, if it is not. Whoever has a beginning of
    /// it goes on from there, whatever became of the rest.
    fn lost(&self, tip: &Tip) -> Option<ResetReason> {
        match tip.version_at(self.delivered.revision) {
            None => Some(ResetReason::RevisionAhead),
            Some(ours) if ours == self.delivered || sabotaged(Sabotage::Digests) => None,
            Some(_) => Some(ResetReason::HistoryDiverged),
        }
    }

    fn jump(&mut self, tip: &Tip) {
        self.delivered = tip.version();
        self.start = Start::Over;
    }
}

#[cfg(test)]
mod tests;
