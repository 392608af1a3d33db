//! What holds in every game by any rules, played at random to its end.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

mod common;

use common::{Step, any_moves, any_rules, any_steps, pick};
use proptest::prelude::*;
use reversi_rules::{
    Board, Cell, Color, Opening, Played, Position, PositionSetup, Rules, Setup, Square, SquareSet,
};

/// Every square of the largest board.
fn everywhere() -> SquareSet {
    Board::B10x10.playable()
}

/// What one placement may have done.
fn check_played(before: &Position, played: &Played, after: &Position) {
    assert_eq!(Some(played.color), before.to_move());
    assert_eq!(Some(played.kind), before.move_kind());
    assert_eq!(played.flips, before.flips_of(played.square));
    for square in everywhere() {
        let (was, is) = (before.cell(square), after.cell(square));
        if square == played.square {
            assert_eq!((was, is), (Cell::Empty, Cell::Disc(played.color)));
        } else if played.flips.contains(square) {
            assert!(matches!(was, Cell::Disc(_) | Cell::Neutral));
            assert_ne!(was, is);
            assert_eq!(is, Cell::Disc(played.color));
        } else {
            assert_eq!(was, is, "{square} changed");
        }
    }
    let passes: Vec<Color> = played.passed.iter().collect();
    assert_eq!(passes.len(), played.passed.len());
    if passes.is_empty() {
        return;
    }
    assert!(!before.rules().multicolor() && after.outcome().is_none());
    assert_eq!(after.to_move(), Some(played.color));
    assert_eq!(passes.len(), 1);
    assert_ne!(passes[0], played.color);
}

/// What holds of any position.
fn check_position(position: &Position, placed: u32) {
    let rules = position.rules();
    let playable = rules.board().playable();
    let blocked = rules.layout().map_or(0, |layout| u32::from(layout.count()));
    let neutral = everywhere().iter().filter(|at| position.cell(*at) == Cell::Neutral).count();
    let discs: u32 = position.counts().iter().map(|(_, discs)| discs).sum();
    assert_eq!(discs + neutral as u32, position.occupied().len());
    assert_eq!(position.occupied().len() + position.empty().len() + blocked, playable.len());
    assert_eq!(position.ply(), placed);
    assert_eq!(position.to_move().is_none(), position.outcome().is_some());
    assert_eq!(position.to_move().is_none(), position.legal_moves().is_empty());

    for square in everywhere() {
        let mut after = position.clone();
        let result = after.play(square);
        assert_eq!(result.is_ok(), position.legal_moves().contains(square), "{square}");
        match result {
            Ok(played) => assert_eq!(played.square, square),
            Err(illegal) => {
                assert_eq!(illegal.square, square);
                assert_eq!(after, *position);
                assert!(position.flips_of(square).is_empty());
            }
        }
    }

    let bytes = position.to_bytes();
    assert!(bytes.len() <= 37);
    assert_eq!(Position::from_bytes(rules, &bytes).as_ref(), Ok(position));
    let text: PositionSetup = position.to_string().parse().unwrap();
    assert_eq!(text.check(rules).as_ref(), Ok(position));
}

/// Whether the side that is said to have won did, by counting again.
fn check_outcome(position: &Position) {
    let outcome = position.outcome().expect("the game is over");
    let left: Vec<Color> =
        position.rules().colors().filter(|color| !position.resigned().contains(*color)).collect();
    let better = |one: Color, other: Color| match position.rules().objective() {
        reversi_rules::Objective::MostDiscs => position.count(one) > position.count(other),
        reversi_rules::Objective::FewestDiscs => position.count(one) < position.count(other),
    };
    let beats_all = |one: &Color| {
        left.iter().all(|other| other == one || left.len() == 1 || better(*one, *other))
    };
    let winner: Vec<Color> = left.iter().copied().filter(beats_all).collect();
    assert_eq!(outcome.winners.iter().collect::<Vec<_>>(), winner);
    assert_eq!(outcome.draw, winner.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 48 } else { 1000 }))]

    #[test]
    fn every_move_keeps_the_rules_and_every_game_ends(rules in any_rules(), steps in any_steps()) {
        let mut position = Position::start(&rules);
        let mut placed = 0;
        check_position(&position, placed);
        for step in steps {
            let before = position.clone();
            match step {
                Step::Move(index) => {
                    let Some(square) = pick(&position, &index) else { break };
                    let played = position.play(square).unwrap();
                    placed += 1;
                    check_played(&before, &played, &position);
                }
                Step::Resign(color) => {
                    let goes_on = position.to_move().is_some();
                    let can = goes_on
                        && rules.color_set().contains(color)
                        && !position.resigned().contains(color);
                    prop_assert_eq!(position.resign(color).is_ok(), can);
                    prop_assert_eq!(position.board_text(), before.board_text());
                    if !can {
                        prop_assert_eq!(&position, &before);
                    } else if before.to_move() != Some(color) && position.to_move().is_some() {
                        prop_assert_eq!(position.to_move(), before.to_move());
                    }
                }
            }
            check_position(&position, placed);
        }
        prop_assert!(placed <= rules.board().playable().len());
        check_outcome(&position);
    }

    #[test]
    fn without_blocked_squares_a_multicolor_game_gives_everybody_the_same_placements(
        board in proptest::sample::select(&[Board::B8x8, Board::B10x10, Board::Octagon][..]),
        players in 2u32..=4,
        moves in any_moves(),
    ) {
        let setup = Setup { board, players, multicolor: true, ..Setup::default() };
        let rules = setup.check().unwrap().complete(None).unwrap();
        let mut position = Position::start(&rules);
        let mut placed = [0; 4];
        for index in &moves {
            let Some(square) = pick(&position, index) else { break };
            placed[usize::from(position.play(square).unwrap().color.number()) - 1] += 1;
        }
        let each = match board {
            Board::B8x8 => [30, 20, 15],
            Board::B10x10 => [48, 32, 24],
            _ => [42, 28, 21],
        }[players as usize - 2];
        prop_assert_eq!(&placed[..players as usize], &vec![each; players as usize]);
        prop_assert!(position.empty().is_empty());
    }

    #[test]
    fn mirrored_positions_have_mirrored_moves(
        rules in any_rules(),
        moves in any_moves(),
        // Before the first disc a claim can only be the start itself.
        mirrored_from in 1usize..70,
        symmetry in 1u8..8,
    ) {
        let mirror = |square: Square| mirrored(symmetry, rules.board(), square);
        let Some(mirrored_rules) = mirror_rules(&rules, mirror) else { return Ok(()) };
        let mut position = Position::start(&rules);
        let mut twin = None;
        for (ply, index) in moves.iter().enumerate() {
            if ply == mirrored_from {
                twin = Some(mirror_position(&position, &mirrored_rules, mirror));
            }
            let Some(square) = pick(&position, index) else { break };
            let legal = mirror_set(position.legal_moves(), mirror);
            let played = position.play(square).unwrap();
            if let Some(twin) = &mut twin {
                prop_assert_eq!(twin.legal_moves(), legal);
                let twin_played = twin.play(mirror(square)).unwrap();
                prop_assert_eq!(twin_played.flips, mirror_set(played.flips, mirror));
                prop_assert_eq!(twin_played.passed, played.passed);
                prop_assert_eq!(twin_played.kind, played.kind);
                prop_assert_eq!(twin.outcome(), position.outcome());
            }
        }
    }

    #[test]
    fn a_game_mirrored_from_its_start_is_the_mirrored_game(
        board in proptest::sample::select(&Board::ALL[..]),
        free in any::<bool>(),
        handicap in 0u32..=2,
        moves in any_moves(),
        other_diagonal in any::<bool>(),
    ) {
        // Both diagonals map the cross, the empty centre, and the first one or two corners onto
        // themselves.
        let handicap_corners = match (board.handicap_corners(), other_diagonal) {
            (None, _) => 0,
            (Some(_), true) if handicap == 1 => 0,
            (Some(_), _) => handicap,
        };
        let opening = Some(if free { Opening::Free } else { Opening::Cross });
        let setup = Setup { board, opening, handicap_corners, ..Setup::default() };
        let rules = setup.check().unwrap().complete(None).unwrap();
        let mirror = |square| mirrored(if other_diagonal { 7 } else { 4 }, board, square);
        let (mut position, mut twin) = (Position::start(&rules), Position::start(&rules));
        for index in &moves {
            let Some(square) = pick(&position, index) else { break };
            prop_assert_eq!(twin.legal_moves(), mirror_set(position.legal_moves(), mirror));
            position.play(square).unwrap();
            twin.play(mirror(square)).unwrap();
        }
        prop_assert_eq!(&mirror_position(&position, &rules, mirror), &twin);
        prop_assert_eq!(position.outcome(), twin.outcome());
    }
}

/// One of the eight symmetries of a board: bit 0 left and right, bit 1 top and bottom, bit 2 the
/// main diagonal.
fn mirrored(symmetry: u8, board: Board, square: Square) -> Square {
    let last = board.size() - 1;
    let (mut file, mut rank) = (square.file(), square.rank());
    if symmetry & 1 != 0 {
        file = last - file;
    }
    if symmetry & 2 != 0 {
        rank = last - rank;
    }
    if symmetry & 4 != 0 {
        (file, rank) = (rank, file);
    }
    Square::new(file, rank).unwrap()
}

fn mirror_set(set: SquareSet, mirror: impl Fn(Square) -> Square) -> SquareSet {
    set.iter().map(mirror).collect()
}

/// The rules with their blocked squares mirrored; none where the handicap corners have no mirror
/// image.
fn mirror_rules(rules: &Rules, mirror: impl Fn(Square) -> Square) -> Option<Rules> {
    let corners = rules.board().handicap_corners().into_iter().flatten();
    let corners: SquareSet = corners.take(rules.handicap_corners().into()).collect();
    if mirror_set(corners, &mirror) != corners {
        return None;
    }
    let mut setup = rules.to_setup();
    if let (Some(blocked), Some(layout)) = (&mut setup.blocked, rules.layout()) {
        blocked.count = None;
        blocked.seed = None;
        blocked.squares =
            layout.squares().iter().map(|square| mirror(*square).to_string()).collect();
    }
    Some(setup.check().unwrap().complete(None).unwrap())
}

fn mirror_position(
    position: &Position,
    rules: &Rules,
    mirror: impl Fn(Square) -> Square,
) -> Position {
    let size = rules.board().size();
    let mut grid = vec![vec![' '; size.into()]; size.into()];
    for rank in 0..size {
        for file in 0..size {
            let square = Square::new(file, rank).unwrap();
            let to = mirror(square);
            grid[usize::from(to.rank())][usize::from(to.file())] =
                position.cell(square).character();
        }
    }
    let rows: Vec<String> = grid.into_iter().map(String::from_iter).collect();
    PositionSetup { board: rows.join("/"), ..position.to_setup() }.check(rules).unwrap()
}
