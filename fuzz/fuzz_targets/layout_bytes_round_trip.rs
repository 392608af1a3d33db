//! Bytes that decode are the only encoding of what they decode to.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reversi_rules::Layout;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(layout) = Layout::from_bytes(bytes) {
        assert_eq!(layout.to_bytes(), bytes);
    }
});
