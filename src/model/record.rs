//! What is stored of one commit: the change, and what only the service knows of it.

use std::collections::BTreeMap;

use reversi_rules::{Change, Color, NewSeat, Rules, Square};

use super::{CommandHash, GameId, Millis, RequestMark, Salt, Seat, TOMBSTONE, TokenHash};

/// One commit, as it is stored. The history of a game is its records in order, and the truth about it.
#[derive(Clone, Debug)]
pub struct Record {
    /// When it was committed.
    pub time: Millis,
    /// Which request made it, if the caller named it.
    pub request: Option<RequestMark>,
    /// What was done.
    pub act: Act,
}

/// What was done, with the names and secrets that the rules do not know.
#[derive(Clone, Debug)]
pub enum Act {
    /// The first record of every game, and no other.
    Created(Box<Creation>),
    /// An open seat was taken.
    SeatClaimed {
        /// The seat's.
        color: Color,
        /// Who took it.
        player: Player,
        /// The right to play it.
        token: TokenHash,
    },
    /// A disc was placed.
    MovePlayed {
        /// Who placed it.
        color: Color,
        /// Where.
        square: Square,
    },
    /// A player gave up.
    Resigned {
        /// Who.
        color: Color,
    },
    /// The owner ended the game.
    Aborted,
}

/// All that a game starts with.
#[derive(Clone, Debug)]
pub struct Creation {
    /// The game's name.
    pub game_id: GameId,
    /// What it is played by, its layout included.
    pub rules: Rules,
    /// One for each player in turn order; `None` is open.
    pub seats: Vec<Option<(Player, TokenHash)>>,
    /// The caller's own.
    pub labels: BTreeMap<String, String>,
    /// The right to abort and delete it.
    pub owner: TokenHash,
    /// What derived tokens and request marks of this game are salted with.
    pub salt: Salt,
    /// The command that created it, if a request named it.
    pub command: Option<CommandHash>,
}

/// Who plays a seat, in the caller's words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Player {
    /// The caller's name for the player; may be empty.
    pub player_id: String,
    /// For people to read; may be empty.
    pub display_name: String,
}

impl Creation {
    /// The seats as they are at first, in turn order.
    pub fn seated(&self) -> Vec<Seat> {
        let seat = |held: &Option<(Player, TokenHash)>| match held {
            Some((player, token)) => Seat { player: player.clone(), token: Some(*token) },
            None => Seat::default(),
        };
        self.seats.iter().map(seat).collect()
    }
}

impl Act {
    /// Notes in `seats`, which are in turn order, who was seated by this.
    pub fn seat(&self, seats: &mut [Seat]) {
        if let Self::SeatClaimed { color, player, token } = self
            && let Some(seat) = seats.get_mut(usize::from(color.number()) - 1)
        {
            *seat = Seat { player: player.clone(), token: Some(*token) };
        }
    }
}

impl Record {
    /// Until when a creation must be known again, if a request made it.
    pub fn named_until(&self) -> Option<Millis> {
        self.request.map(|_| self.time.after(TOMBSTONE))
    }

    /// The change as the rules and the digest see it.
    pub fn change(&self) -> Change {
        match &self.act {
            Act::Created(creation) => Change::Created {
                game_id: creation.game_id.to_string(),
                rules: creation.rules,
                seats: creation
                    .seats
                    .iter()
                    .map(|seat| match seat {
                        Some((player, _)) => {
                            NewSeat { claimed: true, player_id: player.player_id.clone() }
                        }
                        None => NewSeat { claimed: false, player_id: String::new() },
                    })
                    .collect(),
            },
            Act::SeatClaimed { color, player, .. } => {
                Change::SeatClaimed { color: *color, player_id: player.player_id.clone() }
            }
            Act::MovePlayed { color, square } => {
                Change::MovePlayed { color: *color, square: *square }
            }
            Act::Resigned { color } => Change::Resigned { color: *color },
            Act::Aborted => Change::Aborted,
        }
    }
}
