//! What is known of games, in the words of the contract. Total: everything that the service holds can be said.

use prost_types::Timestamp;
use reversi_proto::v1;
use reversi_rules::{Color, Counts, Layout, Outcome, Played, Position, Rules, Status, Version};

use crate::model::{Act, Creation, Event, Game, Millis, Seat};

/// A point in time.
pub fn timestamp(time: Millis) -> Timestamp {
    Timestamp {
        seconds: i64::try_from(time.0 / 1_000).unwrap_or(i64::MAX),
        nanos: (time.0 % 1_000) as i32 * 1_000_000,
    }
}

/// A version.
pub fn version(version: Version) -> v1::Version {
    v1::Version { revision: version.revision, digest: version.digest }
}

/// A colour. The numbers are the contract's; a test holds them equal.
pub fn color(color: Color) -> i32 {
    color.number().into()
}

fn squares(squares: impl IntoIterator<Item = reversi_rules::Square>) -> Vec<String> {
    squares.into_iter().map(|square| square.to_string()).collect()
}

/// Complete rules.
pub fn rules(rules: &Rules) -> v1::Rules {
    v1::Rules {
        board: rules.board().number().into(),
        players: rules.players().into(),
        objective: rules.objective().number().into(),
        opening: rules.opening().map_or(0, |opening| opening.number().into()),
        handicap_corners: rules.handicap_corners().into(),
        multicolor: rules.multicolor(),
        blocked_squares: rules.layout().map(|layout| match layout.seed() {
            Some(seed) => v1::BlockedSquares {
                count: Some(layout.count().into()),
                seed: Some(seed),
                ..Default::default()
            },
            None => v1::BlockedSquares {
                squares: squares(layout.squares().iter().copied()),
                ..Default::default()
            },
        }),
    }
}

/// A layout.
pub fn layout(layout: &Layout) -> v1::Layout {
    v1::Layout {
        layout_id: layout.id(),
        board: layout.board().number().into(),
        handicap_corners: layout.handicap_corners().into(),
        count: layout.count().into(),
        seed: layout.seed(),
        algorithm: if layout.seed().is_some() { Layout::ALGORITHM.into() } else { 0 },
        squares: squares(layout.squares().iter().copied()),
    }
}

fn counts(counts: &Counts) -> Vec<v1::DiscCount> {
    counts.iter().map(|(of, discs)| v1::DiscCount { color: color(of), discs }).collect()
}

fn position(position: &Position, status: Status) -> v1::Position {
    let to_move = match status {
        Status::WaitingForPlayers | Status::InProgress => position.to_move(),
        Status::Finished => None,
    };
    v1::Position {
        board: position.board_text(),
        ply: position.ply(),
        to_move: to_move.map_or(0, color),
        legal_moves: to_move.map(|_| squares(position.legal_moves())).unwrap_or_default(),
        move_kind: to_move
            .and_then(|_| position.move_kind())
            .map_or(0, |kind| kind.number().into()),
        counts: counts(&position.counts()),
    }
}

fn outcome(outcome: &Outcome) -> v1::Outcome {
    v1::Outcome {
        winners: outcome.winners.iter().map(color).collect(),
        draw: outcome.draw,
        reason: outcome.reason.number().into(),
        counts: counts(&outcome.counts),
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
        Act::MovePlayed { color: of, square } => Change::MovePlayed(v1::MovePlayed {
            color: color(*of),
            square: square.to_string(),
            kind: played.map_or(0, |played| played.kind.number().into()),
            flips: played.map(|played| squares(played.flips)).unwrap_or_default(),
            passed: played.iter().flat_map(|played| played.passed.iter()).map(color).collect(),
        }),
        Act::Resigned { color: of } => Change::Resigned(v1::PlayerResigned { color: color(*of) }),
        Act::Aborted => Change::Aborted(v1::GameAborted {}),
    }
}

fn created(creation: &Creation) -> v1::GameCreated {
    let seats = Color::ALL.into_iter().zip(&creation.seats).map(|(of, claimed)| {
        let held = match claimed {
            Some((player, token)) => Seat { player: player.clone(), token: Some(*token) },
            None => Seat::default(),
        };
        seat(of, &held, false)
    });
    v1::GameCreated {
        rules: Some(rules(&creation.rules)),
        layout: creation.rules.layout().map(layout),
        seats: seats.collect(),
    }
}
