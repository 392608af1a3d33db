//! A setup is refused with every fault at once, and a sound one completes to rules that give it
//! back.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

mod common;

use common::any_rules;
use proptest::prelude::*;
use reversi_rules::{
    BlockedRequest, BlockedSetup, Board, DecodeError, Fault, Layout, LayoutMismatch, Objective,
    Opening, Rules, Setup,
};

fn faults(setup: &Setup) -> Vec<Fault> {
    let faults = setup.check().expect_err("faults");
    for fault in &faults {
        assert!(fault.problem.len() <= 110, "{fault}");
        assert!(fault.problem.chars().all(|one| (' '..='~').contains(&one)), "{fault:?}");
    }
    faults
}

fn fields(setup: &Setup) -> Vec<String> {
    faults(setup).into_iter().map(|fault| fault.field).collect()
}

fn blocked(blocked: BlockedSetup) -> Setup {
    Setup { blocked: Some(blocked), ..Setup::default() }
}

fn named(squares: &[&str]) -> BlockedSetup {
    let squares = squares.iter().map(ToString::to_string).collect();
    BlockedSetup { squares, ..BlockedSetup::default() }
}

#[test]
fn the_default_setup_is_the_plain_game() {
    let rules = Setup::default().check().unwrap().complete(None).unwrap();
    assert_eq!(rules, Rules::default());
    assert_eq!(rules.players(), 2);
    assert_eq!(rules.opening(), Some(Opening::Cross));
    assert!(!rules.multicolor());
}

#[test]
fn three_and_four_players_are_always_multicolor() {
    for players in [3, 4] {
        let setup = Setup { players, ..Setup::default() };
        let rules = setup.check().unwrap().complete(None).unwrap();
        assert!(rules.multicolor());
        assert_eq!(rules.to_setup(), Setup { multicolor: true, ..setup });
    }
}

#[test]
fn each_setting_that_cannot_be_combined_names_its_field() {
    for (setup, expected) in [
        (Setup { players: 1, ..Setup::default() }, "players"),
        (Setup { players: 5, ..Setup::default() }, "players"),
        (Setup { players: 3, board: Board::B6x6, ..Setup::default() }, "board"),
        (Setup { multicolor: true, board: Board::Cross, ..Setup::default() }, "board"),
        (Setup { players: 4, opening: Some(Opening::Cross), ..Setup::default() }, "opening"),
        (Setup { multicolor: true, opening: Some(Opening::Free), ..Setup::default() }, "opening"),
        (Setup { multicolor: true, handicap_corners: 1, ..Setup::default() }, "handicap_corners"),
        (Setup { handicap_corners: 5, ..Setup::default() }, "handicap_corners"),
        (
            Setup { board: Board::Octagon, handicap_corners: 1, ..Setup::default() },
            "handicap_corners",
        ),
        (
            Setup { board: Board::Cross, handicap_corners: 4, ..Setup::default() },
            "handicap_corners",
        ),
        (blocked(BlockedSetup::default()), "blocked_squares"),
        (blocked(BlockedSetup { count: Some(1), ..named(&["a1"]) }), "blocked_squares"),
        (
            blocked(BlockedSetup { layout_id: Some("x".into()), ..named(&["a1"]) }),
            "blocked_squares",
        ),
        (
            blocked(BlockedSetup { count: Some(0), ..BlockedSetup::default() }),
            "blocked_squares.count",
        ),
        (
            blocked(BlockedSetup { count: Some(5), seed: Some(1), ..BlockedSetup::default() }),
            "blocked_squares.count",
        ),
        (blocked(BlockedSetup { seed: Some(1), ..named(&["a1"]) }), "blocked_squares.seed"),
        (
            blocked(BlockedSetup { layout_id: Some(String::new()), ..BlockedSetup::default() }),
            "blocked_squares.layout_id",
        ),
        (
            blocked(BlockedSetup { layout_id: Some("x".repeat(65)), ..BlockedSetup::default() }),
            "blocked_squares.layout_id",
        ),
        (blocked(named(&["a1", "b1", "c1", "d1", "e1"])), "blocked_squares.squares"),
        (blocked(named(&["a1", "A1"])), "blocked_squares.squares[1]"),
        (blocked(named(&["a1", "z9"])), "blocked_squares.squares[1]"),
        (blocked(named(&["i1"])), "blocked_squares.squares[0]"),
        (blocked(named(&["c3"])), "blocked_squares.squares[0]"),
        (
            Setup { board: Board::Octagon, ..blocked(named(&["h2", "b1"])) },
            "blocked_squares.squares[1]",
        ),
        (
            Setup { handicap_corners: 2, ..blocked(named(&["h1", "h8"])) },
            "blocked_squares.squares[1]",
        ),
    ] {
        assert_eq!(fields(&setup), [expected], "{setup:?}");
    }
}

#[test]
fn every_fault_is_reported_at_once() {
    let setup = Setup {
        board: Board::Cross,
        players: 4,
        objective: Objective::FewestDiscs,
        opening: Some(Opening::Parallel),
        handicap_corners: 9,
        multicolor: false,
        blocked: Some(BlockedSetup { count: Some(9), ..named(&["d1", "a1", "e5", "d1", "??"]) }),
    };
    assert_eq!(
        fields(&setup),
        [
            "board",
            "opening",
            "handicap_corners",
            "handicap_corners",
            "blocked_squares",
            "blocked_squares.count",
            "blocked_squares.squares",
            "blocked_squares.squares[1]",
            "blocked_squares.squares[2]",
            "blocked_squares.squares[3]",
            "blocked_squares.squares[4]",
        ]
    );
}

#[test]
fn a_faulty_field_casts_no_shadow_on_sound_ones() {
    // Seven players may have meant two, on the 6x6 board with an opening and a handicap.
    let setup = Setup {
        board: Board::B6x6,
        players: 7,
        opening: Some(Opening::Free),
        handicap_corners: 1,
        ..Setup::default()
    };
    assert_eq!(fields(&setup), ["players"]);
    // A handicap that there cannot be takes no corner from the blocked squares.
    let setup = Setup { handicap_corners: 5, ..blocked(named(&["a1"])) };
    assert_eq!(fields(&setup), ["handicap_corners"]);
    // A seed alone is one fault, not two.
    let seed = BlockedSetup { seed: Some(3), ..BlockedSetup::default() };
    assert_eq!(fields(&blocked(seed)), ["blocked_squares.seed"]);
}

#[test]
fn a_free_corner_may_be_blocked_and_a_handicap_corner_may_not() {
    let setup = Setup { handicap_corners: 2, ..blocked(named(&["h1", "a8"])) };
    assert!(setup.check().is_ok());
    let setup = Setup { handicap_corners: 4, ..setup };
    assert_eq!(fields(&setup), ["blocked_squares.squares[0]", "blocked_squares.squares[1]"]);
}

#[test]
fn a_hostile_setup_gets_few_and_short_faults() {
    let text = "\u{202e}\n\"é".repeat(100);
    let faults = faults(&blocked(named(&vec![text.as_str(); 10_000])));
    assert_eq!(faults[0].field, "blocked_squares.squares");
    assert_eq!(faults[0].problem, "takes at most 4 squares, not 10000");
    assert_eq!(faults.len(), 9);
    assert!(faults[1].problem.starts_with("\"\\u{202e}\\n"), "{}", faults[1]);
}

#[test]
fn a_setup_says_what_it_still_needs() {
    let request = |setup: Setup| setup.check().unwrap().blocked().clone();
    assert_eq!(request(Setup::default()), BlockedRequest::None);
    let draw = BlockedSetup { count: Some(3), ..BlockedSetup::default() };
    assert_eq!(request(blocked(draw)), BlockedRequest::Draw { count: 3, seed: None });
    let stored = BlockedSetup { layout_id: Some("x".into()), ..BlockedSetup::default() };
    assert_eq!(request(blocked(stored)), BlockedRequest::Stored { layout_id: "x".into() });
    let layout = Layout::explicit(Board::B8x8, 0, &[common::sq("a1")]).unwrap();
    assert_eq!(request(blocked(named(&["A1"]))), BlockedRequest::Explicit(layout));
}

#[test]
fn a_draw_without_a_seed_takes_one_from_outside_and_a_seed_of_its_own_wins() {
    let draw = BlockedSetup { count: Some(3), ..BlockedSetup::default() };
    let checked = blocked(draw.clone()).check().unwrap();
    assert_eq!(checked.clone().complete(None), Err(LayoutMismatch::Missing));
    let named: Vec<_> = common::squares("a1b1c1").into_iter().collect();
    for wrong in [Layout::explicit(Board::B8x8, 0, &named), Layout::draw(Board::B8x8, 0, 2, 7)] {
        let wrong = wrong.unwrap();
        assert_eq!(checked.clone().complete(Some(wrong)), Err(LayoutMismatch::NotDrawn));
    }
    let layout = checked.draw(7);
    assert_eq!(layout.unwrap(), Layout::draw(Board::B8x8, 0, 3, 7).unwrap());
    assert_eq!(checked.complete(layout).unwrap().layout(), layout.as_ref());

    let seeded = blocked(BlockedSetup { seed: Some(9), ..draw }).check().unwrap();
    assert_eq!(seeded.draw(7).unwrap().seed(), Some(9));
    assert_eq!(seeded.complete(None).unwrap().layout().unwrap().seed(), Some(9));
    assert_eq!(Setup::default().check().unwrap().draw(7), None);
}

#[test]
fn a_stored_layout_must_be_of_this_board_and_handicap() {
    let stored = BlockedSetup { layout_id: Some("x".into()), ..BlockedSetup::default() };
    let checked = blocked(stored).check().unwrap();
    let complete = |layout| checked.clone().complete(layout).map(|rules| *rules.layout().unwrap());
    let layout = |board, handicap| Layout::draw(board, handicap, 2, 1).unwrap();
    assert_eq!(complete(None), Err(LayoutMismatch::Missing));
    assert_eq!(complete(Some(layout(Board::B6x6, 0))), Err(LayoutMismatch::Board(Board::B6x6)));
    assert_eq!(complete(Some(layout(Board::B8x8, 1))), Err(LayoutMismatch::Handicap(1)));
    let fitting = layout(Board::B8x8, 0);
    assert_eq!(complete(Some(fitting)), Ok(fitting));
}

#[test]
fn rules_bytes_stay_what_they_are_and_others_are_refused() {
    // Version, then 8x8, two players, most discs, cross, no handicap, not multicolor, nothing blocked.
    let plain = [1, 2, 2, 1, 1, 0, 0, 0];
    assert_eq!(Rules::default().to_bytes(), plain);
    // The same with one more thing left to a default, which has no bytes of its own.
    for (at, byte) in [(2, 0), (4, 0), (6, 1), (1, 0), (1, 6), (3, 3), (4, 4), (6, 2), (7, 3)] {
        let mut bytes = plain;
        bytes[at] = byte;
        assert!(Rules::from_bytes(&bytes).is_err(), "{byte} at {at}");
    }
    assert_eq!(Rules::from_bytes(&[1, 2, 3, 1, 0, 0, 0, 0]), Err(DecodeError::Malformed));
    let faulty = Rules::from_bytes(&[1, 1, 3, 1, 1, 2, 1, 0]);
    assert!(matches!(faulty, Err(DecodeError::Faults(faults)) if faults.len() == 3));
}

proptest! {
    #[test]
    fn rules_come_back_from_their_setup_and_their_bytes(rules in any_rules()) {
        prop_assert_eq!(rules.to_setup().check().unwrap().complete(None), Ok(rules));
        let bytes = rules.to_bytes();
        prop_assert!(bytes.len() <= 26);
        prop_assert_eq!(Rules::from_bytes(&bytes), Ok(rules));
        if let Some(layout) = rules.layout() {
            prop_assert_eq!(Layout::from_bytes(&layout.to_bytes()), Ok(*layout));
            prop_assert!(layout.to_bytes().len() <= 22);
        }
    }
}
