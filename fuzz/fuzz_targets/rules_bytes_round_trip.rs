//! Bytes that decode are the only encoding of what they decode to.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reversi_rules::Rules;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(rules) = Rules::from_bytes(bytes) {
        assert_eq!(rules.to_bytes(), bytes);
    }
});
