//! All versions of a game that anybody was told, each rebuilt from the one before by the rules.

use std::{collections::HashMap, time::Instant};

use reversi_proto::{replay::Replay, v1};
use reversi_rules::{Game, Version};

use super::{Findings, ON_ITS_WAY, Window, apart, lost, may_be_lost};
use crate::log::{Answer, Log, Read, Told};

/// A version.
pub struct Node {
    /// The game there.
    pub replay: Replay,
    /// Whether it is part of the stored history in the end.
    pub kept: bool,
    /// From when on it cannot be there any more, as far as that is known.
    pub gone: Option<Instant>,
    /// The call that was told to have made it.
    pub by: Option<usize>,
}

/// Every version, and when somebody knew of it.
pub struct Tree {
    nodes: HashMap<Version, Node>,
    /// When somebody first was told a revision that is kept, or a later one; ordered by both.
    known: Vec<(Instant, u64)>,
}

impl Node {
    /// The game as the rules have it.
    pub fn table(&self) -> &Game {
        self.replay.table().expect("every node has at least its creation")
    }

    /// Whether it was lost for sure before this moment.
    pub fn is_gone(&self, at: Instant) -> bool {
        self.gone.is_some_and(|gone| gone < at)
    }
}

impl Tree {
    /// Rebuilds every event, and compares what was told with it.
    pub fn grow(log: &Log, windows: &[Window], findings: &mut Findings<'_>) -> Self {
        let mut tree = Self { nodes: HashMap::new(), known: Vec::new() };
        let mut events: Vec<_> = log.events.iter().collect();
        events.sort_by_key(|(version, _)| (version.revision, version.digest));
        for (version, event) in events {
            let orphan = tree.add(*version, event, &log.game_id, findings);
            // Of what was lost, not all need have been told to anybody.
            if orphan && !was_lost(log, windows, *version) {
                let what = format!("{event:?} follows a version that nobody was told");
                findings.add("events chain", what);
            }
        }
        tree.mark_kept(log, findings);
        for (version, node) in tree.nodes.iter_mut().filter(|(_, node)| !node.kept) {
            node.gone = lost::gone(log, windows, *version);
        }
        for (number, call) in log.calls.iter().enumerate() {
            let Answer::Done(version) = call.answer else { continue };
            let Some(node) = tree.nodes.get_mut(&version) else { continue };
            match node.by {
                None => node.by = Some(number),
                // What was lost can be done again, and is the same version then.
                Some(first)
                    if may_be_lost(windows, log.calls[first].begun, log.calls[first].ended)
                        || may_be_lost(windows, call.begun, call.ended) => {}
                Some(first) => findings.add(
                    "of racing calls one wins",
                    format!("{version:?} answers {:?} and {call:?}", log.calls[first]),
                ),
            }
        }
        tree.compare_states(log, windows, findings);
        tree.learn(log, windows);
        tree
    }

    /// Adds a version; answers whether it cannot be, because the one before is not there.
    fn add(
        &mut self,
        version: Version,
        event: &v1::GameEvent,
        id: &str,
        findings: &mut Findings<'_>,
    ) -> bool {
        let before = parent(version, event);
        let mut replay = match (before, self.nodes.get(&before)) {
            (Version::ZERO, _) => Replay::new(id),
            (_, Some(node)) => node.replay.clone(),
            (_, None) => return true,
        };
        match replay.next(event) {
            Ok(expected) if expected == *event => {}
            Ok(expected) => {
                findings.add("events are what the rules make of them", {
                    format!("told {event:?}, by the rules {expected:?}")
                });
            }
            Err(problem) => {
                findings.add("the rules accept every move", format!("{problem}: {event:?}"));
                return false;
            }
        }
        self.nodes.insert(version, Node { replay, kept: false, gone: None, by: None });
        false
    }

    fn mark_kept(&mut self, log: &Log, findings: &mut Findings<'_>) {
        let mut before = Version::ZERO;
        for version in &log.record {
            let event = &log.events[version];
            if parent(*version, event) != before {
                findings.add("the stored history chains", format!("{event:?} after {before:?}"));
            }
            if let Some(node) = self.nodes.get_mut(version) {
                node.kept = true;
            }
            before = *version;
        }
        if log.last.is_some_and(|last| last != before) {
            findings.add(
                "the stored history folds to the game",
                format!("the game is at {:?}, its history at {before:?}", log.last),
            );
        }
    }

    fn compare_states(&self, log: &Log, windows: &[Window], findings: &mut Findings<'_>) {
        for (version, state) in &log.states {
            let Some(node) = self.nodes.get(version) else {
                if !was_lost(log, windows, *version) {
                    findings.add("states are of versions that were", format!("{state:?}"));
                }
                continue;
            };
            let expected = v1::Game {
                expire_time: state.expire_time,
                labels: state.labels.clone(),
                ..node.replay.standing().clone()
            };
            if expected != *state {
                let what = format!("told {state:?}, by the events {expected:?}");
                findings.add("states are the folds of their events", what);
            }
        }
    }

    /// Gathers who knew what when, but for what may have been lost again.
    fn learn(&mut self, log: &Log, windows: &[Window]) {
        let kept = tellings(log)
            .filter(|telling| !telling.may_be_lost(windows))
            .filter(|telling| self.get(telling.version).is_some_and(|node| node.kept));
        let mut known: Vec<_> = kept.map(|it| (it.ended, it.version.revision)).collect();
        known.sort_unstable();
        let mut highest = 0;
        known.retain(|(_, revision)| {
            let higher = *revision > highest;
            highest = highest.max(*revision);
            higher
        });
        self.known = known;
    }

    /// A version.
    pub fn get(&self, version: Version) -> Option<&Node> {
        self.nodes.get(&version)
    }

    /// All versions.
    pub fn all(&self) -> impl Iterator<Item = (Version, &Node)> {
        self.nodes.iter().map(|(version, node)| (*version, node))
    }

    /// The revision that somebody had been told before `begun`, so that nobody who asks then may be told less.
    pub fn floor(&self, begun: Instant) -> u64 {
        let before = self.known.partition_point(|(at, _)| *at < begun);
        before.checked_sub(1).map_or(0, |last| self.known[last].1)
    }
}

/// The version before that of an event.
pub fn parent(version: Version, event: &v1::GameEvent) -> Version {
    Version { revision: version.revision.saturating_sub(1), digest: event.previous_digest }
}

/// Somebody was told a version.
struct Telling {
    version: Version,
    /// From when on it may have come about.
    begun: Instant,
    /// When it was told.
    ended: Instant,
    /// Whether to the caller who made it, as done.
    acknowledged: bool,
}

impl Telling {
    fn may_be_lost(&self, windows: &[Window]) -> bool {
        let lost = if self.acknowledged { may_be_lost } else { apart };
        lost(windows, self.begun, self.ended)
    }
}

fn tellings(log: &Log) -> impl Iterator<Item = Telling> {
    let calls = log.calls.iter().chain(&log.repeats).filter_map(|call| match call.answer {
        Answer::Done(version) => {
            let (begun, ended) = (call.begun, call.ended);
            Some(Telling { version, begun, ended, acknowledged: true })
        }
        Answer::Refused(_) | Answer::Open => None,
    });
    let reads = log.reads.iter().map(|read| {
        let Read { begun, ended, version } = *read;
        Telling { version, begun, ended, acknowledged: false }
    });
    let told = log.watches.iter().flat_map(|watch| &watch.told);
    let told = told.filter_map(|(at, told)| match told {
        Told::Snapshot(version) | Told::Event(version) | Told::Reset(_, version) => {
            let (begun, ended) = (*at - ON_ITS_WAY, *at);
            Some(Telling { version: *version, begun, ended, acknowledged: false })
        }
        Told::Asked(_)
        | Told::CaughtUp(_)
        | Told::Heartbeat(_)
        | Told::End(_)
        | Told::Failed(_) => None,
    });
    calls.chain(reads).chain(told)
}

/// Whether all who were told the version were so when it could be lost again.
fn was_lost(log: &Log, windows: &[Window], version: Version) -> bool {
    !log.record.contains(&version)
        && tellings(log)
            .filter(|telling| telling.version == version)
            .all(|telling| telling.may_be_lost(windows))
}
