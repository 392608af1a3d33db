//! Every start, every turn that a history can take under a cursor, and every end, over tips made by hand.

use std::collections::HashMap;

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::model::Millis;

/// A tip whose revisions have these digests. Its messages say what they are.
fn tip(digests: &[u64]) -> Tip {
    let frames = (1..).zip(digests).map(|(revision, digest)| Frame {
        version: Version { revision, digest: *digest },
        event: format!("event {revision}:{digest}").into(),
        time: Millis(0),
        caused: None,
    });
    let last = digests.last().copied().unwrap_or(0);
    let snapshot = format!("snapshot {}:{last}", digests.len()).into();
    Tip { frames: frames.collect(), snapshot, ..Tip::default() }
}

fn closed(digests: &[u64], closed: Closed) -> Tip {
    Tip { closed: Some(closed), ..tip(digests) }
}

fn after(revision: u64, digest: u64) -> Option<Version> {
    Some(Version { revision, digest })
}

/// What comes next, in words; none when nothing is pending, which must then be said so.
fn told(cursor: &mut Cursor, tip: &Tip) -> Option<String> {
    let pending = cursor.pending(tip);
    let text = |bytes: Bytes| String::from_utf8(bytes.into()).expect("it was text");
    let told = match cursor.next(tip) {
        Ok(None) => None,
        Ok(Some(Step::Snapshot(game))) => Some(text(game)),
        Ok(Some(Step::Event { frame, .. })) => Some(text(frame.event)),
        Ok(Some(Step::CaughtUp(at))) => Some(format!("caught up {}:{}", at.revision, at.digest)),
        Ok(Some(Step::Reset(reset))) => Some(match reset.reason() {
            ResetReason::RevisionAhead => "reset: ahead".into(),
            ResetReason::HistoryDiverged => "reset: diverged".into(),
            ResetReason::Unspecified => panic!("a reset has a reason"),
        }),
        Ok(Some(Step::End(reason))) => Some(format!("end: {}", reason.as_str_name())),
        Err(Error::GameNotFound) => Some("vanished".into()),
        Err(error) => panic!("a cursor knows no {error}"),
    };
    assert_eq!(pending, told.is_some(), "pending says whether there is a next: {told:?}");
    told
}

/// All that is told until nothing is pending or nothing will follow.
fn all_told(cursor: &mut Cursor, tip: &Tip) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(told) = told(cursor, tip) {
        let last = told == "vanished" || told.starts_with("end: ");
        all.push(told);
        assert!(all.len() < 100, "it comes to an end");
        if last {
            break;
        }
    }
    all
}

#[test]
fn every_start_is_told_by_the_contract() {
    let tip = tip(&[11, 12, 13]);
    let cases: [(Option<Version>, bool, &[&str]); 14] = [
        (None, false, &["snapshot 3:13"]),
        (None, true, &["snapshot 3:13"]),
        (after(3, 13), false, &["caught up 3:13"]),
        (after(3, 0), true, &["caught up 3:13"]),
        (after(2, 12), false, &["event 3:13", "caught up 3:13"]),
        (after(2, 12), true, &["event 3:13", "caught up 3:13"]),
        (after(1, 0), false, &["event 2:12", "event 3:13", "caught up 3:13"]),
        (after(1, 0), true, &["snapshot 3:13", "caught up 3:13"]),
        (after(0, 0), false, &["event 1:11", "event 2:12", "event 3:13", "caught up 3:13"]),
        (after(4, 0), false, &["reset: ahead"]),
        (after(u64::MAX, 13), false, &["reset: ahead"]),
        (after(3, 14), false, &["reset: diverged"]),
        (after(1, 12), true, &["reset: diverged"]),
        (after(0, 1), false, &["reset: diverged"]),
    ];
    for (resume_after, latest_only, expected) in cases {
        let mut cursor = Cursor::new(&tip, resume_after, latest_only);
        assert_eq!(all_told(&mut cursor, &tip), expected, "{resume_after:?}, {latest_only}");
        assert_eq!(cursor.delivered(), tip.version());
    }
}

#[test]
fn what_is_committed_after_the_start_follows() {
    for resume_after in [None, after(2, 12), after(0, 0), after(9, 0)] {
        let mut cursor = Cursor::new(&tip(&[11, 12]), resume_after, false);
        all_told(&mut cursor, &tip(&[11, 12]));
        assert_eq!(all_told(&mut cursor, &tip(&[11, 12])), [""; 0]);
        let more = tip(&[11, 12, 13, 14]);
        assert_eq!(all_told(&mut cursor, &more), ["event 3:13", "event 4:14"]);
        assert_eq!(cursor.delivered(), more.version());
    }
}

#[test]
fn latest_only_skips_what_is_more_than_one_event() {
    let mut cursor = Cursor::new(&tip(&[11]), None, true);
    assert_eq!(all_told(&mut cursor, &tip(&[11])), ["snapshot 1:11"]);
    assert_eq!(all_told(&mut cursor, &tip(&[11, 12])), ["event 2:12"]);
    assert_eq!(all_told(&mut cursor, &tip(&[11, 12, 13, 14])), ["snapshot 4:14"]);
    let end = Closed::End(EndReason::GameFinished);
    let over = closed(&[11, 12, 13, 14, 15, 16], end);
    assert_eq!(all_told(&mut cursor, &over), ["snapshot 6:16", "end: END_REASON_GAME_FINISHED"]);
}

/// Runs a cursor that was told `steps` messages of `before`, and tells what it hears of `now`.
fn turned(resume_after: Option<Version>, before: &Tip, steps: usize, now: &Tip) -> Vec<String> {
    let mut cursor = Cursor::new(before, resume_after, false);
    for _ in 0..steps {
        told(&mut cursor, before).expect("there is that much to tell");
    }
    let all = all_told(&mut cursor, now);
    assert_eq!(cursor.delivered(), now.version());
    all
}

#[test]
fn a_history_that_changes_is_told_to_exactly_those_who_lost_something() {
    let before = tip(&[11, 12, 13, 14]);
    let shorter = tip(&[11, 12]);
    let branch = tip(&[11, 12, 23, 24]);
    let longer = tip(&[11, 12, 23, 24, 25]);

    // Waiting for a snapshot: nothing was delivered, so nothing is lost.
    assert_eq!(turned(None, &before, 0, &shorter), ["snapshot 2:12"]);
    assert_eq!(turned(None, &before, 0, &branch), ["snapshot 4:24"]);
    // In the midst of a replay, before and behind the fork.
    let from_0 = after(0, 0);
    assert_eq!(turned(from_0, &before, 1, &shorter), ["event 2:12", "caught up 2:12"]);
    assert_eq!(
        turned(from_0, &before, 1, &branch),
        ["event 2:12", "event 3:23", "event 4:24", "caught up 4:24"]
    );
    assert_eq!(turned(from_0, &before, 2, &shorter), ["caught up 2:12"]);
    assert_eq!(turned(from_0, &before, 3, &shorter), ["reset: ahead"]);
    assert_eq!(turned(from_0, &before, 3, &branch), ["reset: diverged"]);
    assert_eq!(turned(from_0, &before, 3, &longer), ["reset: diverged"]);
    // Everything was replayed but `caught_up`, which no reset needs.
    assert_eq!(turned(from_0, &before, 4, &branch), ["reset: diverged"]);
    // Live.
    assert_eq!(turned(None, &before, 1, &shorter), ["reset: ahead"]);
    assert_eq!(turned(None, &before, 1, &branch), ["reset: diverged"]);
    assert_eq!(turned(None, &before, 1, &longer), ["reset: diverged"]);
    // The resume point itself is lost before anything was told.
    assert_eq!(turned(after(4, 14), &before, 0, &shorter), ["reset: ahead"]);
    assert_eq!(turned(after(3, 0), &before, 0, &branch), ["reset: diverged"]);
    // A resume point that was ahead is ours by now: the same commits were repeated.
    assert_eq!(turned(after(4, 14), &shorter, 0, &before), ["caught up 4:14"]);
}

#[test]
fn a_cursor_goes_on_after_a_reset_as_if_it_had_begun_there() {
    let mut cursor = Cursor::new(&tip(&[11, 12, 13]), None, false);
    all_told(&mut cursor, &tip(&[11, 12, 13]));
    assert_eq!(all_told(&mut cursor, &tip(&[11])), ["reset: ahead"]);
    assert_eq!(all_told(&mut cursor, &tip(&[11, 22])), ["event 2:22"]);
    assert_eq!(all_told(&mut cursor, &tip(&[11, 12, 13])), ["reset: diverged"]);
    assert_eq!(all_told(&mut cursor, &tip(&[11, 12, 13, 14])), ["event 4:14"]);
}

#[test]
fn the_end_comes_after_everything_else() {
    let ends = [
        (Closed::End(EndReason::GameFinished), "end: END_REASON_GAME_FINISHED"),
        (Closed::End(EndReason::GameDeleted), "end: END_REASON_GAME_DELETED"),
        (Closed::End(EndReason::GameExpired), "end: END_REASON_GAME_EXPIRED"),
        (Closed::Vanished, "vanished"),
    ];
    for (end, words) in ends {
        let over = closed(&[11, 12], end);
        let starts: [(Option<Version>, &[&str]); 5] = [
            (None, &["snapshot 2:12"]),
            (after(2, 12), &["caught up 2:12"]),
            (after(1, 11), &["event 2:12", "caught up 2:12"]),
            (after(5, 0), &["reset: ahead"]),
            (after(1, 5), &["reset: diverged"]),
        ];
        for (resume_after, first) in starts {
            let mut cursor = Cursor::new(&over, resume_after, false);
            assert_eq!(all_told(&mut cursor, &over), [first, &[words]].concat());
        }
        let mut live = Cursor::new(&tip(&[11]), None, false);
        all_told(&mut live, &tip(&[11]));
        assert_eq!(all_told(&mut live, &over), ["event 2:12", words]);
    }
    // Taken for vanished, and back before anybody was told.
    let mut cursor = Cursor::new(&tip(&[11]), None, false);
    all_told(&mut cursor, &tip(&[11]));
    assert!(cursor.pending(&closed(&[11], Closed::Vanished)));
    assert_eq!(all_told(&mut cursor, &tip(&[11, 12])), ["event 2:12"]);
}

proptest! {
    /// Whatever becomes of the history, every event follows on what the watcher has, and one who is told everything has
    /// what is there.
    #[test]
    fn a_watcher_always_has_a_history_that_was_ours(
        resume_after in prop_oneof![
            Just(None),
            (0..8u64, 0..3u64).prop_map(|(revision, digest)| after(revision, digest)),
        ],
        latest_only: bool,
        turns in vec((0..8usize, vec(any::<bool>(), 0..4), 0..6usize), 1..8),
    ) {
        // A digest stands for all that led to it; `parents` knows what it followed.
        let mut parents = HashMap::new();
        let mut digests: Vec<u64> = vec![1];
        let mut cursor = Cursor::new(&tip(&digests), resume_after, latest_only);
        let mut has = resume_after.map(|version| version.digest);
        for (kept, added, steps) in turns {
            digests.truncate(kept.max(1));
            for branch in added {
                let parent = digests[digests.len() - 1];
                let digest = parent * 2 + 1 + u64::from(branch);
                parents.insert(digest, parent);
                digests.push(digest);
            }
            let now = tip(&digests);
            for _ in 0..steps {
                let Some(told) = told(&mut cursor, &now) else { break };
                let delivered = cursor.delivered().digest;
                if told.starts_with("event") && has != Some(0) {
                    let parent = parents.get(&delivered).copied().unwrap_or(0);
                    prop_assert_eq!(has, Some(parent), "{}", told);
                } else if told.starts_with("caught up") && has != Some(0) {
                    prop_assert_eq!(has, Some(delivered), "{}", told);
                }
                has = Some(delivered);
            }
        }
        let now = tip(&digests);
        all_told(&mut cursor, &now);
        prop_assert_eq!(cursor.delivered(), now.version());
        prop_assert!(!cursor.pending(&now));
    }
}
