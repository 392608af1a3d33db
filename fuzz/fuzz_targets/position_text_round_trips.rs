//! A position's text that is accepted is written back as it was claimed; another has faults.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reversi_fuzz::{Claims, rules};
use reversi_rules::PositionSetup;

fuzz_target!(|input: (Claims, &str)| {
    let Ok(claim) = input.1.parse::<PositionSetup>() else { return };
    assert_eq!(claim.to_string().parse().as_ref(), Ok(&claim));
    match claim.check(&rules(input.0)) {
        Ok(position) => assert_eq!(position.to_setup(), claim),
        Err(faults) => assert!((1..=24).contains(&faults.len())),
    }
});
