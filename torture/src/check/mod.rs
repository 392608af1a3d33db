//! Judges what clients and watchers of a game saw by the rules of the game and the promises of the service. Pure: a log in,
//! violations out.
//!
//! All that was told forms a tree of versions, in which each event must be what the rules make of its change. One path
//! through it is the stored history in the end. What is not on it was lost, which only a [`Window`] excuses.

mod calls;
mod lost;
mod tree;
mod watches;

use std::{
    fmt,
    time::{Duration, Instant},
};

use self::tree::Tree;
use crate::log::Log;

/// A time in which a store may answer from two primaries at once, or lose what it has acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// What was acknowledged before is safe.
    pub from: Instant,
    /// When it was over; none while it lasts.
    pub until: Option<Instant>,
    /// Whether what was acknowledged may be lost. What was not may be lost in any window.
    pub loses: bool,
}

impl Window {
    /// Whether something that lasted from `begun` to `ended` was going on in it.
    pub fn overlaps(&self, begun: Instant, ended: Instant) -> bool {
        self.from <= ended && self.until.is_none_or(|until| begun <= until)
    }
}

/// How many violations of one game are told.
const FINDINGS_MAX: usize = 5;

/// How long before a watcher was told something it may have come about.
const ON_ITS_WAY: Duration = Duration::from_secs(10);

/// Whether what came about between these moments may be lost though it was acknowledged.
fn may_be_lost(windows: &[Window], begun: Instant, ended: Instant) -> bool {
    windows.iter().any(|window| window.loses && window.overlaps(begun, ended))
}

/// Whether there may have been two primaries between these moments.
fn apart(windows: &[Window], begun: Instant, ended: Instant) -> bool {
    windows.iter().any(|window| window.overlaps(begun, ended))
}

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which promise is broken.
    pub promise: &'static str,
    /// How, and in which game.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.promise, self.what)
    }
}

/// What was found, of one game.
struct Findings<'a> {
    game_id: &'a str,
    found: Vec<Violation>,
}

impl Findings<'_> {
    fn add(&mut self, promise: &'static str, what: impl fmt::Display) {
        let what = format!("game {}: {what}", self.game_id);
        self.found.push(Violation { promise, what });
    }
}

/// Judges a game whose clients and watchers are done.
pub fn check(log: &Log, windows: &[Window]) -> Vec<Violation> {
    let mut findings = Findings { game_id: &log.game_id, found: Vec::new() };
    if let Some(contradiction) = log.contradictions.first() {
        findings.add("no contradictions", contradiction);
    }
    // What follows would only say the same again, less clearly.
    if findings.found.is_empty() {
        let tree = Tree::grow(log, windows, &mut findings);
        calls::check(log, &tree, windows, &mut findings);
        for (number, watch) in log.watches.iter().enumerate() {
            watches::check(log, &tree, windows, number, watch, &mut findings);
        }
    }
    // The first ones say it; the rest mostly follow from them.
    findings.found.truncate(FINDINGS_MAX);
    findings.found
}

#[cfg(test)]
mod tests;
