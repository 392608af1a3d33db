//! Parsers and decoders take anything without a panic, and what they accept they write back as it
//! was.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

mod common;

use common::{Step, any_layout, any_rules, any_steps, pick};
use proptest::collection::vec;
use proptest::prelude::*;
use reversi_rules::{
    BlockedSetup, Board, Color, Layout, Position, PositionSetup, Rules, Setup, Square, Transcript,
};

/// Bytes like those of a value, with a few changed, cut or added.
fn nearly(bytes: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let len = bytes.len();
    let edits = vec((0..len, any::<u8>()), 0..3);
    (Just(bytes), edits, 0..=len + 2).prop_map(move |(mut bytes, edits, cut)| {
        for (at, byte) in edits {
            bytes[at] = byte;
        }
        bytes.resize(if cut + 2 < len { cut } else { len + usize::from(cut > len) }, 0);
        bytes
    })
}

fn any_position() -> impl Strategy<Value = Position> {
    (any_rules(), any_steps(), 0usize..110).prop_map(|(rules, steps, len)| {
        let mut position = Position::start(&rules);
        for step in &steps[..len] {
            match step {
                Step::Move(index) => {
                    let Some(square) = pick(&position, index) else { break };
                    position.play(square).unwrap();
                }
                Step::Resign(color) => drop(position.resign(*color)),
            }
        }
        position
    })
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-jA-J0-9 ]{0,12}",
        "[-BWRGN#_/]{0,80} [BWRGbx-] [0-9]{0,3} [BWRG-]{1,3}",
        any::<String>()
    ]
}

fn any_setup() -> impl Strategy<Value = Setup> {
    let blocked = (
        any::<Option<u32>>(),
        any::<Option<u64>>(),
        vec(any_text(), 0..7),
        any::<Option<String>>(),
    )
        .prop_map(|(count, seed, squares, layout_id)| BlockedSetup {
            count: count.map(|count| count % 7),
            seed,
            squares,
            layout_id,
        });
    (1u8..=5, 0u32..6, 1u8..=2, 0u8..=3, 0u32..6, any::<bool>(), proptest::option::of(blocked))
        .prop_map(|(board, players, objective, opening, handicap_corners, multicolor, blocked)| {
            Setup {
                board: Board::from_number(board).unwrap(),
                players,
                objective: reversi_rules::Objective::from_number(objective).unwrap(),
                opening: reversi_rules::Opening::from_number(opening),
                handicap_corners,
                multicolor,
                blocked,
            }
        })
}

fn check_rules(bytes: &[u8]) {
    if let Ok(rules) = Rules::from_bytes(bytes) {
        assert_eq!(rules.to_bytes(), bytes);
    }
}

fn check_layout(bytes: &[u8]) {
    if let Ok(layout) = Layout::from_bytes(bytes) {
        assert_eq!(layout.to_bytes(), bytes);
    }
}

fn check_position(rules: &Rules, bytes: &[u8]) {
    if let Ok(mut position) = Position::from_bytes(rules, bytes) {
        assert_eq!(position.to_bytes(), bytes);
        // Whatever was accepted can be played on.
        assert_eq!(position.outcome().is_none(), !position.legal_moves().is_empty());
        while let Some(square) = position.legal_moves().iter().next() {
            position.play(square).unwrap();
        }
        assert!(position.outcome().is_some());
    }
}

fn check_texts(rules: &Rules, text: &str) {
    if let Ok(square) = text.parse::<Square>() {
        assert_eq!(square.to_string(), text.to_ascii_lowercase());
    }
    match text.parse::<Transcript>() {
        Ok(transcript) => assert_eq!(transcript.to_string().parse(), Ok(transcript)),
        Err(error) => assert!(text.is_char_boundary(error.at) && error.at < text.len()),
    }
    if let Ok(setup) = text.parse::<PositionSetup>() {
        assert_eq!(setup.to_string().parse(), Ok(setup.clone()));
        match setup.check(rules) {
            Ok(position) => assert_eq!(position.to_setup(), setup),
            Err(faults) => check_faults(&faults),
        }
    }
}

fn check_faults(faults: &[reversi_rules::Fault]) {
    assert!(!faults.is_empty() && faults.len() <= 24, "{faults:?}");
    for fault in faults {
        assert!(!fault.field.is_empty() && fault.problem.len() <= 110, "{fault}");
        assert!(fault.problem.chars().all(|one| (' '..='~').contains(&one)), "{fault:?}");
    }
}

const CASES: u32 = if cfg!(debug_assertions) { 500 } else { 20_000 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn arbitrary_bytes_decode_to_what_encodes_to_them(
        rules in any_rules(),
        bytes in vec(any::<u8>(), 0..50),
    ) {
        check_rules(&bytes);
        check_layout(&bytes);
        check_position(&rules, &bytes);
    }

    #[test]
    fn bytes_that_nearly_are_a_value_decode_to_what_encodes_to_them(
        rules in any_rules().prop_flat_map(|rules| nearly(rules.to_bytes())),
        layout in any_layout().prop_flat_map(|layout| nearly(layout.to_bytes())),
        (position_rules, position) in any_position().prop_flat_map(|position| {
            (Just(*position.rules()), nearly(position.to_bytes()))
        }),
    ) {
        check_rules(&rules);
        check_layout(&layout);
        check_position(&position_rules, &position);
    }

    #[test]
    fn arbitrary_text_parses_to_what_writes_it(rules in any_rules(), text in any_text()) {
        check_texts(&rules, &text);
    }

    #[test]
    fn text_that_nearly_is_a_position_parses_to_what_writes_it(
        (rules, text) in any_position().prop_flat_map(|position| {
            (Just(*position.rules()), nearly(position.to_string().into_bytes()))
        }),
    ) {
        check_texts(&rules, &String::from_utf8_lossy(&text));
    }

    #[test]
    fn a_setup_is_sound_or_has_faults(setup in any_setup(), seed in any::<u64>()) {
        match setup.check() {
            Err(faults) => check_faults(&faults),
            Ok(checked) => {
                let layout = checked.draw(seed);
                if let Ok(rules) = checked.complete(layout) {
                    prop_assert_eq!(rules.to_setup().check().unwrap().complete(None), Ok(rules));
                    prop_assert_eq!(Rules::from_bytes(&rules.to_bytes()), Ok(rules));
                    prop_assert_eq!(Position::start(&rules).to_move(), Some(Color::Black));
                }
            }
        }
    }
}
