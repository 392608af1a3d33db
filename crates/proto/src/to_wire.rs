//! From the rules types to the contract's messages. Total: everything that the rules know can be said.

use reversi_rules::{
    Color, Counts, Layout, Outcome, Played, Position, Rules, Square, Status, Version,
};

use crate::v1;

/// A version.
pub fn version(version: Version) -> v1::Version {
    v1::Version { revision: version.revision, digest: version.digest }
}

/// A colour; the numbers are the same.
pub fn color(color: Color) -> i32 {
    color.number().into()
}

fn squares(squares: impl IntoIterator<Item = Square>) -> Vec<String> {
    squares.into_iter().map(|square| square.to_string()).collect()
}

/// Complete rules, with every default and the seed filled in.
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

/// A position in a game of this status: nobody is to move once it is finished.
pub fn position(position: &Position, status: Status) -> v1::Position {
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

/// How a game ended.
pub fn outcome(outcome: &Outcome) -> v1::Outcome {
    v1::Outcome {
        winners: outcome.winners.iter().map(color).collect(),
        draw: outcome.draw,
        reason: outcome.reason.number().into(),
        counts: counts(&outcome.counts),
    }
}

/// A placement and what followed from it.
pub fn move_played(played: &Played) -> v1::MovePlayed {
    v1::MovePlayed {
        color: color(played.color),
        square: played.square.to_string(),
        kind: played.kind.number().into(),
        flips: squares(played.flips),
        passed: played.passed.iter().map(color).collect(),
    }
}
