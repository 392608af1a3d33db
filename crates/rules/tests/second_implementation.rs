//! Random games of every kind are the same games on a plain second implementation of the rules.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

mod common;

use common::reference::Reference;
use common::{Step, any_rules, any_steps, pick};
use proptest::prelude::*;
use reversi_rules::{Color, MoveKind, Position, Square};

fn at(square: Square) -> (i32, i32) {
    (square.file().into(), square.rank().into())
}

fn sorted(mut squares: Vec<(i32, i32)>) -> Vec<(i32, i32)> {
    squares.sort_by_key(|(x, y)| (*y, *x));
    squares
}

fn check_same(position: &Position, reference: &Reference) {
    assert_eq!(position.board_text(), reference.board_text());
    assert_eq!(position.ply(), reference.ply);
    assert_eq!(position.to_move().map(Color::letter), reference.to_move);
    for color in position.rules().colors() {
        assert_eq!(position.count(color), reference.count(color.letter()));
    }
    match reference.to_move {
        Some(mover) => {
            let (kind, squares) = reference.options(mover);
            assert_eq!(position.move_kind().map(MoveKind::name), Some(kind));
            assert_eq!(position.legal_moves().iter().map(at).collect::<Vec<_>>(), squares);
        }
        None => {
            let outcome = position.outcome().expect("over here too");
            let winner = outcome.winners.iter().next().map(Color::letter);
            assert_eq!(winner, reference.winner());
            assert_eq!(outcome.draw, winner.is_none());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 200 } else { 5000 }))]

    #[test]
    fn every_game_is_the_same_game(rules in any_rules(), steps in any_steps()) {
        let mut position = Position::start(&rules);
        let mut reference = Reference::start(&rules);
        check_same(&position, &reference);
        for step in &steps {
            match step {
                Step::Move(index) => {
                    let Some(square) = pick(&position, index) else { break };
                    let played = position.play(square).unwrap();
                    let (flips, passed) = reference.play(at(square));
                    prop_assert_eq!(played.flips.iter().map(at).collect::<Vec<_>>(), sorted(flips));
                    let letters: Vec<char> = played.passed.iter().map(Color::letter).collect();
                    prop_assert_eq!(letters, passed);
                }
                Step::Resign(color) => {
                    if position.resign(*color).is_ok() {
                        reference.resign(color.letter());
                    }
                }
            }
            check_same(&position, &reference);
        }
        prop_assert!(position.outcome().is_some(), "120 steps end any game");
    }
}
