//! Known games end as they are known to end: every row of the project's vectors.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

mod common;

use reversi_rules::{Color, Position, Reason, Transcript};

#[test]
fn every_known_game_replays_with_its_passes_its_end_and_its_result() {
    let mut rows = 0;
    for row in common::rows(include_str!("data/games.tsv")) {
        let [board, what, moves, passes, last, counts, result] = row[..] else {
            panic!("seven columns in {row:?}")
        };
        let transcript: Transcript = moves.parse().unwrap();
        assert_eq!(transcript.to_string(), moves, "{what}");

        let mut position = Position::start(&common::rules(board));
        let mut passed = Vec::new();
        for (ply, square) in (1..).zip(&transcript.0) {
            assert!(position.outcome().is_none(), "{what}: over before ply {ply}");
            let played = position.play(*square).unwrap();
            assert_eq!(position.ply(), ply, "{what}");
            passed.extend(played.passed.iter().map(|color| format!("{ply}:{}", color.letter())));
        }
        let passed = if passed.is_empty() { "none".into() } else { passed.join(" ") };
        assert_eq!(passed, passes, "{what}");
        assert_eq!(position.board_text(), last, "{what}");
        assert!(position.legal_moves().is_empty() && position.move_kind().is_none(), "{what}");

        let outcome = position.outcome().expect(what);
        let [black, white] = [Color::Black, Color::White].map(|color| outcome.counts.of(color));
        assert_eq!(format!("{black} {white}"), counts, "{what}");
        assert_eq!(outcome.reason, Reason::NoMoves, "{what}");
        let winner = outcome.winners.iter().next().map(Color::letter);
        assert_eq!(winner.map_or("draw".into(), String::from), result, "{what}");
        assert_eq!(outcome.draw, winner.is_none(), "{what}");
        rows += 1;
    }
    assert_eq!(rows, 7);
}
