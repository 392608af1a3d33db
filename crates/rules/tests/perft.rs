//! Move generation counts what independent programs count: every row of the project's vectors.
//!
//! A debug build goes as deep as three million lines of play and a release build as deep as four
//! hundred million; set `REVERSI_PERFT_FULL` for every depth there is.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

mod common;

use reversi_rules::{Position, perft, perft_divide};

fn deepest() -> u64 {
    if std::env::var_os("REVERSI_PERFT_FULL").is_some() {
        u64::MAX
    } else if cfg!(debug_assertions) {
        3_100_000
    } else {
        400_000_000
    }
}

#[test]
fn every_row_is_counted_as_independent_programs_count_it() {
    let mut rows = 0;
    for row in common::rows(include_str!("data/perft.tsv")) {
        let [settings, counts] = row[..] else { panic!("two columns in {row:?}") };
        let position = Position::start(&common::rules(settings));
        for (depth, count) in (1..).zip(counts.split(' ')) {
            let count: u64 = count.parse().unwrap();
            if count <= deepest() {
                assert_eq!(perft(&position, depth), count, "{settings} at depth {depth}");
            }
        }
        rows += 1;
    }
    assert_eq!(rows, 35);
}

#[test]
fn divided_counts_add_up() {
    for settings in ["8x8 cross", "6x6 free", "octagon players=3", "8x8 blocked=a2,g2,g3,d7"] {
        let position = Position::start(&common::rules(settings));
        let divided = perft_divide(&position, 5).map(|(_, count)| count).sum::<u64>();
        assert_eq!(divided, perft(&position, 5), "{settings}");
    }
}

#[test]
fn a_forced_pass_is_a_ply_and_a_finished_game_one_line() {
    // Black's wipe-out by the ninth disc leaves nobody a move.
    let over = common::played(&common::rules("8x8"), "e6f4e3f6g5d6e7f5c5");
    assert_eq!([0, 1, 5].map(|depth| perft(&over, depth)), [1, 1, 1]);
    assert_eq!(perft_divide(&over, 3).count(), 0);

    // White's twelfth disc of this game forces Black to pass: a line of two plies ends before
    // White's next.
    let before = common::played(&common::rules("8x8"), "f5d6c4g5d7c7h5d8b8b7b6");
    let forcing = perft_divide(&before, 2).find(|(square, _)| *square == common::sq("a7"));
    assert_eq!(forcing.map(|(_, lines)| lines), Some(1));
}
