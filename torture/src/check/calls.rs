//! Whether calls were answered as one game at one place would have answered them.

use reversi_rules::{Change, Color, Game, Refusal, Version};

use super::{
    Findings, Window, apart, may_be_lost,
    tree::{Node, Tree, parent},
};
use crate::log::{Answer, Call, Command, Log, Refused};

/// Judges the calls and reads of a game.
pub fn check(log: &Log, tree: &Tree, windows: &[Window], findings: &mut Findings<'_>) {
    for call in &log.calls {
        match &call.answer {
            Answer::Done(version) => done(log, tree, windows, call, *version, findings),
            Answer::Refused(refused) => refusal(log, tree, windows, call, refused, findings),
            Answer::Open => findings.add("every call is settled", format!("{call:?}")),
        }
    }
    for call in &log.repeats {
        let Answer::Done(version) = call.answer else { continue };
        let lost = tree.get(version).is_none_or(|node| !node.kept);
        if lost && !may_be_lost(windows, call.begun, call.ended) {
            findings.add("what was acknowledged is kept", format!("the repeat {call:?} is lost"));
        }
    }
    for read in &log.reads {
        let floor = tree.floor(read.begun);
        if read.version.revision < floor && !apart(windows, read.begun, read.ended) {
            let what = format!("{read:?}, when revision {floor} was known");
            findings.add("reads show what was acknowledged before", what);
        }
        if let Some(by) = tree.get(read.version).and_then(|node| node.by)
            && log.calls[by].begun > read.ended
            // What was lost can be done again.
            && !apart(windows, read.begun, read.ended)
        {
            findings.add("reads show what was asked for", format!("{read:?}: {:?}", log.calls[by]));
        }
        let settled = windows.iter().all(|it| it.until.is_some_and(|until| until < read.begun));
        let lost = |node: &Node| !node.kept && settled || node.is_gone(read.begun);
        if tree.get(read.version).is_some_and(lost) {
            findings.add("what was lost stays lost", format!("{read:?}"));
        }
    }
    for (version, node) in tree.all() {
        if node.kept && node.by.is_none() && !was_refused_elsewhere(log, windows, version) {
            findings.add(
                "what was committed was acknowledged once",
                format!(
                    "no call was told to have made {version:?}: {:?}. Asked for by {:?}",
                    log.events[&version],
                    asked(log, version).collect::<Vec<_>>(),
                ),
            );
        }
    }
}

fn done(
    log: &Log,
    tree: &Tree,
    windows: &[Window],
    call: &Call,
    version: Version,
    findings: &mut Findings<'_>,
) {
    let excused = may_be_lost(windows, call.begun, call.ended);
    let Some(node) = tree.get(version) else {
        if !excused {
            findings.add("what was acknowledged was done", format!("{call:?} is nowhere"));
        }
        return;
    };
    let event = &log.events[&version];
    let before = parent(version, event);
    if !fits(&call.command, &reversi_proto::convert::change(event), before) {
        findings.add("a call is answered with what it asked for", format!("{call:?}: {event:?}"));
    }
    if node.kept {
        let floor = tree.floor(call.begun);
        if floor >= version.revision {
            let what = format!("{call:?}, when revision {floor} was known");
            findings.add("changes come one after the other", what);
        }
    } else if !excused {
        findings.add("what was acknowledged is kept", format!("{call:?} is lost"));
    }
}

/// Whether a call asked for this change and was refused while two primaries may have answered: one that did it, and then one
/// that was about to go, and to lose what it had done itself.
fn was_refused_elsewhere(log: &Log, windows: &[Window], version: Version) -> bool {
    asked(log, version).any(|call| {
        matches!(call.answer, Answer::Refused(_)) && may_be_lost(windows, call.begun, call.ended)
    })
}

/// The calls that asked for the change at this version.
pub fn asked(log: &Log, version: Version) -> impl Iterator<Item = &Call> {
    let event = &log.events[&version];
    let (change, before) = (reversi_proto::convert::change(event), parent(version, event));
    log.calls.iter().chain(&log.repeats).filter(move |call| fits(&call.command, &change, before))
}

/// Whether the change at the version after `before` is what the command asked for.
fn fits(command: &Command, change: &Result<Change, String>, before: Version) -> bool {
    match (command, change) {
        (Command::Create, Ok(Change::Created { .. })) | (Command::Abort, Ok(Change::Aborted)) => {
            true
        }
        (Command::Join(seat), Ok(Change::SeatClaimed { color, .. }))
        | (Command::Resign(seat), Ok(Change::Resigned { color })) => seat == color,
        (
            Command::Move { color: asked, square: at, expected },
            Ok(Change::MovePlayed { color, square }),
        ) => (asked, at) == (color, square) && expected.is_none_or(|it| is_same(it, before)),
        _ => false,
    }
}

fn is_same(expected: Version, version: Version) -> bool {
    expected.revision == version.revision
        && (expected.digest == 0 || expected.digest == version.digest)
}

fn refusal(
    log: &Log,
    tree: &Tree,
    windows: &[Window],
    call: &Call,
    refused: &Refused,
    findings: &mut Findings<'_>,
) {
    let excused = may_be_lost(windows, call.begun, call.ended);
    if refused.reason == "GAME_NOT_FOUND" && (log.vanished || excused) {
        return;
    }
    let Some(revision) = refused.revision else {
        findings.add("a refusal names the version that it was judged at", format!("{call:?}"));
        return;
    };
    let floor = tree.floor(call.last_begun);
    if revision < floor && !apart(windows, call.last_begun, call.ended) {
        let what = format!("{call:?}, when revision {floor} was known");
        findings.add("a refusal is judged on the present", what);
    }
    let justified = |table: &Game, version| {
        judged(table, version, &call.command).is_some_and(|expected| {
            expected.reason == refused.reason
                && expected.more.iter().all(|(key, value)| refused.more.get(*key) == Some(value))
        })
    };
    let there = |node: &Node| !node.is_gone(call.last_begun);
    let mut at = tree.all().filter(|(version, node)| version.revision == revision && there(node));
    if !at.any(|(version, node)| justified(node.table(), version)) {
        findings.add("a refusal is justified at the version that it names", format!("{call:?}"));
    }
}

/// A refusal as it has to be.
struct Expected {
    reason: &'static str,
    more: Vec<(&'static str, String)>,
}

/// What the contract's table says of the command on this game; none if it is to be done.
fn judged(table: &Game, version: Version, command: &Command) -> Option<Expected> {
    let plain = |reason| Some(Expected { reason, more: Vec::new() });
    let change = match command {
        Command::Create => return None,
        Command::Join(color) => Change::SeatClaimed { color: *color, player_id: String::new() },
        Command::Move { color, square, expected } => {
            if expected.is_some_and(|expected| !is_same(expected, version)) {
                return plain("VERSION_MISMATCH");
            }
            Change::MovePlayed { color: *color, square: *square }
        }
        Command::Resign(color) => Change::Resigned { color: *color },
        Command::Abort => Change::Aborted,
    };
    match table.clone().apply(&change).err()? {
        Refusal::Malformed(_)
        | Refusal::NoSuchColor(_)
        | Refusal::SquareOffBoard(_)
        | Refusal::SquareBlocked(_) => plain("INVALID_FIELD"),
        Refusal::NoOpenSeat => plain("NO_OPEN_SEAT"),
        Refusal::SeatTaken(_) => plain("SEAT_TAKEN"),
        Refusal::NotStarted => plain("GAME_NOT_STARTED"),
        Refusal::Finished => plain("GAME_FINISHED"),
        Refusal::SeatResigned(_) => plain("SEAT_RESIGNED"),
        Refusal::NotYourTurn { to_move } => {
            let more = vec![("to_move", color_name(to_move).to_owned())];
            Some(Expected { reason: "NOT_YOUR_TURN", more })
        }
        Refusal::IllegalMove { legal, .. } => {
            let legal: Vec<_> = legal.iter().map(|square| square.to_string()).collect();
            Some(Expected { reason: "ILLEGAL_MOVE", more: vec![("legal_moves", legal.join(","))] })
        }
    }
}

/// As the contract names it.
fn color_name(color: Color) -> &'static str {
    reversi_proto::v1::Color::try_from(i32::from(color.number()))
        .expect("the numbers are the same")
        .as_str_name()
}
