//! What a run tells: progress while it lasts, and in the end what happened, how often, and what must not have.

use std::time::Instant;

use crate::{
    plan::{Fault, Kind},
    table::LOST,
    world::World,
};

/// What must have happened beside the faults, as it is counted.
const COUNTED: [&str; 6] = [
    "calls cancelled",
    "calls repeated with the outcome unknown",
    "done calls repeated",
    "races for a move",
    "watches resumed",
    "moves",
];

/// A line on how far it has come.
pub fn progress(world: &World) {
    println!(
        "{:>5} s: {} games, {} calls, {} watch messages, {} resumes, {} violations",
        world.begun.elapsed().as_secs(),
        world.counted("games"),
        world.counted("calls"),
        world.counted("watch messages"),
        world.counted("watches resumed"),
        world.violations().len(),
    );
}

/// A line on a fault that is over, which is counted.
pub fn fault(world: &World, fault: Fault, begun: Instant) {
    world.count(fault.kind.name());
    println!(
        "{:>7.1} s: {}, {:.1} s",
        (begun - world.begun).as_secs_f64(),
        fault.kind.name(),
        begun.elapsed().as_secs_f64(),
    );
}

/// Everything that was counted; answers the exit code. `must_lose` says whether something had to be lost.
pub fn tell(world: &World, kinds: &[Kind], must_lose: bool, seed: u64) -> u8 {
    println!("\nfaults");
    for kind in kinds {
        println!("{:>9}  {}", world.counted(kind.name()), kind.name());
    }
    println!("\nbeside them");
    for (what, count) in world.counts() {
        if !kinds.iter().any(|kind| kind.name() == what) {
            println!("{count:>9}  {what}");
        }
    }
    let violations = world.violations();
    let names = kinds.iter().map(|kind| kind.name());
    let due = names.chain(COUNTED).chain(must_lose.then_some(LOST));
    let missing: Vec<_> = due.filter(|name| world.counted(name) == 0).collect();
    println!("\n{} violations, seed {seed}", violations.len());
    for violation in violations.iter().take(10) {
        println!("VIOLATION {violation}");
    }
    if !violations.is_empty() {
        crate::VIOLATED
    } else if !missing.is_empty() {
        println!("did not happen: {}", missing.join(", "));
        crate::FAILED
    } else {
        0
    }
}
