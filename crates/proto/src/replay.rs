//! A game told anew: what the events of a record must say, by the rules, beyond what was done.

use reversi_rules::{Applied, Game};

use crate::{
    convert, to_wire,
    v1::{self, game_event::Change as WireChange},
};

/// A replay of a record. What nothing else can prove is taken as told: when something happened (as long as time does not go
/// back), and display names.
#[derive(Clone, Debug)]
pub struct Replay {
    /// As far as the replay has come; none before the creation.
    table: Option<Game>,
    /// The same as the contract shows it.
    standing: v1::Game,
}

impl Replay {
    /// Begins before the creation.
    pub fn new(game_id: &str) -> Self {
        let standing = v1::Game { game_id: game_id.to_owned(), ..Default::default() };
        Self { table: None, standing }
    }

    /// The game as the rules have it; none before its creation.
    pub fn table(&self) -> Option<&Game> {
        self.table.as_ref()
    }

    /// The game as the contract shows it, without labels and expiry, which no event tells.
    pub fn standing(&self) -> &v1::Game {
        &self.standing
    }

    /// Replays the change of an event, and builds the event that tells it: the same, if all that it says is true.
    ///
    /// # Errors
    ///
    /// For people: it is no change that can be read, or that the rules allow. Then the replay is where it was.
    pub fn next(&mut self, found: &v1::GameEvent) -> Result<v1::GameEvent, String> {
        let wire = found.change.as_ref().ok_or("no change that is known here")?;
        let change = convert::change(found)?;
        let refused = |refusal: reversi_rules::Refusal| refusal.to_string();
        let (table, applied) = match &self.table {
            None => (Game::create(&change).map_err(refused)?, Applied::default()),
            Some(table) => {
                let mut table = table.clone();
                let applied = table.apply(&change).map_err(refused)?;
                (table, applied)
            }
        };
        let event = v1::GameEvent {
            game_id: self.standing.game_id.clone(),
            version: Some(to_wire::version(table.version())),
            previous_digest: self.standing.version.map_or(0, |version| version.digest),
            time: match (found.time, self.standing.update_time) {
                (Some(now), Some(then))
                    if (now.seconds, now.nanos) < (then.seconds, then.nanos) =>
                {
                    Some(then)
                }
                (now, then) => now.or(then).or(Some(Default::default())),
            },
            change: Some(retold(wire, &table, &applied)),
            position: Some(to_wire::position(table.position(), table.status())),
            status: table.status().number().into(),
            outcome: table.outcome().as_ref().map(to_wire::outcome),
        };
        self.stand(&event);
        self.table = Some(table);
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
