//! Verifies a game's record as its server tells it.

use reversi_proto::v1;
use serde_json::{Value, json};

use super::list::EventPages;
use super::show;
use crate::connect::Connection;
use crate::errors::Failure;
use crate::verify::{Fault, Replay};
use crate::{escape, words};

/// Reads the game, then its record up to there, and checks both.
///
/// # Errors
///
/// [`Failure::DoesNotHold`] once every fault is told.
pub async fn run(connection: &Connection, game_id: &str) -> Result<(), Failure> {
    // The game first: what is committed while its record is read is then simply beyond what is checked.
    let game = show::get(connection, game_id).await?.game.unwrap_or_default();
    let last = game.version.unwrap_or_default().revision;
    let mut replay = Replay::new(game_id);
    let mut pages = EventPages::new(connection, game_id, 0);
    let mut seen = 0;
    'pages: while let Some(events) = pages.next().await? {
        for event in &events {
            if seen == last {
                break 'pages;
            }
            seen += 1;
            replay.event(event);
        }
    }
    replay.finish(&game);
    tell(connection, &replay, seen)
}

fn tell(connection: &Connection, replay: &Replay, events: u64) -> Result<(), Failure> {
    let output = connection.output;
    let faults = replay.faults();
    for fault in faults {
        output.value(&json!({ "fault": fault_json(fault) }), || fault_text(fault))?;
    }
    let version = replay.version();
    output.value(&summary(version, events, faults.len()), || match faults.len() {
        0 => format!(
            "Verified {events} events: every digest, flip, pass and position, and the game as it stands, follow \
             from the rules.\n{}",
            words::version(version)
        ),
        1 => format!("1 fault in {events} events."),
        several => format!("{several} faults in {events} events."),
    })?;
    if faults.is_empty() { Ok(()) } else { Err(Failure::DoesNotHold) }
}

fn summary(version: v1::Version, events: u64, faults: usize) -> Value {
    json!({ "verified": {
        "events": events.to_string(),
        "version": {
            "revision": version.revision.to_string(),
            "digest": version.digest.to_string(),
        },
        "faults": faults,
    }})
}

fn fault_json(fault: &Fault) -> Value {
    json!({
        "revision": fault.revision.to_string(),
        "field": fault.field,
        "expected": fault.expected,
        "found": fault.found,
    })
}

fn fault_text(fault: &Fault) -> String {
    let plain = |value: &Value| match value {
        Value::String(text) => escape::text(text),
        Value::Null => "nothing".to_owned(),
        other => escape::json(&other.to_string()),
    };
    format!(
        "revision {}, {}: expected {}, found {}",
        fault.revision,
        escape::text(&fault.field),
        plain(&fault.expected),
        plain(&fault.found)
    )
}
