//! A game for people to look at: kept up to date by events, and drawn as one block of text.

use reversi_proto::v1;
use reversi_proto::v1::game_event::Change;

use crate::render::{self, Marks};
use crate::style::Style;
use crate::{escape, words};

/// A game, as far as it is known, and what happened last.
#[derive(Clone, Debug, Default)]
pub struct View {
    game: v1::Game,
    last_move: Option<v1::MovePlayed>,
    last_change: Option<String>,
}

impl View {
    /// A game as it stands.
    pub fn of(game: v1::Game) -> Self {
        Self { game, ..Self::default() }
    }

    /// What one event tells of a game.
    pub fn of_event(event: &v1::GameEvent) -> Self {
        let mut view = Self::default();
        view.apply(event);
        view
    }

    /// Follows a change.
    pub fn apply(&mut self, event: &v1::GameEvent) {
        let game = &mut self.game;
        game.game_id.clone_from(&event.game_id);
        game.version = event.version;
        game.position.clone_from(&event.position);
        game.status = event.status;
        game.outcome.clone_from(&event.outcome);
        self.last_change = Some(words::change(event));
        match &event.change {
            Some(Change::Created(created)) => {
                game.rules.clone_from(&created.rules);
                game.layout.clone_from(&created.layout);
                game.seats.clone_from(&created.seats);
                // All of it is shown anyway.
                self.last_change = None;
            }
            Some(Change::SeatClaimed(claim)) => {
                for seat in game.seats.iter_mut().filter(|seat| seat.color == claim.color) {
                    seat.claimed = true;
                    seat.player_id.clone_from(&claim.player_id);
                    seat.display_name.clone_from(&claim.display_name);
                }
            }
            Some(Change::MovePlayed(played)) => self.last_move = Some(played.clone()),
            Some(Change::Resigned(resigned)) => {
                for seat in game.seats.iter_mut().filter(|seat| seat.color == resigned.color) {
                    seat.resigned = true;
                }
            }
            Some(Change::Aborted(_)) | None => {}
        }
    }

    /// Rules, board, players, whose turn it is or how it ended.
    pub fn text(&self, style: Style) -> String {
        let game = &self.game;
        let mut text = format!("{} {}", style.strong("game"), escape::text(&game.game_id));
        if let Some(version) = game.version {
            text.push_str(&style.faint(&format!("  {}", words::version(version))));
        }
        text.push('\n');
        if let Some(rules) = &game.rules {
            text.push_str(&format!("{}\n", words::rules(rules, game.layout.as_ref())));
        }
        text.push('\n');
        let position = game.position.clone().unwrap_or_default();
        let playing = game.status == v1::GameStatus::InProgress as i32;
        let legal = if playing { position.legal_moves.as_slice() } else { &[] };
        let (last, flips) = match &self.last_move {
            Some(played) => (Some(played.square.as_str()), played.flips.as_slice()),
            None => (None, [].as_slice()),
        };
        text.push_str(&render::board(&position.board, &Marks::new(legal, last, flips), style));
        text.push('\n');
        for count in &position.counts {
            text.push_str(&self.player_line(*count, style));
        }
        if !game.labels.is_empty() {
            let labels = game.labels.iter().map(|(key, value)| format!("{key}={value}"));
            let labels = escape::text(&labels.collect::<Vec<_>>().join(", "));
            text.push_str(&format!("labels: {labels}\n"));
        }
        if let Some(change) = &self.last_change {
            text.push_str(&format!("Last: {change}.\n"));
        }
        text.push_str(&style.strong(&self.state_line(&position)));
        text.push('\n');
        text
    }

    fn player_line(&self, count: v1::DiscCount, style: Style) -> String {
        let name = words::color(count.color);
        let letter = name.chars().next().unwrap_or('?').to_ascii_uppercase();
        let disc = render::legend(letter, style);
        let seat = self.game.seats.iter().find(|seat| seat.color == count.color);
        let who = match seat {
            Some(seat) if !seat.claimed => " open seat".to_owned(),
            Some(seat) => {
                let resigned = if seat.resigned { ", resigned" } else { "" };
                words::player(&seat.player_id, &seat.display_name) + resigned
            }
            None => String::new(),
        };
        format!(
            "{disc} {name:<6}{:>4}{}\n",
            count.discs,
            if who.is_empty() { who } else { format!(" {who}") }
        )
    }

    fn state_line(&self, position: &v1::Position) -> String {
        if let Some(outcome) = &self.game.outcome {
            return words::outcome(outcome);
        }
        match v1::GameStatus::try_from(self.game.status) {
            Ok(v1::GameStatus::InProgress) => {
                let kind = match v1::MoveKind::try_from(position.move_kind) {
                    Ok(v1::MoveKind::Opening) => ", in the centre",
                    Ok(v1::MoveKind::Adjacent) => ", flipping nothing",
                    Ok(v1::MoveKind::Flip | v1::MoveKind::Unspecified) | Err(_) => "",
                };
                format!(
                    "{} to move{kind}: {}",
                    words::capital_color(position.to_move),
                    words::squares(&position.legal_moves)
                )
            }
            Ok(v1::GameStatus::WaitingForPlayers) => {
                let open = self.game.seats.iter().filter(|seat| !seat.claimed);
                let open: Vec<_> = open.map(|seat| seat.color).collect();
                format!("Waiting for players: {}", words::colors(&open))
            }
            Ok(v1::GameStatus::Finished | v1::GameStatus::Unspecified) | Err(_) => {
                words::status(self.game.status)
            }
        }
    }
}
