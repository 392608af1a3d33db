//! What a caller asks for, its form already checked.

use std::collections::BTreeMap;

use reversi_rules::{BlockedRequest, Checked, Color, Square, Version};

use crate::{
    model::{GameId, Player, RequestId, Token},
    telemetry::labels::Change,
};

/// Asks for a new game.
#[derive(Clone, Debug)]
pub struct CreateGame {
    /// What it is to be played by; blocked squares may still have to be drawn or looked up.
    pub rules: Checked,
    /// One for each player in turn order; `None` is open.
    pub seats: Vec<Option<Player>>,
    /// The caller's own.
    pub labels: BTreeMap<String, String>,
    /// The caller's name for this command.
    pub request: Option<RequestId>,
}

/// Asks for a change of a game.
#[derive(Clone, Debug)]
pub struct ChangeGame {
    /// Which.
    pub game_id: GameId,
    /// The caller's name for this command.
    pub request: Option<RequestId>,
    /// What is to be done.
    pub action: Action,
}

/// A change that a caller can ask for.
#[derive(Clone, Debug)]
pub enum Action {
    /// Take a seat.
    Join {
        /// Which; `None` is the next open one.
        color: Option<Color>,
        /// Who.
        player: Player,
    },
    /// Place a disc.
    Move {
        /// The right to.
        token: Option<Token>,
        /// Where.
        square: Square,
        /// The version that the caller judged it on; digest 0 stands for any.
        expected: Option<Version>,
    },
    /// Give up.
    Resign {
        /// The right to.
        token: Option<Token>,
    },
    /// End the game without a winner.
    Abort {
        /// The right to.
        token: Option<Token>,
    },
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_be_bytes());
    bytes.extend(text.as_bytes());
}

fn player(bytes: &mut Vec<u8>, who: &Player) {
    text(bytes, &who.player_id);
    text(bytes, &who.display_name);
}

impl CreateGame {
    /// Bytes that are equal exactly for equal commands. A seed that the caller left to the server is not among them.
    pub fn fingerprint(&self) -> Vec<u8> {
        let mut bytes = b"create".to_vec();
        let rules = self.rules.unblocked().to_bytes();
        bytes.push(rules.len() as u8);
        bytes.extend(rules);
        match self.rules.blocked() {
            BlockedRequest::None => bytes.push(0),
            BlockedRequest::Draw { count, seed } => {
                bytes.extend([1, *count, u8::from(seed.is_some())]);
                bytes.extend(seed.unwrap_or(0).to_be_bytes());
            }
            BlockedRequest::Explicit(layout) => {
                bytes.push(2);
                text(&mut bytes, &layout.id());
            }
            BlockedRequest::Stored { layout_id } => {
                bytes.push(3);
                text(&mut bytes, layout_id);
            }
        }
        bytes.push(self.seats.len() as u8);
        for seat in &self.seats {
            bytes.push(u8::from(seat.is_some()));
            if let Some(who) = seat {
                player(&mut bytes, who);
            }
        }
        for (key, value) in &self.labels {
            text(&mut bytes, key);
            text(&mut bytes, value);
        }
        bytes
    }
}

impl Action {
    /// What metrics call it.
    pub fn label(&self) -> Change {
        match self {
            Self::Join { .. } => Change::Join,
            Self::Move { .. } => Change::Move,
            Self::Resign { .. } => Change::Resign,
            Self::Abort { .. } => Change::Abort,
        }
    }

    /// Bytes that are equal exactly for equal commands of one seat or owner. Tokens are not among them: who asks is
    /// checked before.
    pub fn fingerprint(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Self::Join { color, player: who } => {
                bytes.extend(b"join");
                bytes.push(color.map_or(0, Color::number));
                player(&mut bytes, who);
            }
            Self::Move { square, expected, token: _ } => {
                bytes.extend(b"move");
                bytes.extend([square.file(), square.rank()]);
                if let Some(version) = expected {
                    bytes.extend(version.revision.to_be_bytes());
                    bytes.extend(version.digest.to_be_bytes());
                }
            }
            Self::Resign { token: _ } => bytes.extend(b"resign"),
            Self::Abort { token: _ } => bytes.extend(b"abort"),
        }
        bytes
    }
}
