//! Digests are what a second language computes: every row of `data/digests.tsv`, which Python's
//! hashlib made.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

mod common;

use reversi_rules::{BlockedSetup, Board, Change, Color, NewSeat, Rules, Setup, Version};

fn created(game_id: &str, rules: Rules, seats: &[Option<&str>]) -> Change {
    let seats = seats.iter().map(|seat| NewSeat {
        claimed: seat.is_some(),
        player_id: seat.unwrap_or_default().into(),
    });
    Change::Created { game_id: game_id.into(), rules, seats: seats.collect() }
}

fn claimed(color: Color, player_id: &str) -> Change {
    Change::SeatClaimed { color, player_id: player_id.into() }
}

fn moved(color: Color, square: &str) -> Change {
    Change::MovePlayed { color, square: common::sq(square) }
}

/// The histories of the data file, one after another.
fn histories() -> Vec<Vec<Change>> {
    let plain = "00000000-0000-4000-8000-000000000001";
    let explicit = common::rules("8x8 parallel fewest-discs handicap=1 blocked=a8,d2");
    let blocked = BlockedSetup { count: Some(4), seed: Some(u64::MAX), ..BlockedSetup::default() };
    let drawn =
        Setup { board: Board::Octagon, players: 4, blocked: Some(blocked), ..Setup::default() };
    let drawn = drawn.check().unwrap().complete(None).unwrap();
    vec![
        vec![
            created(plain, Rules::default(), &[None, None]),
            claimed(Color::Black, "ann"),
            claimed(Color::White, "zoë"),
            moved(Color::Black, "d3"),
            moved(Color::White, "c5"),
            Change::Resigned { color: Color::White },
        ],
        vec![created("explicit", explicit, &[Some("ann"), Some("")]), moved(Color::Black, "c6")],
        vec![
            created("drawn", drawn, &[Some("ann"), None, Some("cy"), None]),
            claimed(Color::Green, &"g".repeat(64)),
            Change::Aborted,
        ],
    ]
}

#[test]
fn every_change_has_its_canonical_bytes_and_its_digest() {
    let mut rows = common::rows(include_str!("data/digests.tsv"));
    for history in histories() {
        let mut version = Version::ZERO;
        for (revision, change) in (1..).zip(history) {
            let row = rows.next().expect("a row for each change");
            let [what, previous, canonical, digest] = row[..] else {
                panic!("four columns in {row:?}")
            };
            let bytes = change.canonical_bytes();
            let bytes: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(bytes, canonical, "{what}");
            assert_eq!(format!("{:016x}", version.digest), previous, "{what}");
            version = version.next(&change);
            assert_eq!(format!("{:016x}", version.digest), digest, "{what}");
            assert_eq!(version.revision, revision, "{what}");
        }
    }
    assert_eq!(rows.next(), None, "a change for each row");
}

#[test]
fn a_text_too_long_for_any_game_still_has_canonical_bytes() {
    let bytes = claimed(Color::Black, &"é".repeat(200)).canonical_bytes();
    assert_eq!(bytes.len(), 3 + 255);
}
