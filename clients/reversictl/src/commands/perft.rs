//! Counts lines of play here, without a server: to compare rules and their speed.

use std::time::Instant;

use reversi_rules::{Position, Rules, perft, perft_divide};
use serde_json::json;

use crate::args;
use crate::errors::Failure;
use crate::output::Output;
use crate::random::Random;
use crate::rules_args::RulesArgs;

/// Counts to each depth, and says each count as it is known.
pub fn run(output: Output, command: &args::Perft) -> Result<(), Failure> {
    let rules = complete(&command.rules)?;
    let start = Position::start(&rules);
    if let Some(layout) = rules.layout() {
        let squares: Vec<_> = layout.squares().iter().map(ToString::to_string).collect();
        output.notice(&format!("blocked: {}", squares.join(" ")));
    }
    if command.divide {
        for (square, leaves) in perft_divide(&start, command.depth) {
            let value = json!({ "square": square.to_string(), "leaves": leaves.to_string() });
            output.value(&value, || format!("{square:<4} {leaves:>16}"))?;
        }
        return Ok(());
    }
    if !output.json {
        output.line("depth           leaves      seconds     leaves/s")?;
    }
    for depth in 1..=command.depth {
        let started = Instant::now();
        let leaves = perft(&start, depth);
        let seconds = started.elapsed().as_secs_f64();
        let speed = leaves as f64 / seconds.max(1e-9);
        let value = json!({
            "depth": depth,
            "leaves": leaves.to_string(),
            "seconds": seconds,
            "leavesPerSecond": speed,
        });
        output
            .value(&value, || format!("{depth:>5} {leaves:>16} {seconds:>12.3} {speed:>12.0}"))?;
    }
    Ok(())
}

/// The rules that the flags ask for, with a seed drawn here where one is needed.
fn complete(flags: &RulesArgs) -> Result<Rules, Failure> {
    if flags.layout.is_some() {
        return Err(Failure::Usage(
            "--layout is stored at a server, and perft asks none: give --blocked SQUARES, as \
             `reversictl layout get` shows them"
                .to_owned(),
        ));
    }
    let checked = flags.to_setup().check().map_err(|faults| {
        let lines = faults.iter().map(|fault| format!("\n  {}: {}", fault.field, fault.problem));
        Failure::Usage(format!("these rules do not combine{}", lines.collect::<String>()))
    })?;
    let layout = checked.draw(Random::fresh_seed());
    checked.complete(layout).map_err(|mismatch| Failure::Usage(mismatch.to_string()))
}
