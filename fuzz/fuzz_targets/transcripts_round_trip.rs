//! A transcript reads as it was written, and an error points at a byte where a square could begin.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reversi_rules::Transcript;

fuzz_target!(|text: &str| {
    match text.parse::<Transcript>() {
        Ok(transcript) => {
            let written = transcript.to_string();
            let blank = |one: &char| !one.is_whitespace();
            assert_eq!(written, text.chars().filter(blank).collect::<String>().to_lowercase());
            assert_eq!(written.parse(), Ok(transcript));
        }
        Err(error) => assert!(text.is_char_boundary(error.at) && error.at < text.len()),
    }
});
