//! Bytes that decode are the only encoding of their position, and the game can be played to its end
//! from there.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reversi_fuzz::{Claims, rules};
use reversi_rules::Position;

fuzz_target!(|input: (Claims, &[u8])| {
    let (claims, bytes) = input;
    let Ok(mut position) = Position::from_bytes(&rules(claims), bytes) else { return };
    assert_eq!(position.to_bytes(), bytes);
    while let Some(square) = position.legal_moves().iter().next() {
        position.play(square).expect("a legal move is accepted");
    }
    assert!(position.outcome().is_some());
});
