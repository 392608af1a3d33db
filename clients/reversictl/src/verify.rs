//! Checks a game's record against the rules: whatever an event says beyond what was done must follow from what was done.
//!
//! Each event is rebuilt from its change and the replay so far, digest included, and compared with the record field by field;
//! so is, in the end, the game as it stands. What nothing else can prove is taken as told: when something
//! happened (as long as time does not go back), display names in the record (but the game must repeat them), labels and expiry.

use reversi_proto::{replay, v1};
use serde_json::{Value, json};

use crate::json;

/// Something in the record that does not follow from the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Of the event, or of the game as it stands.
    pub revision: u64,
    /// The contract's name of the field, such as `position.board`; that of the game begins with `game.`.
    pub field: String,
    /// What follows from the rules.
    pub expected: Value,
    /// What is told.
    pub found: Value,
}

/// A replay of a record.
#[derive(Debug)]
pub struct Replay {
    replay: replay::Replay,
    /// After a change that cannot be, nothing later can be judged.
    stopped: bool,
    faults: Vec<Fault>,
}

impl Replay {
    /// Begins before the creation.
    pub fn new(game_id: &str) -> Self {
        Self { replay: replay::Replay::new(game_id), stopped: false, faults: Vec::new() }
    }

    /// How many events were replayed, and what digest they have.
    pub fn version(&self) -> v1::Version {
        self.replay.standing().version.unwrap_or_default()
    }

    /// What does not hold so far.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Checks the next event.
    pub fn event(&mut self, found: &v1::GameEvent) {
        if self.stopped {
            return;
        }
        match self.replay.next(found) {
            Ok(expected) => {
                let revision = self.version().revision;
                self.compare(revision, "", &json::tree(&expected), &json::tree(found));
            }
            Err(problem) => {
                self.stopped = true;
                let revision = self.version().revision + 1;
                let found = format!("{problem}; later events are not checked");
                self.fault(
                    revision,
                    "change",
                    json!("a change that the rules allow"),
                    json!(found),
                );
            }
        }
    }

    /// Checks that the game as it stands is what the replay came to.
    pub fn finish(&mut self, found: &v1::Game) {
        if self.stopped {
            return;
        }
        let expected = v1::Game {
            expire_time: found.expire_time,
            labels: found.labels.clone(),
            ..self.replay.standing().clone()
        };
        let revision = self.version().revision;
        self.compare(revision, "game", &json::tree(&expected), &json::tree(found));
    }

    fn fault(&mut self, revision: u64, field: &str, expected: Value, found: Value) {
        self.faults.push(Fault { revision, field: field.to_owned(), expected, found });
    }

    /// Compares field by field; a list of other length, or of plain values, is one field.
    fn compare(&mut self, revision: u64, field: &str, expected: &Value, found: &Value) {
        match (expected, found) {
            (Value::Object(expected), Value::Object(found)) => {
                let missing = Value::Null;
                let more = found.keys().filter(|key| !expected.contains_key(*key));
                for key in expected.keys().chain(more) {
                    let inner =
                        if field.is_empty() { key.clone() } else { format!("{field}.{key}") };
                    let expected = expected.get(key).unwrap_or(&missing);
                    self.compare(revision, &inner, expected, found.get(key).unwrap_or(&missing));
                }
            }
            (Value::Array(one), Value::Array(other))
                if one.len() == other.len() && one.iter().all(Value::is_object) =>
            {
                for (index, (expected, found)) in one.iter().zip(other).enumerate() {
                    self.compare(revision, &format!("{field}[{index}]"), expected, found);
                }
            }
            _ if expected == found => {}
            _ => self.fault(revision, field, expected.clone(), found.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
