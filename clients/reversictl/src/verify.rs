//! Checks a game's record against the rules: whatever an event says beyond what was done must follow from what was done.
//!
//! Each event is rebuilt from its change and the replay so far, digest included, and compared with the record field by field;
//! so is, in the end, the game as it stands. What nothing else can prove is taken as told: when something
//! happened (as long as time does not go back), display names in the record (but the game must repeat them), labels and expiry.

use reversi_proto::v1;
use reversi_proto::v1::game_event::Change as WireChange;
use reversi_proto::{convert, to_wire};
use reversi_rules::{Applied, Game};
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
    game_id: String,
    /// As far as the replay has come; none before the creation.
    game: Option<Game>,
    /// The same as the contract shows it.
    standing: v1::Game,
    /// After a change that cannot be, nothing later can be judged.
    stopped: bool,
    faults: Vec<Fault>,
}

impl Replay {
    /// Begins before the creation.
    pub fn new(game_id: &str) -> Self {
        Self {
            game_id: game_id.to_owned(),
            game: None,
            standing: v1::Game { game_id: game_id.to_owned(), ..Default::default() },
            stopped: false,
            faults: Vec::new(),
        }
    }

    /// How many events were replayed, and what digest they have.
    pub fn version(&self) -> v1::Version {
        self.standing.version.unwrap_or_default()
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
        match self.expect(found) {
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
            ..self.standing.clone()
        };
        let revision = self.version().revision;
        self.compare(revision, "game", &json::tree(&expected), &json::tree(found));
    }

    /// Replays the event's change, and builds the event that tells it.
    fn expect(&mut self, found: &v1::GameEvent) -> Result<v1::GameEvent, String> {
        let wire = found.change.as_ref().ok_or("no change that is known here")?;
        let change = convert::change(found)?;
        let (game, applied) = match self.game.take() {
            None => (Game::create(&change).map_err(|r| r.to_string())?, Applied::default()),
            Some(mut game) => {
                let applied = game.apply(&change).map_err(|refusal| refusal.to_string())?;
                (game, applied)
            }
        };
        let before = self.version();
        let event = v1::GameEvent {
            game_id: self.game_id.clone(),
            version: Some(to_wire::version(game.version())),
            previous_digest: before.digest,
            time: match (found.time, self.standing.update_time) {
                (Some(now), Some(then))
                    if (now.seconds, now.nanos) < (then.seconds, then.nanos) =>
                {
                    Some(then)
                }
                (now, then) => now.or(then).or(Some(Default::default())),
            },
            change: Some(retold(wire, &game, &applied)),
            position: Some(to_wire::position(game.position(), game.status())),
            status: game.status().number().into(),
            outcome: game.outcome().as_ref().map(to_wire::outcome),
        };
        self.stand(&event);
        self.game = Some(game);
        Ok(event)
    }

    /// Folds the event into the game as the contract shows it.
    fn stand(&mut self, event: &v1::GameEvent) {
        let game = &mut self.standing;
        match &event.change {
            Some(WireChange::Created(created)) => {
                game.rules.clone_from(&created.rules);
                game.layout.clone_from(&created.layout);
                game.seats.clone_from(&created.seats);
                game.create_time = event.time;
            }
            Some(WireChange::SeatClaimed(claim)) => {
                for seat in game.seats.iter_mut().filter(|seat| seat.color == claim.color) {
                    seat.claimed = true;
                    seat.player_id.clone_from(&claim.player_id);
                    seat.display_name.clone_from(&claim.display_name);
                }
            }
            Some(WireChange::Resigned(resigned)) => {
                for seat in game.seats.iter_mut().filter(|seat| seat.color == resigned.color) {
                    seat.resigned = true;
                }
            }
            Some(WireChange::MovePlayed(_) | WireChange::Aborted(_)) | None => {}
        }
        game.version = event.version;
        game.update_time = event.time;
        game.position.clone_from(&event.position);
        game.status = event.status;
        if event.outcome.is_some() {
            game.outcome.clone_from(&event.outcome);
            game.finish_time = event.time;
        }
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

/// The change as the contract tells it after a replay.
fn retold(told: &WireChange, game: &Game, applied: &Applied) -> WireChange {
    match (told, &applied.played) {
        (WireChange::Created(created), _) => WireChange::Created(v1::GameCreated {
            rules: Some(to_wire::rules(game.rules())),
            layout: game.rules().layout().map(to_wire::layout),
            seats: game
                .seats()
                .zip(&created.seats)
                .map(|(seat, told)| v1::Seat {
                    color: to_wire::color(seat.color),
                    player_id: if seat.claimed { told.player_id.clone() } else { String::new() },
                    display_name: if seat.claimed {
                        told.display_name.clone()
                    } else {
                        String::new()
                    },
                    claimed: seat.claimed,
                    resigned: false,
                })
                .collect(),
        }),
        (WireChange::MovePlayed(_), Some(played)) => {
            WireChange::MovePlayed(to_wire::move_played(played))
        }
        (told, _) => told.clone(),
    }
}

#[cfg(test)]
mod tests;
