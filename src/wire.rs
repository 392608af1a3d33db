//! What is known of games, in the words of the contract. Total: everything that the service holds can be said.

use prost_types::Timestamp;
use reversi_proto::{
    to_wire::{color, layout, move_played, outcome, position, rules, version},
    v1,
};
use reversi_rules::{Color, Played};

use crate::model::{Act, Creation, Event, Game, Millis, Seat};

/// A point in time.
pub fn timestamp(time: Millis) -> Timestamp {
    Timestamp {
        seconds: i64::try_from(time.0 / 1_000).unwrap_or(i64::MAX),
        nanos: (time.0 % 1_000) as i32 * 1_000_000,
    }
}

fn seat(of: Color, seat: &Seat, resigned: bool) -> v1::Seat {
    v1::Seat {
        color: color(of),
        player_id: seat.player.player_id.clone(),
        display_name: seat.player.display_name.clone(),
        claimed: seat.token.is_some(),
        resigned,
    }
}

/// A game as it stands.
pub fn game(game: &Game) -> v1::Game {
    let table = &game.table;
    v1::Game {
        game_id: game.id.to_string(),
        rules: Some(rules(table.rules())),
        layout: table.rules().layout().map(layout),
        status: table.status().number().into(),
        seats: table
            .seats()
            .zip(&game.seats)
            .map(|(at_table, held)| seat(at_table.color, held, at_table.resigned))
            .collect(),
        position: Some(position(table.position(), table.status())),
        outcome: table.outcome().as_ref().map(outcome),
        version: Some(version(game.version())),
        create_time: Some(timestamp(game.create_time)),
        update_time: Some(timestamp(game.update_time)),
        finish_time: game.finish_time.map(timestamp),
        expire_time: Some(timestamp(game.expire_time)),
        labels: game.labels.clone(),
    }
}

/// A game as a listing tells it: without its legal moves.
pub fn listed_game(of: &Game) -> v1::Game {
    let mut listed = game(of);
    if let Some(position) = &mut listed.position {
        position.legal_moves.clear();
    }
    listed
}

/// A committed change.
pub fn event(event: &Event) -> v1::GameEvent {
    v1::GameEvent {
        game_id: event.game_id.to_string(),
        version: Some(version(event.version)),
        previous_digest: event.previous_digest,
        time: Some(timestamp(event.time)),
        change: Some(change(&event.act, event.played.as_ref())),
        position: Some(position(&event.position, event.status)),
        status: event.status.number().into(),
        outcome: event.outcome.as_ref().map(outcome),
    }
}

fn change(act: &Act, played: Option<&Played>) -> v1::game_event::Change {
    use v1::game_event::Change;
    match act {
        Act::Created(creation) => Change::Created(created(creation)),
        Act::SeatClaimed { color: of, player, token: _ } => Change::SeatClaimed(v1::SeatClaimed {
            color: color(*of),
            player_id: player.player_id.clone(),
            display_name: player.display_name.clone(),
        }),
        Act::MovePlayed { .. } => Change::MovePlayed(played.map(move_played).unwrap_or_default()),
        Act::Resigned { color: of } => Change::Resigned(v1::PlayerResigned { color: color(*of) }),
        Act::Aborted => Change::Aborted(v1::GameAborted {}),
    }
}

fn created(creation: &Creation) -> v1::GameCreated {
    let held = creation.seated();
    let seats = Color::ALL.into_iter().zip(&held).map(|(of, held)| seat(of, held, false));
    v1::GameCreated {
        rules: Some(rules(&creation.rules)),
        layout: creation.rules.layout().map(layout),
        seats: seats.collect(),
    }
}
