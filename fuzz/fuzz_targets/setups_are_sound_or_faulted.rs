//! A setup has few and short faults, or gives rules that give it back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reversi_fuzz::{Claims, setup};

fuzz_target!(|claims: Claims| {
    match setup(claims).check() {
        Ok(checked) => {
            let layout = checked.draw(7);
            if let Ok(rules) = checked.complete(layout) {
                let again = rules.to_setup().check().expect("a setup of rules is sound");
                assert_eq!(again.complete(None), Ok(rules));
            }
        }
        Err(faults) => {
            assert!((1..=24).contains(&faults.len()));
            for fault in faults {
                assert!(fault.problem.len() <= 110 && fault.problem.is_ascii(), "{fault}");
            }
        }
    }
});
