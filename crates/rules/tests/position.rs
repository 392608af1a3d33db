//! Turns, passes, ends and resignations, where Reversi programs fail; and claims of positions,
//! which name their faults.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

mod common;

use common::{played, rules, sq, squares};
use reversi_rules::{
    Cell, Color, DecodeError, IllegalResignation, MoveKind, Position, PositionSetup, Reason, Rules,
    Square, Why,
};

/// The position of a text, which is sound by the rules.
fn position(rules: &Rules, text: &str) -> Position {
    text.parse::<PositionSetup>().unwrap().check(rules).unwrap()
}

fn fields(rules: &Rules, text: &str) -> Vec<String> {
    let faults = text.parse::<PositionSetup>().unwrap().check(rules).expect_err("faults");
    faults.into_iter().map(|fault| fault.field).collect()
}

fn why(position: &Position, square: &str) -> Option<Why> {
    position.clone().play(sq(square)).err().map(|illegal| illegal.why)
}

#[test]
fn games_start_as_the_rules_say() {
    for (settings, text) in [
        ("8x8", "--------/--------/--------/---WB---/---BW---/--------/--------/-------- B 0 -"),
        ("6x6 parallel", "------/------/--BB--/--WW--/------/------ B 0 -"),
        ("6x6 free handicap=4 blocked=a2", "B----B/#-----/------/------/------/B----B B 0 -"),
        ("6x6 handicap=3", "B----B/------/--WB--/--BW--/------/-----B B 0 -"),
        (
            "8x8 multicolor",
            "--------/--------/--------/---BW---/---NN---/--------/--------/-------- B 0 -",
        ),
        (
            "8x8 players=3",
            "--------/--------/--------/---BW---/---NR---/--------/--------/-------- B 0 -",
        ),
        (
            "octagon players=4 blocked=c1",
            "__#-----__/_--------_/----------/----------/----BW----/----GR----/----------/\
             ----------/_--------_/__------__ B 0 -",
        ),
        (
            "cross-board",
            "___----___/___----___/___----___/----------/----WB----/----BW----/----------/\
             ___----___/___----___/___----___ B 0 -",
        ),
    ] {
        assert_eq!(Position::start(&rules(settings)).to_string(), text, "{settings}");
    }
}

#[test]
fn an_illegal_move_says_why() {
    let start = Position::start(&rules("8x8 blocked=a1"));
    for (square, expected) in [
        ("i1", Some(Why::Outside)),
        ("a1", Some(Why::Blocked)),
        ("d4", Some(Why::Occupied)),
        ("h8", Some(Why::FlipsNothing)),
        ("d3", None),
    ] {
        assert_eq!(why(&start, square), expected, "{square}");
    }
    let free = Position::start(&rules("8x8 free handicap=1"));
    assert_eq!(why(&free, "d3"), Some(Why::NotCentre));
    assert_eq!(why(&free, "a1"), Some(Why::Occupied));
    let over = played(&rules("8x8"), "e6f4e3f6g5d6e7f5c5");
    assert_eq!(why(&over, "a1"), Some(Why::GameOver));
}

#[test]
fn a_free_opening_fills_the_centre_in_turn_and_flips_nothing() {
    let mut game = Position::start(&rules("8x8 free handicap=2"));
    let centre = squares("d4e4d5e5");
    for (ply, square) in ["d4", "e5", "d5", "e4"].into_iter().enumerate() {
        assert_eq!(game.move_kind(), Some(MoveKind::Opening));
        assert_eq!(game.legal_moves(), centre & game.empty());
        assert_eq!(game.to_move(), Some([Color::Black, Color::White][ply % 2]));
        let played = game.play(sq(square)).unwrap();
        assert!(played.flips.is_empty() && played.passed.is_empty());
    }
    assert_eq!(game.move_kind(), Some(MoveKind::Flip));
    assert_eq!(game.to_move(), Some(Color::Black));
    assert_eq!(game.ply(), 4);
}

#[test]
fn a_multicolor_player_who_cannot_flip_places_next_to_any_disc() {
    // Green's first move on 8x8 with four players can be without a flip; find such a moment by
    // play.
    let mut game = Position::start(&rules("8x8 players=4"));
    while game.move_kind() == Some(MoveKind::Flip) {
        let square = game.legal_moves().iter().next().unwrap();
        game.play(square).unwrap();
    }
    assert_eq!(game.move_kind(), Some(MoveKind::Adjacent));
    let touching = |square: &Square| {
        let near = |a: u8, b: u8| a.abs_diff(b) <= 1;
        game.occupied()
            .iter()
            .any(|disc| near(disc.file(), square.file()) && near(disc.rank(), square.rank()))
    };
    let expected: Vec<Square> = game.empty().iter().filter(touching).collect();
    assert_eq!(game.legal_moves().iter().collect::<Vec<_>>(), expected);
    let far = game.empty().iter().find(|square| !touching(square)).unwrap();
    assert_eq!(why(&game, &far.to_string()), Some(Why::NotAdjacent));
    let before = game.clone();
    let played = game.play(expected[0]).unwrap();
    assert!(played.flips.is_empty() && played.kind == MoveKind::Adjacent);
    assert_eq!(game.occupied().len(), before.occupied().len() + 1);
}

#[test]
fn one_side_stuck_is_not_the_end() {
    // After White's twelfth disc Black cannot move, White can: Black passes and the game goes on.
    let mut game = played(&rules("8x8"), "f5d6c4g5d7c7h5d8b8b7b6");
    let played = game.play(sq("a7")).unwrap();
    assert_eq!(played.passed.iter().collect::<Vec<_>>(), [Color::Black]);
    assert_eq!(game.to_move(), Some(Color::White));
    assert!(game.outcome().is_none());
}

#[test]
fn both_sides_stuck_end_the_game_with_squares_empty_and_nobody_passes() {
    let rules = rules("8x8");
    let mut game = played(&rules, "e6f4e3f6g5d6e7f5");
    let played = game.play(sq("c5")).unwrap();
    assert!(played.passed.is_empty());
    let outcome = game.outcome().unwrap();
    assert_eq!(outcome.reason, Reason::NoMoves);
    assert_eq!(outcome.winners.iter().collect::<Vec<_>>(), [Color::Black]);
    assert_eq!(outcome.counts.of(Color::White), 0);
    assert!(!game.empty().is_empty());
}

#[test]
fn the_wiped_out_side_wins_when_fewest_discs_win() {
    let game = played(&rules("8x8 fewest-discs"), "e6f4e3f6g5d6e7f5c5");
    assert_eq!(game.outcome().unwrap().winners.iter().collect::<Vec<_>>(), [Color::White]);
}

#[test]
fn blocked_squares_can_end_the_game_with_empty_squares_that_nobody_may_play() {
    // Only a1 is empty; blocked squares cut off its row and its file, and its diagonal is white to
    // the end.
    let rules = rules("6x6 blocked=b1,a2");
    let over = position(&rules, "-#BBBB/#WBBBB/WWWWWW/WWWWWW/WWWWWW/WWWWWW - 29 -");
    assert_eq!(over.empty(), squares("a1"));
    assert_eq!(over.outcome().unwrap().winners.iter().collect::<Vec<_>>(), [Color::White]);
    assert_eq!(over.cell(sq("b1")), Cell::Blocked);
}

#[test]
fn a_two_player_game_is_resigned_in_or_out_of_turn() {
    for settings in ["8x8", "8x8 free", "8x8 multicolor", "8x8 fewest-discs"] {
        for color in [Color::Black, Color::White] {
            let rules = rules(settings);
            let mut game = Position::start(&rules);
            game.resign(color).unwrap();
            let outcome = game.outcome().unwrap();
            assert!(!outcome.winners.contains(color) && outcome.winners.len() == 1);
            assert_eq!((outcome.reason, outcome.draw), (Reason::Resignation, false));
            assert_eq!(game.to_move(), None);
            assert!(game.legal_moves().is_empty());
            assert_eq!(game.resign(color), Err(IllegalResignation::GameOver));
            assert_eq!(game.resign(Color::Red), Err(IllegalResignation::NoSuchColor));
            assert_eq!(position(&rules, &game.to_string()), game);
        }
    }
}

#[test]
fn the_winner_by_resignation_need_not_have_a_move() {
    // Black is stuck and White to move, who resigns.
    let rules = rules("8x8");
    let mut game = played(&rules, "f5d6c4g5d7c7h5d8b8b7b6a7");
    game.resign(Color::White).unwrap();
    assert_eq!(game.outcome().unwrap().winners.iter().collect::<Vec<_>>(), [Color::Black]);
    assert_eq!(position(&rules, &game.to_string()), game);
    assert_eq!(Position::from_bytes(&rules, &game.to_bytes()), Ok(game));
}

#[test]
fn of_several_who_resign_the_turn_skips_them_and_the_last_one_wins() {
    let mut game = Position::start(&rules("8x8 players=4"));
    game.resign(Color::White).unwrap();
    assert_eq!(game.to_move(), Some(Color::Black), "out of turn the turn stays");
    let first = game.legal_moves().iter().next().unwrap();
    assert!(game.play(first).unwrap().passed.is_empty(), "a skip is no pass");
    assert_eq!(game.to_move(), Some(Color::Red));
    game.resign(Color::Red).unwrap();
    assert_eq!(game.to_move(), Some(Color::Green), "in turn the next player left moves");
    assert_eq!(game.resign(Color::Red), Err(IllegalResignation::Resigned));
    assert!(game.outcome().is_none());
    game.resign(Color::Black).unwrap();
    let outcome = game.outcome().unwrap();
    assert_eq!(outcome.winners.iter().collect::<Vec<_>>(), [Color::Green]);
    assert_eq!(outcome.reason, Reason::Resignation);
    assert_eq!(outcome.counts.iter().count(), 4, "everybody is counted");
}

#[test]
fn a_tie_for_the_best_draws_for_the_whole_table_but_not_for_who_resigned() {
    let rules = rules("8x8 players=3");
    let row = |letters: &str| letters.repeat(8 / letters.len());
    let board = |rows: [&str; 8]| rows.map(row).join("/");
    let text = |board: &str, resigned: &str| format!("{board} - 60 {resigned}");
    let outcome = |board: &str, resigned: &str| position(&rules, &text(board, resigned)).outcome();

    // 24 black, 24 white, 16 red: a draw, red included.
    let tied = board(["B", "B", "B", "W", "W", "W", "R", "R"]);
    let drawn = outcome(&tied, "-").unwrap();
    assert!(drawn.draw && drawn.winners.is_empty());
    assert_eq!(drawn.reason, Reason::NoMoves);
    // Red has resigned: still a draw of the two left.
    assert!(outcome(&tied, "R").unwrap().draw);
    // White has resigned: black is better than red, and white's 24 do not count.
    let won = outcome(&tied, "W").unwrap();
    assert_eq!((won.winners.iter().collect::<Vec<_>>(), won.draw), (vec![Color::Black], false));
    assert_eq!(won.counts.of(Color::White), 24);
    // A tie below the best is no draw.
    let below = board(["B", "B", "B", "B", "W", "W", "R", "R"]);
    assert_eq!(outcome(&below, "-").unwrap().winners.iter().collect::<Vec<_>>(), [Color::Black]);
}

#[test]
fn a_claim_names_every_fault() {
    let plain = rules("8x8");
    let start = "--------/--------/--------/---WB---/---BW---/--------/--------/--------";
    for (text, expected) in [
        (format!("{start} W 0 -"), vec!["to_move"]),
        (format!("{start} - 0 -"), vec!["to_move"]),
        (format!("{start} R 0 -"), vec!["to_move"]),
        (format!("{start} B 1 -"), vec!["ply"]),
        (format!("{start} - 3 RG"), vec!["resigned", "resigned", "to_move", "ply"]),
        (format!("{start} B 0 W"), vec!["to_move"]),
        (format!("{start} - 0 BW"), vec!["resigned"]),
        ("--------/--------".into(), vec!["board"]),
        (start.replace("WB", "--"), vec!["board", "board"]),
        (start.replace("WB", "BW"), vec!["board"]),
        (start.replace("WB", "RN"), vec!["board", "board"]),
        (start.replace("WB", "#_"), vec!["board", "board"]),
        (start.replace("WB", "w?"), vec!["board", "board"]),
        (start.replace("WB", "WBB"), vec!["board"]),
        (start.replace('-', "x"), vec!["board"; 8]),
    ] {
        let text = if text.contains(' ') { text } else { format!("{text} B 0 -") };
        assert_eq!(fields(&plain, &text), expected, "{text}");
    }
    let free = rules("8x8 free");
    let with = |centre: &str, row: &str| {
        format!("--------/--------/{row}/---{centre}---/--------/--------/--------/--------")
    };
    for (text, expected) in [
        (with("BW", "--------") + " B 2 -", vec![]),
        (with("BW", "--------") + " W 2 -", vec!["to_move"]),
        (with("WW", "--------") + " B 2 -", vec!["board"]),
        (with("BW", "---B----") + " W 3 -", vec!["board"]),
        (start.to_owned() + " B 4 -", vec![]),
        (start.to_owned() + " W 4 -", vec!["to_move"]),
    ] {
        let claim: PositionSetup = text.parse().unwrap();
        let faults = claim.check(&free).err().unwrap_or_default();
        let found: Vec<String> = faults.into_iter().map(|fault| fault.field).collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn a_claim_that_no_turn_order_explains_is_refused() {
    let rules = rules("8x8 players=4");
    let mut game = Position::start(&rules);
    game.play(game.legal_moves().iter().next().unwrap()).unwrap();
    assert_eq!(game.to_move(), Some(Color::White));
    for color in [Color::Black, Color::Red, Color::Green] {
        let claim = PositionSetup { to_move: Some(color), ..game.to_setup() };
        assert_eq!(claim.check(&rules).unwrap_err()[0].field, "to_move");
    }
    // Once somebody has resigned, the turn says nothing about the number of discs.
    game.resign(Color::White).unwrap();
    assert_eq!(position(&rules, &game.to_string()), game);
    let mut fresh = Position::start(&rules);
    fresh.resign(Color::Black).unwrap();
    assert_eq!(fresh.to_string().split(' ').nth(1), Some("W"));
    assert_eq!(Position::from_bytes(&rules, &fresh.to_bytes()), Ok(fresh));
}

#[test]
fn a_claim_that_somebody_resigned_after_the_end_is_refused() {
    let rules = rules("8x8");
    let over = played(&rules, "e6f4e3f6g5d6e7f5c5");
    let resigned = [Color::White].into_iter().collect();
    let claim = PositionSetup { resigned, ..over.to_setup() };
    assert_eq!(claim.check(&rules).unwrap_err()[0].field, "resigned");
}

#[test]
fn a_claim_that_a_stuck_colour_is_to_move_is_refused() {
    let rules = rules("8x8");
    let game = played(&rules, "f5d6c4g5d7c7h5d8b8b7b6a7");
    let claim = PositionSetup { to_move: Some(Color::Black), ..game.to_setup() };
    assert_eq!(claim.check(&rules).unwrap_err()[0].field, "to_move");
}

#[test]
fn position_text_is_read_relaxed_and_refused_part_by_part() {
    use reversi_rules::ParsePositionError::{Parts, Ply, Resigned, ToMove};
    let relaxed: PositionSetup = "  -/-  b  7\tgR ".parse().unwrap();
    assert_eq!(relaxed.to_string(), "-/- B 7 RG");
    for (text, expected) in [
        ("", Parts),
        ("- B 0", Parts),
        ("- B 0 - -", Parts),
        ("- BW 0 -", ToMove),
        ("- X 0 -", ToMove),
        ("- B x -", Ply),
        ("- B 4294967296 -", Ply),
        ("- B 0 N", Resigned),
        ("- B 0 WW", Resigned),
    ] {
        assert_eq!(text.parse::<PositionSetup>(), Err(expected), "{text:?}");
    }
}

#[test]
fn position_bytes_stay_what_they_are_and_others_are_refused() {
    let rules = rules("6x6");
    let start = Position::start(&rules);
    // Version, black to move, nobody resigned; then in base six the row with white and black at c3
    // and d3, and so on.
    let bytes = [1, 1, 0, 0, 0, 0, 0, 2, 36, 1, 72, 0, 0, 0, 0];
    assert_eq!(start.to_bytes(), bytes);
    let decoded = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = bytes.to_vec();
        change(&mut bytes);
        Position::from_bytes(&rules, &bytes)
    };
    assert_eq!(decoded(&|_| {}), Ok(start));
    assert_eq!(decoded(&|bytes| bytes.clear()), Err(DecodeError::Malformed));
    assert_eq!(decoded(&|bytes| bytes[0] = 9), Err(DecodeError::Version(9)));
    assert_eq!(decoded(&|bytes| bytes[1] = 5), Err(DecodeError::Malformed));
    assert_eq!(decoded(&|bytes| bytes[2] = 16), Err(DecodeError::Malformed));
    assert_eq!(decoded(&|bytes| bytes[3] = 216), Err(DecodeError::Malformed));
    assert_eq!(decoded(&|bytes| bytes.push(0)), Err(DecodeError::Malformed));
    assert_eq!(
        decoded(&|bytes| {
            bytes.pop();
        }),
        Err(DecodeError::Malformed)
    );
    let blocked = common::rules("6x6 blocked=a1");
    let on_blocked = [1, 1, 0, 36, 0, 0, 0, 2, 36, 1, 72, 0, 0, 0, 0];
    assert_eq!(Position::from_bytes(&blocked, &on_blocked), Err(DecodeError::Malformed));
    assert!(matches!(decoded(&|bytes| bytes[7] = 0), Err(DecodeError::Faults(_))));
    assert!(matches!(decoded(&|bytes| bytes[1] = 0), Err(DecodeError::Faults(_))));
}
