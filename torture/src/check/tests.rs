//! The checker finds nothing in a sound history, and each kind of violation in one that was spoiled by it.

use std::time::{Duration, Instant};

use reversi_proto::{
    replay::Replay,
    to_wire,
    v1::{self, EndReason, ResetReason, game_event::Change},
};
use reversi_rules::{Color, Version};

use super::{Window, check};
use crate::log::{Answer, Call, Command, Log, Read, Refused, Told, Watch, version};

/// A history in which black moves and white resigns, each change a second after the one before.
struct History {
    log: Log,
    versions: Vec<Version>,
    lost: Option<Version>,
    start: Instant,
}

impl History {
    fn sound() -> Self {
        let start = Instant::now() + Duration::from_secs(100);
        let log = Log { game_id: "g".into(), ..Log::default() };
        let mut history = Self { log, versions: Vec::new(), lost: None, start };
        let seat = |color: Color| v1::Seat {
            color: to_wire::color(color),
            claimed: true,
            ..Default::default()
        };
        let rules = to_wire::rules(&reversi_rules::Rules::default());
        let seats = vec![seat(Color::Black), seat(Color::White)];
        let created = v1::GameCreated { rules: Some(rules), layout: None, seats };
        let mut replay = Replay::new("g");
        history.add(&mut replay, Change::Created(created), Command::Create);
        for (color, square) in [(Color::Black, "d3"), (Color::White, "c3")] {
            let at = *history.versions.last().expect("a game is created first");
            let played = v1::MovePlayed {
                color: to_wire::color(color),
                square: square.into(),
                ..Default::default()
            };
            let square = square.parse().expect("a square");
            let command = Command::Move { color, square, expected: Some(at) };
            history.add(&mut replay, Change::MovePlayed(played), command);
        }
        let resigned = v1::PlayerResigned { color: to_wire::color(Color::Black) };
        history.add(&mut replay, Change::Resigned(resigned), Command::Resign(Color::Black));
        history.log.record.clone_from(&history.versions);
        history.log.last = history.versions.last().copied();
        history.log.watches = vec![history.watch(Some(Version::ZERO)), history.watch(None)];
        for number in 1..=4 {
            let (begun, version) = (history.at(number * 1_000 + 300), history.version(number));
            let ended = begun + Duration::from_millis(100);
            history.log.reads.push(Read { begun, ended, version });
        }
        let refused = history.refused("NOT_YOUR_TURN", 2, &[("to_move", "COLOR_WHITE")]);
        history.log.calls.push(refused);
        history
    }

    /// So many milliseconds after the start.
    fn at(&self, millis: usize) -> Instant {
        self.start + Duration::from_millis(millis as u64)
    }

    fn version(&self, revision: usize) -> Version {
        self.versions[revision - 1]
    }

    fn add(&mut self, replay: &mut Replay, change: Change, command: Command) {
        let event = v1::GameEvent {
            game_id: "g".into(),
            change: Some(change),
            time: Some(Default::default()),
            ..Default::default()
        };
        let event = replay.next(&event).expect("a legal change");
        let version = version(event.version);
        self.log.event(event);
        self.log.state(Some(replay.standing().clone()));
        self.versions.push(version);
        let begun = self.at(self.versions.len() * 1_000);
        self.log.calls.push(Call {
            command,
            begun,
            last_begun: begun,
            ended: begun + Duration::from_millis(200),
            answer: Answer::Done(version),
        });
    }

    /// A watcher that leaves and resumes between revisions 2 and 3, from the creation on or from a snapshot of it.
    fn watch(&self, from: Option<Version>) -> Watch {
        let [first, second, third, fourth] = [1, 2, 3, 4].map(|number| self.version(number));
        let begin = match from {
            Some(_) => [Told::Event(first), Told::CaughtUp(first)],
            None => [Told::Snapshot(first), Told::Heartbeat(first)],
        };
        let [begin, then] = begin;
        let told = [
            (1_250, Told::Asked(from)),
            (1_260, begin),
            (1_270, then),
            (2_100, Told::Event(second)),
            (2_200, Told::Failed("SERVER_DRAINING".into())),
            (2_300, Told::Asked(Some(second))),
            (2_400, Told::CaughtUp(second)),
            (2_500, Told::Heartbeat(second)),
            (3_100, Told::Event(third)),
            (4_100, Told::Event(fourth)),
            (4_200, Told::End(EndReason::GameFinished)),
        ];
        let told = told.map(|(millis, told)| (self.at(millis), told)).into();
        Watch { latest_only: false, told }
    }

    /// A move of black's that was refused so, after revision 2.
    fn refused(&self, reason: &str, revision: u64, more: &[(&str, &str)]) -> Call {
        let more = more.iter().map(|(key, value)| (key.to_string(), value.to_string()));
        let refused =
            Refused { reason: reason.into(), revision: Some(revision), more: more.collect() };
        let square = "d3".parse().expect("a square");
        Call {
            command: Command::Move { color: Color::Black, square, expected: None },
            begun: self.at(2_400),
            last_begun: self.at(2_400),
            ended: self.at(2_600),
            answer: Answer::Refused(refused),
        }
    }

    /// Loses revision 4, which was acknowledged, and has white resign instead, which the watchers are told.
    fn losing(mut self) -> Self {
        let lost = self.versions.pop().expect("four versions");
        self.log.reads.pop();
        let mut replay = Replay::new("g");
        for version in &self.versions {
            replay.next(&self.log.events[version]).expect("it was so before");
        }
        let resigned = v1::PlayerResigned { color: to_wire::color(Color::White) };
        self.add(&mut replay, Change::Resigned(resigned), Command::Resign(Color::White));
        let kept = self.version(4);
        let (begun, ended) = (self.at(5_600), self.at(5_700));
        let call = self.log.calls.last_mut().expect("it was added");
        *call = Call { begun, last_begun: begun, ended, ..call.clone() };
        self.log.record.clone_from(&self.versions);
        self.log.last = Some(kept);
        let told = [
            (5_200, Told::Asked(Some(lost))),
            (5_800, Told::Reset(ResetReason::HistoryDiverged, kept)),
            (5_900, Told::End(EndReason::GameFinished)),
        ];
        let told = told.map(|(millis, told)| (self.at(millis), told));
        for watch in &mut self.log.watches {
            watch.told.extend(told.clone());
        }
        self.lost = Some(lost);
        self
    }

    /// The promises that are broken.
    fn broken(&self, windows: &[Window]) -> Vec<&'static str> {
        let mut promises: Vec<_> =
            check(&self.log, windows).iter().map(|violation| violation.promise).collect();
        promises.sort_unstable();
        promises.dedup();
        promises
    }

    fn window(&self, from: usize, until: usize) -> Window {
        Window { from: self.at(from), until: Some(self.at(until)), loses: true }
    }
}

/// Spoils a sound history, and answers what is found.
fn spoiled(spoil: impl FnOnce(&mut History)) -> Vec<&'static str> {
    let mut history = History::sound();
    spoil(&mut history);
    history.broken(&[])
}

#[test]
fn a_sound_history_has_no_violations() {
    assert_eq!(History::sound().broken(&[]), [""; 0]);
}

#[test]
fn calls_that_are_not_answered_as_one_game_would_are_found() {
    let twice = |history: &mut History| {
        let again = history.log.calls[2].clone();
        history.log.calls.push(again);
    };
    assert_eq!(spoiled(twice), ["of racing calls one wins"]);
    let by_nobody = |history: &mut History| drop(history.log.calls.remove(2));
    assert_eq!(spoiled(by_nobody), ["what was committed was acknowledged once"]);
    let open = |history: &mut History| history.log.calls[3].answer = Answer::Open;
    assert_eq!(
        spoiled(open),
        ["every call is settled", "what was committed was acknowledged once"]
    );
    let other = |history: &mut History| history.log.calls[3].command = Command::Abort;
    assert_eq!(spoiled(other), ["a call is answered with what it asked for"]);
    let unexpected = |history: &mut History| {
        let first = history.version(1);
        let Command::Move { expected, .. } = &mut history.log.calls[2].command else { panic!() };
        *expected = Some(first);
    };
    assert_eq!(spoiled(unexpected), ["a call is answered with what it asked for"]);
    let late = |history: &mut History| {
        history.log.calls[1].begun = history.at(5_000);
        history.log.calls[1].ended = history.at(5_100);
    };
    assert!(spoiled(late).contains(&"changes come one after the other"));
}

#[test]
fn reads_that_are_behind_or_ahead_are_found() {
    let behind = |history: &mut History| history.log.reads[2].version = history.version(2);
    assert_eq!(spoiled(behind), ["reads show what was acknowledged before"]);
    let ahead = |history: &mut History| {
        history.log.reads[0].version = history.version(4);
    };
    assert!(spoiled(ahead).contains(&"reads show what was asked for"));
}

#[test]
fn refusals_that_are_not_justified_are_found() {
    let refuse = |reason: &'static str, revision, more: &'static [(&str, &str)]| {
        spoiled(move |history| {
            history.log.calls.pop();
            let refused = history.refused(reason, revision, more);
            history.log.calls.push(refused);
        })
    };
    const UNJUSTIFIED: &str = "a refusal is justified at the version that it names";
    assert_eq!(refuse("ILLEGAL_MOVE", 2, &[]), [UNJUSTIFIED]);
    assert_eq!(refuse("VERSION_MISMATCH", 2, &[]), [UNJUSTIFIED]);
    assert_eq!(refuse("NOT_YOUR_TURN", 2, &[("to_move", "COLOR_BLACK")]), [UNJUSTIFIED]);
    assert_eq!(refuse("NOT_YOUR_TURN", 9, &[("to_move", "COLOR_WHITE")]), [UNJUSTIFIED]);
    let stale = refuse("GAME_NOT_STARTED", 1, &[]);
    assert_eq!(stale, ["a refusal is judged on the present", UNJUSTIFIED]);
}

#[test]
fn histories_that_the_rules_do_not_make_are_found() {
    let flips = |history: &mut History| {
        let second = history.version(2);
        let event = history.log.events.get_mut(&second).expect("it is there");
        let Some(Change::MovePlayed(played)) = &mut event.change else { panic!() };
        played.flips.clear();
    };
    assert_eq!(spoiled(flips), ["events are what the rules make of them"]);
    let state = |history: &mut History| {
        let second = history.version(2);
        history.log.states.get_mut(&second).expect("it is there").position = None;
    };
    assert_eq!(spoiled(state), ["states are the folds of their events"]);
    let folds = |history: &mut History| history.log.last = Some(history.version(3));
    assert!(spoiled(folds).contains(&"the stored history folds to the game"));
    let gap = |history: &mut History| {
        history.log.record.remove(1);
    };
    assert!(spoiled(gap).contains(&"the stored history chains"));
    let said = |history: &mut History| history.log.contradict("two events".into());
    assert_eq!(spoiled(said), ["no contradictions"]);
}

#[test]
fn watches_that_are_not_whole_are_found() {
    let tell = |at: usize, told: fn(&History) -> Told| {
        spoiled(move |history| history.log.watches[0].told[at].1 = told(history))
    };
    let without = |at: usize| {
        spoiled(move |history| {
            history.log.watches[0].told.remove(at);
        })
    };
    assert_eq!(without(3), ["a watcher resumes after what it was told"]);
    assert_eq!(without(8), ["events come in order, once, without a gap"]);
    let twice = spoiled(|history| {
        let told = history.log.watches[0].told[8].clone();
        history.log.watches[0].told.insert(9, told);
    });
    assert_eq!(twice, ["events come in order, once, without a gap"]);
    assert_eq!(without(10), ["every watcher reaches the end"]);
    assert_eq!(
        tell(7, |it| Told::Heartbeat(it.version(3))),
        ["heartbeats are never ahead of what was delivered"]
    );
    assert_eq!(
        tell(6, |it| Told::CaughtUp(it.version(3))),
        ["caught_up ends a replay, at what was delivered"]
    );
    assert_eq!(
        tell(7, |it| Told::Reset(ResetReason::HistoryDiverged, it.version(2))),
        ["a reset comes when something was lost"]
    );
    assert_eq!(
        tell(7, |_| Told::Failed("INTERNAL".into())),
        ["a watch fails for a reason that passes"]
    );
    assert_eq!(
        tell(7, |_| Told::End(EndReason::GameFinished)),
        ["a watch ends when all of a finished game was delivered"]
    );
    assert_eq!(
        tell(7, |it| Told::Snapshot(it.version(2))),
        ["snapshots come first, or where only the latest is wanted"]
    );
    let late = spoiled(|history| {
        let (at, second) = (history.at(20_000), history.version(2));
        history.log.watches[0].told.insert(8, (at, Told::Heartbeat(second)));
    });
    assert_eq!(late, ["watchers hear of changes in time"]);
    let stale = spoiled(|history| {
        let (at, second) = (history.at(4_500), history.version(2));
        history.log.watches[0].told.insert(8, (at, Told::Asked(Some(second))));
        history.log.watches[0].told.insert(9, (at, Told::CaughtUp(second)));
    });
    assert_eq!(stale, ["a replay reaches what was acknowledged before"]);
}

#[test]
fn watchers_that_end_on_what_was_lost_are_found() {
    let mut deaf = History::sound().losing();
    let told = &mut deaf.log.watches[0].told;
    told.truncate(told.len() - 3);
    assert_eq!(deaf.broken(&[deaf.window(3_500, 5_000)]), ["every watcher reaches the end"]);
}

#[test]
fn what_is_lost_is_excused_where_it_could_be_and_nowhere_else() {
    let lost = History::sound().losing();
    assert_eq!(lost.broken(&[]), ["what was acknowledged is kept"]);
    assert_eq!(lost.broken(&[lost.window(3_500, 5_000)]), [""; 0]);
    assert_eq!(lost.broken(&[lost.window(4_500, 5_000)]), ["what was acknowledged is kept"]);
    let only_apart = Window { loses: false, ..lost.window(3_500, 5_000) };
    assert_eq!(lost.broken(&[only_apart]), ["what was acknowledged is kept"]);

    let mut resurrected = History::sound().losing();
    let (begun, ended) = (resurrected.at(6_000), resurrected.at(6_100));
    let version = resurrected.lost.expect("it was lost");
    resurrected.log.reads.push(Read { begun, ended, version });
    let window = resurrected.window(3_500, 5_000);
    assert_eq!(resurrected.broken(&[window]), ["what was lost stays lost"]);
}

#[test]
fn what_was_acknowledged_and_lost_is_not_there_after_the_last_fault_that_can_have_lost_it() {
    let history = || History::sound().losing();
    // Another fault goes on.
    let windows =
        |it: &History| [it.window(3_500, 5_000), Window { until: None, ..it.window(5_900, 0) }];
    let broken = |it: History| it.broken(&windows(&it));
    assert_eq!(broken(history()), [""; 0]);
    let read = |begun: usize| {
        let mut it = history();
        let (begun, ended, version) = (it.at(begun), it.at(begun + 100), it.lost.expect("lost"));
        it.log.reads.push(Read { begun, ended, version });
        it
    };
    assert_eq!(broken(read(4_700)), [""; 0]);
    assert_eq!(broken(read(6_000)), ["what was lost stays lost"]);
    // By whom it can have been made again, and lost by the other fault.
    let again = |answer: fn(&History) -> Answer| {
        let mut it = read(6_000);
        let (begun, ended) = (it.at(5_950), it.at(6_050));
        let (command, answer) = (Command::Resign(Color::Black), answer(&it));
        it.log.repeats.push(Call { command, begun, last_begun: begun, ended, answer });
        it
    };
    assert_eq!(broken(again(|_| Answer::Open)), [""; 0]);
    let done = again(|it| Answer::Done(it.lost.expect("it was lost")));
    assert!(done.broken(&windows(&done)[..1]).contains(&"what was acknowledged is kept"));
    assert_eq!(broken(done), [""; 0]);

    let refused = |begun: usize| {
        let mut it = history();
        let mut call = it.refused("VERSION_MISMATCH", 4, &[]);
        // Only what was lost is not what is expected.
        let Command::Move { expected, .. } = &mut call.command else { panic!() };
        *expected = Some(it.version(4));
        [call.begun, call.last_begun, call.ended] = [begun, begun, begun + 100].map(|ms| it.at(ms));
        it.log.calls.push(call);
        it
    };
    assert_eq!(broken(refused(4_700)), [""; 0]);
    assert_eq!(broken(refused(6_000)), ["a refusal is justified at the version that it names"]);

    let told = |at: usize, told: fn(Version) -> Told| {
        let mut it = history();
        it.log.watches[0].told[10] = (it.at(at), told(it.lost.expect("it was lost")));
        it.broken(&[it.window(3_500, 5_000), it.window(5_900, 6_000)])
    };
    assert_eq!(told(14_900, Told::Heartbeat), [""; 0]);
    assert_eq!(told(15_100, Told::Heartbeat), ["what was lost stays lost"]);
}
