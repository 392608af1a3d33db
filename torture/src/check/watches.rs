//! Whether a watcher was told every change in order, once, proved, and told how it ended.

use std::time::{Duration, Instant};

use reversi_proto::v1::{EndReason, ResetReason};
use reversi_rules::{Status, Version};

use super::{
    Findings, ON_ITS_WAY, Window, apart, may_be_lost,
    tree::{Tree, parent},
};
use crate::log::{Log, Told, Watch};

/// How long after somebody knew of a change a watcher may not have heard of it, though its stream is alive: as long as a
/// replica may take to find out that its connection to the store leads nowhere, and a little more.
const LATE: Duration = Duration::from_secs(8);

/// Where a watcher is.
struct Place {
    /// What it was told last.
    have: Option<Version>,
    /// When this stream was asked for, and whether something came over it.
    asked: Option<(Instant, bool)>,
    /// Whether this stream still owes that its replay is over.
    replays: bool,
    ended: bool,
}

/// Judges one watcher.
pub fn check(
    log: &Log,
    tree: &Tree,
    windows: &[Window],
    number: usize,
    watch: &Watch,
    findings: &mut Findings<'_>,
) {
    let mut place = Place { have: None, asked: None, replays: false, ended: false };
    for (at, told) in &watch.told {
        let mut wrong = |promise: &'static str, why: String| {
            findings
                .add(promise, format!("watcher {number}, {told:?} after {:?}: {why}", place.have));
        };
        let first = place.asked.is_some_and(|(_, spoke)| !spoke);
        let asked = place.asked.map_or(*at, |(asked, _)| asked);
        let stale = |version: Version| {
            let floor = tree.floor(asked);
            let behind = version.revision < floor && !apart(windows, asked, *at);
            behind.then(|| format!("{floor} was known"))
        };
        let back = match told {
            Told::Snapshot(it) | Told::Event(it) | Told::CaughtUp(it) | Told::Reset(_, it) => {
                Some(*it)
            }
            // What was delivered stands until the store can be looked at.
            Told::Heartbeat(it) if !apart(windows, *at - LATE, *at) => Some(*it),
            _ => None,
        };
        let back = back.and_then(|version| tree.get(version));
        if back.is_some_and(|node| node.is_gone(*at - ON_ITS_WAY)) {
            wrong("what was lost stays lost", String::new());
        }
        if let Some((_, spoke)) = &mut place.asked {
            *spoke = true;
        }
        match told {
            Told::Asked(after) => {
                place.asked = Some((*at, false));
                place.replays = after.is_some();
                place.ended = false;
                if place.have.is_some() && place.have != *after {
                    wrong("a watcher resumes after what it was told", String::new());
                }
                place.have = *after;
            }
            Told::Snapshot(version) => {
                let opens = first && !place.replays;
                let skips = watch.latest_only
                    && place.have.is_some_and(|have| version.revision > have.revision + 1);
                if !opens && !skips {
                    wrong(
                        "snapshots come first, or where only the latest is wanted",
                        String::new(),
                    );
                }
                if opens && let Some(why) = stale(*version) {
                    wrong("a watch begins with what was acknowledged before", why);
                }
                place.have = Some(*version);
            }
            Told::Event(version) => {
                let before = log.events.get(version).map(|event| parent(*version, event));
                if before != place.have {
                    wrong("events come in order, once, without a gap", format!("{before:?}"));
                }
                place.have = Some(*version);
            }
            Told::CaughtUp(version) => {
                if !place.replays || place.have != Some(*version) {
                    wrong("caught_up ends a replay, at what was delivered", String::new());
                }
                if let Some(why) = stale(*version) {
                    wrong("a replay reaches what was acknowledged before", why);
                }
                place.replays = false;
            }
            Told::Heartbeat(version) => {
                if place.have != Some(*version) {
                    wrong("heartbeats are never ahead of what was delivered", String::new());
                }
                let heard = tree.floor(*at - LATE);
                if version.revision < heard && !apart(windows, *at - LATE, *at) {
                    wrong(
                        "watchers hear of changes in time",
                        format!("{heard} was known for long"),
                    );
                }
            }
            Told::Reset(reason, version) => {
                let have = place.have.unwrap_or(Version::ZERO);
                let lost = tree.get(have).is_none_or(|node| !node.kept);
                if !lost && !apart(windows, *at - ON_ITS_WAY, *at) {
                    wrong("a reset comes when something was lost", String::new());
                }
                let ahead = have.revision > version.revision;
                if ahead != (*reason == ResetReason::RevisionAhead) {
                    wrong("a reset says why", String::new());
                }
                place.have = Some(*version);
                place.replays = false;
            }
            Told::End(reason) => {
                let table = place.have.and_then(|have| tree.get(have)).map(|node| node.table());
                let finished = table.is_some_and(|table| table.status() == Status::Finished);
                if *reason != EndReason::GameFinished || !finished {
                    wrong("a watch ends when all of a finished game was delivered", String::new());
                }
                place.ended = true;
            }
            Told::Failed(reason) => match reason.as_str() {
                ""
                | "SERVER_DRAINING"
                | "STREAM_LIFETIME_REACHED"
                | "STORE_UNAVAILABLE"
                | "DEADLINE_EXCEEDED"
                | "LIMIT_REACHED" => {}
                "GAME_NOT_FOUND" if log.vanished => place.ended = true,
                "GAME_NOT_FOUND" if may_be_lost(windows, *at - ON_ITS_WAY, *at) => {}
                _ => wrong("a watch fails for a reason that passes", String::new()),
            },
        }
    }
    let reached = log.vanished || place.have == log.last;
    if !place.ended || !reached {
        let what = format!("watcher {number} is at {:?}, the game at {:?}", place.have, log.last);
        findings.add("every watcher reaches the end", what);
    }
}
