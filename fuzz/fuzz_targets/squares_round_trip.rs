//! A text that reads as a square is written the same but for case.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reversi_rules::Square;

fuzz_target!(|text: &str| {
    if let Ok(square) = text.parse::<Square>() {
        assert_eq!(square.to_string(), text.to_ascii_lowercase());
        assert_eq!(Square::new(square.file(), square.rank()), Some(square));
    }
});
