//! Blocked squares follow from the seed for ever: every row of the project's vectors, and what
//! layouts promise.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

mod common;

use std::collections::HashMap;

use reversi_rules::{Board, DecodeError, Layout};

#[test]
fn every_seed_draws_its_known_squares() {
    let mut rows = 0;
    let mut ids = HashMap::new();
    for row in common::rows(include_str!("data/layouts.tsv")) {
        let [board, handicap, count, seed, squares] = row[..] else {
            panic!("five columns in {row:?}")
        };
        let board: Board = board.parse().unwrap();
        let (handicap, count) = (handicap.parse().unwrap(), count.parse().unwrap());
        let layout = Layout::draw(board, handicap, count, seed.parse().unwrap()).unwrap();
        let drawn: Vec<String> = layout.squares().iter().map(ToString::to_string).collect();
        assert_eq!(drawn.join(" "), squares, "{row:?}");
        assert_eq!(Layout::from_bytes(&layout.to_bytes()), Ok(layout), "{row:?}");
        assert_eq!(ids.insert(layout.id(), layout), None, "{row:?} shares its id");
        rows += 1;
    }
    assert_eq!(rows, 544);
}

/// Computed with Python's hashlib from the documented bytes.
#[test]
fn ids_stay_what_they_are() {
    let drawn = Layout::draw(Board::B8x8, 1, 4, 2026).unwrap();
    let bytes = "0102010201000000000000 07ea".replace(' ', "");
    assert_eq!(hex(&drawn.to_bytes()[..13]), bytes);
    assert_eq!(drawn.id(), "0dc15f040a3eb13777f25449f48d29fd");
    let squares: Vec<_> = common::squares("d2 a8").into_iter().collect();
    let explicit = Layout::explicit(Board::B8x8, 0, &squares).unwrap();
    assert_eq!(hex(&explicit.to_bytes()), "01020001020301 0007".replace(' ', ""));
    assert_eq!(explicit.id(), "d05dd568cd1f23980fb054f330627b3d");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_draw_out_of_range_names_every_fault() {
    let fields = |faults: Vec<reversi_rules::Fault>| -> Vec<String> {
        faults.into_iter().map(|fault| fault.field).collect()
    };
    assert_eq!(fields(Layout::check_draw(Board::B8x8, 4, 4)), [""; 0]);
    assert_eq!(fields(Layout::check_draw(Board::B8x8, 5, 0)), ["handicap_corners", "count"]);
    assert_eq!(fields(Layout::check_draw(Board::Octagon, 1, 5)), ["handicap_corners", "count"]);
    assert_eq!(fields(Layout::draw(Board::Cross, 0, 5, 1).unwrap_err()), ["count"]);
}

#[test]
fn an_explicit_layout_is_sorted_and_faulted_square_by_square() {
    let square = common::sq;
    let layout = Layout::explicit(Board::B8x8, 0, &[square("h8"), square("a8"), square("a1")]);
    let names: Vec<String> = layout.unwrap().squares().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["a1", "a8", "h8"]);

    let faults = Layout::explicit(
        Board::B8x8,
        2,
        &[square("j1"), square("c3"), square("h8"), square("b2"), square("b2")],
    );
    let fields: Vec<String> = faults.unwrap_err().into_iter().map(|fault| fault.field).collect();
    assert_eq!(fields, ["squares", "squares[0]", "squares[1]", "squares[2]", "squares[4]"]);
    assert!(Layout::explicit(Board::B8x8, 0, &[]).is_err());
}

#[test]
fn a_drawn_layout_with_other_squares_than_its_seed_draws_is_refused() {
    let layout = Layout::draw(Board::B8x8, 0, 1, 7).unwrap();
    let mut bytes = layout.to_bytes();
    *bytes.last_mut().unwrap() ^= 1;
    assert_eq!(Layout::from_bytes(&bytes), Err(DecodeError::Malformed));
    bytes[0] = 2;
    assert_eq!(Layout::from_bytes(&bytes), Err(DecodeError::Version(2)));
}
